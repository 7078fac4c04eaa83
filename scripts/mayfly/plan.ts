// `mayfly plan FILE|-`: everything that would be decided about a run, without a call to anything.
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import { faultLines } from '#scripts/mayfly/fault-lines.ts';
import { localWarnings } from '#scripts/mayfly/local-target.ts';
import { readPlanSettings } from '#scripts/mayfly/plan-settings.ts';
import { describePreview } from '#scripts/mayfly/plan-text.ts';
import { previewRun } from '#scripts/mayfly/preview.ts';
import { readRequest } from '#scripts/mayfly/request-file.ts';
import { REQUEST_FLAGS } from '#scripts/mayfly/request-flags.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { systemClock } from '#shared/cloud/clock.ts';
import { readGuestScripts } from '#shared/guest/scripts.ts';

export const planVerb: Verb = {
  name: 'plan',
  operands: '[FILE|-]',
  operandsMin: 0,
  operandsMax: 1,
  takesRest: true,
  summary: 'shows what a request would make, and its price; calls nothing',
  details: [
    'Flags of the request as for submit. What the settings lack comes from the local cloud’s values, with a',
    'warning; a request without a runId is planned as run-preview, the nonce is zeros.',
  ],
  flags: {
    script: { help: 'the machine’s startup script alone' },
    at: { value: 'RFC3339', help: 'the time of the order, for example 2026-12-01T12:00:00Z' },
    ...REQUEST_FLAGS,
  },
  run: plan,
};

async function plan(call: Call, terminal: Terminal): Promise<number> {
  const atMs = readInstant(call.text('at'));
  const fields = await readRequest(call, terminal);
  const { settings, warnings } = await readPlanSettings(call, terminal);
  const reply = previewRun(fields, { settings, scripts: readGuestScripts(), atMs });
  if (reply.kind === 'refused') {
    const { faults } = reply;
    throw usageError(`the request is refused:\n${faultLines(faults).join('\n')}`, {
      errors: faults,
    });
  }
  const runtime = reply.preview.execution === null ? 'gce' : 'cloudrun-jobs';
  const local = localWarnings(terminal.environment, reply.request);
  const found = [...warnings(runtime), ...local, ...reply.preview.warnings];
  const preview = { ...reply.preview, warnings: found };
  if (call.has('script') && preview.startupScript === null) {
    throw usageError('--script: only a machine has a startup script, a Job has none');
  }
  for (const warning of preview.warnings) terminal.note(`warning: ${warning}`);
  if (call.has('script')) terminal.write(preview.startupScript ?? '');
  else if (call.has('json')) terminal.write(`${JSON.stringify(preview, null, 2)}\n`);
  else terminal.write(`${describePreview(preview, reply.request.retry).join('\n')}\n`);
  return EXIT_DONE;
}

function readInstant(text: string | null): number {
  if (text === null) return systemClock.nowMs();
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw usageError(`--at ${JSON.stringify(text)} is no RFC 3339 time like 2026-12-01T12:00:00Z`);
}
