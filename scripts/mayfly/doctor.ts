// `mayfly doctor`: compares a deployment with what it has to be, by reads alone, and says for each
// difference the one line that puts it right.
import type { Verb } from '#scripts/mayfly/call.ts';
import { openCloud } from '#scripts/mayfly/cloud.ts';
import { quotaProjectError } from '#scripts/mayfly/doctor/credentials.ts';
import { examine } from '#scripts/mayfly/doctor/examine.ts';
import type { Finding } from '#scripts/mayfly/doctor/finding.ts';
import { needsQuotaProject, openReader } from '#scripts/mayfly/doctor/reader.ts';
import { EXIT_DONE, EXIT_REFUSED, usageError } from '#scripts/mayfly/exit-codes.ts';
import { requireRegion, requireTarget } from '#scripts/mayfly/target.ts';
import { CloudError } from '#shared/cloud/errors.ts';

export const doctorVerb: Verb = {
  name: 'doctor',
  operands: '',
  operandsMin: 0,
  operandsMax: 0,
  takesRest: false,
  summary: 'checks all that a deployment needs, and says the fix for each miss',
  details: [
    'Reads only. Ends with 0 when nothing is wrong, with 3 when something is, or cannot be read:',
    'unknown is not all right. Warnings alone end with 0. With --json: { ok, findings: [{ check,',
    'state, what, fix }] }, what is all right included.',
  ],
  flags: {
    region: { value: 'REGION', help: 'of functions, bucket and scheduler job' },
    data: {
      value: 'URI',
      multiple: true,
      help: 'gs://… that runs read and write: is it open to them?',
    },
    secret: { value: 'NAME', multiple: true, help: 'projects/P/secrets/S that runs may read' },
    image: { value: 'IMAGE', multiple: true, help: 'in Artifact Registry: may workers pull it?' },
  },
  async run(call, terminal) {
    for (const name of call.list('secret')) {
      if (!/^projects\/[^/]+\/secrets\/[^/]+$/.test(name)) {
        throw usageError(`--secret ${JSON.stringify(name)} is not projects/PROJECT/secrets/SECRET`);
      }
    }
    const target = await requireTarget(call, terminal);
    const region = await requireRegion(call, terminal);
    const used = {
      data: call.list('data'),
      secrets: call.list('secret'),
      images: call.list('image'),
    };
    const reader = openReader(target.project, terminal.environment);
    const { clock } = openCloud(target, terminal);
    const looking = (what: string) => terminal.move(`looking at ${what}`);
    const findings = await examine({ ...target, region, used }, { reader, clock, looking }).catch(
      async (error: unknown) => {
        if (!(error instanceof CloudError && needsQuotaProject(error))) throw error;
        throw await quotaProjectError(target.project, terminal.environment);
      },
    );
    terminal.move(null);
    const count = (state: Finding['state']) =>
      findings.filter((finding) => finding.state === state).length;
    const right = count('fault') + count('unknown') === 0;
    if (call.has('json')) {
      terminal.write(`${JSON.stringify({ ok: right, findings })}\n`);
    } else {
      terminal.write(
        findings
          .filter(({ state }) => state !== 'ok')
          .flatMap(linesOf)
          .join(''),
      );
      const states = (['ok', 'fault', 'warning', 'unknown'] as const).map(
        (state) => `${count(state)} ${state}`,
      );
      terminal.write(`${findings.length} checks: ${states.join(', ')}\n`);
    }
    return right ? EXIT_DONE : EXIT_REFUSED;
  },
};

const linesOf = ({ check, state, what, fix }: Finding): string[] => [
  `${state}: ${check} ${what}\n`,
  ...(fix === null ? [] : [`  fix: ${fix}\n`]),
];
