// The container's full output in Cloud Logging: every line once, whatever its bytes are; and a logging
// service that does not answer never stops a run.
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { INSTANCE } from '#test/guest/intent.ts';

const STAMP = '2026-12-01T10:00:00.123456789Z';

/** `printed`: what `docker logs --timestamps` prints, as a bash command. */
async function machineThatPrints(printed: string): Promise<GuestMachine> {
  const machine = await GuestMachine.create({
    settings: { fullLog: 'logging' },
    guest: { logBatchSeconds: 1, callSeconds: 3 },
    request: { runId: 'run-1' },
  });
  machine.plan('logs.sh', `if [[ $* == *--follow* ]]; then ${printed}; exit; fi`);
  return machine;
}

const linesOf = (machine: GuestMachine) =>
  machine.google.logged.flatMap(({ entries }) => entries.map(({ textPayload }) => textPayload));

test('every line is an entry of the log mayfly-container, with the run and the attempt as labels', async () => {
  await using machine = await machineThatPrints(
    `printf '${STAMP} one\\n${STAMP} two words\\n${STAMP} \\n'`,
  );
  await machine.run();
  const [batch] = machine.google.logged;
  expect(batch).toMatchObject({
    logName: 'projects/p1/logs/mayfly-container',
    labels: { run_id: 'run-1', attempt: '1', instance: INSTANCE },
    resource: { type: 'gce_instance', labels: { project_id: 'p1', instance_id: '4242' } },
  });
  expect(batch?.entries.map(({ timestamp, textPayload }) => [timestamp, textPayload])).toEqual([
    [STAMP, 'one'],
    [STAMP, 'two words'],
    [STAMP, ''],
  ]);
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
});

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';

test("a run with a trace: every entry has Cloud Logging's fields of it, whatever the line", async () => {
  await using machine = await GuestMachine.create({
    settings: { fullLog: 'logging' },
    guest: { logBatchSeconds: 1, callSeconds: 3 },
    traceparent: TRACEPARENT,
  });
  const printed = `printf '${STAMP} a/b & \\\\1\\nno time | here\\n'`;
  machine.plan('logs.sh', `if [[ $* == *--follow* ]]; then ${printed}; exit; fi`);
  await machine.run();
  const entries = machine.google.logged.flatMap((batch) => batch.entries);
  expect(entries.map(({ textPayload }) => textPayload)).toEqual(['a/b & \\1', 'no time | here']);
  for (const entry of entries) {
    expect(entry).toMatchObject({
      trace: 'projects/p1/traces/4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      traceSampled: false,
    });
  }
});

test('P57: quotes, backslashes, tabs, colours and UTF-8 arrive as text', async () => {
  await using machine = await machineThatPrints(
    `printf '${STAMP} say "hi" \\\\ \\t\\033[31mred é 🚀\\r\\n'`,
  );
  await machine.run();
  expect(linesOf(machine)).toEqual(['say "hi" \\ \t[31mred é 🚀']);
});

test('P57: a batch with bytes that are not UTF-8 arrives with a mark in their place', async () => {
  await using machine = await machineThatPrints(`printf '${STAMP} a\\377\\376b\\n'`);
  await machine.run();
  expect(linesOf(machine)).toEqual(['a??b']);
});

test('P97: a line longer than a batch is cut into entries below 256 KiB, and nothing of it is lost', async () => {
  await using machine = await machineThatPrints(
    `printf '${STAMP} '; head -c 250000 /dev/zero | tr '\\0' '"'; echo`,
  );
  await machine.run();
  const entries = machine.google.logged.flatMap((batch) => batch.entries);
  expect(entries.map(({ textPayload }) => textPayload).join('')).toBe('"'.repeat(250_000));
  for (const entry of entries) {
    expect(Buffer.byteLength(JSON.stringify(entry))).toBeLessThan(262_144);
  }
});

test('ten thousand lines arrive once each, in order, although replies are lost and refused', async () => {
  await using machine = await machineThatPrints(
    `for i in {1..10000}; do echo "${STAMP} line $i"; done`,
  );
  machine.google.plant(
    { at: '/v2/entries:write', kind: 'lose-reply' },
    { at: '/v2/entries:write', kind: 503, times: 2 },
  );
  await machine.run();
  // The server keeps one of the entries that have the same insertId (and log and timestamp).
  const entries = machine.google.logged.flatMap((batch) => batch.entries);
  const kept = new Map(entries.map(({ insertId, textPayload }) => [insertId, textPayload]));
  expect([...kept.values()]).toEqual(
    Array.from({ length: 10_000 }, (_, index) => `line ${index + 1}`),
  );
});

test.each([403, 404, 'cut', 'hang'] as const)(
  'Cloud Logging that answers %s never stops a run',
  async (kind) => {
    await using machine = await machineThatPrints(`echo "${STAMP} x"`);
    machine.google.plant({ at: '/v2/entries:write', kind, times: 1000 });
    await machine.run();
    expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', cause: 'exit' });
  },
);

test('without the setting nothing is sent', async () => {
  await using machine = await GuestMachine.create({ settings: { fullLog: 'none' } });
  await machine.run();
  expect(machine.google.requestsAt('entries:write')).toEqual([]);
  expect(machine.dockerCalls('logs').flat()).not.toContain('--follow');
});
