// `mayfly sweep`: has Cloud Scheduler start, pause or resume the sweep; or makes a pass that changes
// nothing, with the caller's own rights. Never deletes with the caller's rights.
import { handleSweep } from '#functions/sweep/handler.ts';
import { describeLeak, type SweepReport, sentence } from '#functions/sweep/report.ts';
import { sweepJobName } from '#scripts/local-cloud/deployment/layout.ts';
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { clientOptions, openCloud } from '#scripts/mayfly/cloud.ts';
import { EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import { readCallerSettings } from '#scripts/mayfly/plan-settings.ts';
import { requireRegion, requireTarget } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { createPublisher } from '#shared/cloud/pubsub.ts';
import { createRunJobs } from '#shared/cloud/run-client.ts';
import { createScheduler } from '#shared/cloud/scheduler.ts';
import { createUrlSigner } from '#shared/cloud/signed-url.ts';
import { Turns } from '#shared/runs/jobs/turns.ts';

export const sweepVerb: Verb = {
  name: 'sweep',
  operands: '',
  operandsMin: 0,
  operandsMax: 0,
  takesRest: false,
  summary: 'starts, pauses or resumes the sweep, or shows what it would do',
  details: [
    'Without flags Cloud Scheduler starts the sweep now, with the sweep’s own account. --dry-run makes',
    'the same pass with your rights, which need be no more than to read, and changes nothing. While the',
    'sweep is paused nothing ends what got stuck: resume it. With --json: the job, or the report.',
  ],
  flags: {
    'dry-run': { help: 'show what a pass would do' },
    pause: { help: 'no more passes until it is resumed' },
    resume: { help: 'passes by schedule again' },
    region: { value: 'REGION', help: 'where the scheduler job is' },
  },
  async run(call, terminal) {
    const chosen = (['dry-run', 'pause', 'resume'] as const).filter((flag) => call.has(flag));
    if (chosen.length > 1) {
      throw usageError(`--${chosen.join(' and --')} do not go together`);
    }
    const [action] = chosen;
    if (action === 'dry-run') return dryRun(call, terminal);
    const target = await requireTarget(call, terminal);
    const { project, deployment } = target;
    const region = await requireRegion(call, terminal);
    const name = sweepJobName({ project, region, deployment });
    const scheduler = createScheduler(clientOptions(project, terminal.environment, 'SCHEDULER'));
    const job = await scheduler[action ?? 'run'](name);
    const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
    const data = { job: job.name, state: job.state, nextRun: time(job.nextRunMs) };
    if (call.has('json')) terminal.write(`${JSON.stringify(data)}\n`);
    else terminal.write(`${SAID[action ?? 'run']}; ${name} is ${job.state}\n`);
    if (action === 'pause') terminal.note('  passes again: mayfly sweep --resume');
    return EXIT_DONE;
  },
};

const SAID = {
  run: 'the sweep was started',
  pause: 'the sweep is paused',
  resume: 'the sweep goes by its schedule again',
} as const;

async function dryRun(call: Call, terminal: Terminal): Promise<number> {
  const target = await requireTarget(call, terminal);
  const { environment } = terminal;
  const { project } = target;
  const { store, compute, clock, entropy, api } = openCloud(target, terminal);
  if (compute === null) {
    throw usageError('STORAGE_EMULATOR_HOST is set: set MAYFLY_ENDPOINT_COMPUTE too');
  }
  const { settings, warnings } = await readCallerSettings(call, terminal);
  for (const warning of warnings('gce')) terminal.note(`warning: ${warning}`);
  const { endpoints, plan } = settings;
  terminal.move('looking at machines, runs and disks');
  const unknown: string[] = [];
  const report = await handleSweep(
    { dryRun: true },
    {
      ...{ settings, store, compute, clock, entropy },
      log: (_severity, event, message) => {
        if (event === 'run-unknown') unknown.push(message);
      },
      turns: new Turns(plan.jobs),
      jobs: createRunJobs({ project, ...api('RUN') }),
      publisher: createPublisher({ project, ...clientOptions(project, environment, 'PUBSUB') }),
      signer: createUrlSigner({
        transport: api('IAMCREDENTIALS').transport,
        endpoints,
        reader: plan.jobs.readerServiceAccount,
        uploader: plan.jobs.uploaderServiceAccount,
      }),
    },
  );
  terminal.move(null);
  const told = { ...report, unknownRuns: unknown.toSorted() };
  terminal.write(call.has('json') ? `${JSON.stringify(told)}\n` : reportText(told));
  return EXIT_DONE;
}

function reportText(report: SweepReport & { unknownRuns: readonly string[] }): string {
  const unknown = [...report.unknownZones, ...report.unknownJobs];
  const lines = [
    `a pass would see ${sentence(report)}`,
    ...report.leaks.map((leak) => `  leak: ${describeLeak(leak)}`),
    ...report.unknownRuns.map((run) => `  unknown: run ${run}`),
    ...report.strays.map(
      ({ kind, name, zone, why }) => `  stray: ${kind} ${name} in ${zone}: ${why}`,
    ),
    ...report.undeleted.flatMap(({ lines: told }) => told.map((line) => `  ${line}`)),
    ...(unknown.length === 0 ? [] : [`  could not be listed: ${unknown.join(', ')}`]),
  ];
  return `${lines.join('\n')}\n`;
}
