// Guest attributes: what a machine says of its boot to readers that have the machine alone.
import { expect, test } from 'vitest';
import type { FakeGoogle } from '#test/guest/fake-google.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';

/** Writes in order, as `key=value`. */
const writesOf = (google: FakeGoogle) =>
  google
    .requestsAt('PUT /computeMetadata/v1/instance/guest-attributes/mayfly/')
    .map(({ path, body }) => `${path.slice(path.lastIndexOf('/') + 1)}=${body}`);

test('B47, B48, B84: booting and the boot id are written before the first step and before the claim', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  const order = machine.google.requests.map(({ method, path }) => `${method} ${path}`);
  const writes = order.flatMap((line, at) => (line.includes('guest-attributes') ? [at] : []));
  expect(writesOf(machine.google).slice(0, 2)).toEqual(['status=booting', 'boot_id=boot-one']);
  expect(writes[1]).toBeLessThan(order.findIndex((line) => line.includes('/upload/storage/')));
});

test('B48: two boots, two ids', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  machine.setBootId('boot-two');
  await machine.run();
  const ids = writesOf(machine.google).filter((write) => write.startsWith('boot_id='));
  expect(ids).toEqual(['boot_id=boot-one', 'boot_id=boot-two']);
});

test('B49: what an earlier boot said does not stand while a later one boots', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  expect(machine.google.guestAttributes.get('mayfly/status')).toBe('ready');
  machine.setBootId('boot-two');
  const seen: (string | undefined)[] = [];
  machine.google.plant({
    at: 'instance/id',
    kind: 503,
    whenPlayed: () => seen.push(machine.google.guestAttributes.get('mayfly/status')),
  });
  await machine.run();
  expect(seen).toEqual(['booting']);
});

test('B50, B51: a failed step writes first the end of the step log, then its name', async () => {
  await using machine = await GuestMachine.create();
  machine.plan('pull.sh', 'printf "%05000d\\n" 7 >&2; echo "denied: no such thing" >&2; exit 1');
  await machine.run();
  const [detail = '', status] = writesOf(machine.google).slice(-2);
  expect(status).toBe('status=failed:pull');
  expect(detail).toMatch(/^detail=/);
  expect(detail).toContain('denied: no such thing');
  expect(detail.length).toBeLessThanOrEqual('detail='.length + 4096);
  // The end of the log as it was then: the report's own lines come after it.
  expect(machine.steps()).toContain(detail.slice('detail='.length));
});

test('a claim that is refused is said, and asked for again', async () => {
  await using machine = await GuestMachine.create();
  machine.google.plant({ at: 'claim.json', kind: 403, times: 2 });
  await machine.run();
  expect(writesOf(machine.google)[2]).toBe('detail=claim: HTTP 403');
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
});

test('B50: without a claim it is said all the same', async () => {
  await using machine = await GuestMachine.create();
  machine.google.put(machine.claim, '{"by":"control"}');
  await machine.run();
  expect(writesOf(machine.google).at(-1)).toBe('status=failed:boot');
  expect(writesOf(machine.google).at(-2)).toContain('belongs to another holder');
  expect(machine.markers()).toEqual([]);
});

test('B52: ready is said when the container’s process has started', async () => {
  await using machine = await GuestMachine.create();
  const before: (string | undefined)[] = [];
  machine.plan('run.sh', 'curl -s "$GCE_METADATA_HOST/seen-at-start" >/dev/null; true');
  machine.google.plant({
    at: '/seen-at-start',
    kind: 404,
    whenPlayed: () => before.push(machine.google.guestAttributes.get('mayfly/status')),
  });
  await machine.run();
  expect(before).toEqual(['booting']);
  expect(writesOf(machine.google).at(-1)).toBe('status=ready');
});

test.each([404, 403, 'cut'] as const)(
  'B61: attributes that answer %s change nothing of the run',
  async (kind) => {
    await using machine = await GuestMachine.create();
    machine.google.plant({ at: 'guest-attributes', kind, times: 1000 });
    await machine.run();
    expect(machine.lastMarker().status).toBe('SUCCEEDED');
  },
);
