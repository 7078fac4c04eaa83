// The publisher's trace on its way: log lines of every function, record, machine, result and event.
import { expect, test } from 'vitest';
import { createLog, tracedLog } from '#shared/cloud/log.ts';
import { unpackScript } from '#test/guest/unpack.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const TRACEPARENT = `00-${ID}-${SPAN}-01`;
const MINUTE_MS = 60_000;
const REQUESTED = { ...REQUEST, runId: 'traced' };

async function run(attributes: Record<string, string>, request: object = REQUESTED) {
  const kernel = new Kernel();
  kernel.publish('run-requests', JSON.stringify(request), attributes);
  await kernel.run(30 * MINUTE_MS);
  return kernel;
}

const traceOf = ({ fields }: { readonly fields?: object }) =>
  (fields as { readonly trace?: object } | undefined)?.trace;

test.each([
  ['traceparent', { traceparent: TRACEPARENT }],
  ['googclient_traceparent', { googclient_traceparent: TRACEPARENT }],
])('%s: kept with the run, and told by its result and its event', async (_, attributes) => {
  const kernel = await run(attributes);
  expect(kernel.record('traced')?.terms.traceparent).toBe(TRACEPARENT);
  expect(kernel.result('traced')).toMatchObject({ status: 'SUCCEEDED', traceparent: TRACEPARENT });
  expect(kernel.events()).toMatchObject([
    { 'ce-id': 'traced/ended', 'ce-traceparent': TRACEPARENT },
  ]);
});

test('its machine is ordered with it', async () => {
  const kernel = new Kernel();
  kernel.publish('run-requests', JSON.stringify(REQUESTED), { traceparent: TRACEPARENT });
  await kernel.run(5_000, { sweeps: false });
  const [machine = ''] = kernel.machines();
  const reply = kernel.call({
    method: 'compute.instances.aggregatedList',
    params: { project: 'mayfly-local' },
  });
  expect(machine).not.toBe('');
  const script = /"startup-script","value":("(?:[^"\\]|\\.)*")/.exec(
    JSON.stringify(reply.body),
  )?.[1];
  expect(unpackScript(JSON.parse(script ?? '""'))).toContain(`TRACEPARENT=${TRACEPARENT}`);
});

test('every function names it on its lines about the run, whoever of them woke it', async () => {
  const kernel = await run({ traceparent: TRACEPARENT });
  const events = ['insert-sent', 'marker-read', 'delete-sent', 'run-ended', 'event-published'];
  for (const event of events) {
    const lines = kernel.logs.filter((line) => line.event === event);
    expect(lines, event).not.toHaveLength(0);
    for (const line of lines) {
      expect(traceOf(line), event).toMatchObject({ spanId: SPAN, sampled: true });
    }
  }
});

test('a rejection tells it too', async () => {
  const kernel = await run({ traceparent: TRACEPARENT }, { ...REQUESTED, imagee: 'x' });
  expect(kernel.events()).toMatchObject([
    { 'ce-type': 'dev.mayfly.run.rejected', 'ce-traceparent': TRACEPARENT },
  ]);
});

test.each([
  ['none', {}],
  ['one that is not valid', { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` }],
])('%s: nothing has a trace', async (_, attributes) => {
  const kernel = await run(attributes);
  expect(kernel.result('traced')?.status).toBe('SUCCEEDED');
  expect(kernel.result('traced')).not.toHaveProperty('traceparent');
  expect(kernel.events()[0]).not.toHaveProperty('ce-traceparent');
  expect(kernel.logs.filter((line) => traceOf(line) !== undefined)).toEqual([]);
});

test("a line has Cloud Logging's three fields of a trace", () => {
  const lines: string[] = [];
  const log = tracedLog(
    createLog((line) => lines.push(line)),
    'p',
    TRACEPARENT,
  );
  log('INFO', 'run-sent', 'x', { runId: 'traced' });
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    'logging.googleapis.com/trace': `projects/p/traces/${ID}`,
    'logging.googleapis.com/spanId': SPAN,
    'logging.googleapis.com/trace_sampled': true,
  });
});
