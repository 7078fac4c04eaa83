// The fault matrix: every outgoing call of a run meets every fault, and the run ends with its true cause.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { testsWith } from '#test/guest/boot/parts.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { CALLS, type OutgoingCall, SECRET } from '#test/guest/matrix/fault-calls.ts';
import {
  type Ending,
  FAULTS,
  type FaultKind,
  TRIES,
  truthOf,
} from '#test/guest/matrix/fault-truth.ts';

/** A tar archive without a member: two blocks of zeros. */
const PACKAGE = gzipSync(Buffer.alloc(1024));
const SHA256 = createHash('sha256').update(PACKAGE).digest('hex');
const WORK = 'echo result >"$WORK/outputs/0/result"; echo said; [[ $TOKEN == hidden ]]';

/** One run that makes every call. */
async function createMachine(): Promise<GuestMachine> {
  const machine = await GuestMachine.create({
    container: WORK,
    request: {
      secrets: { TOKEN: SECRET },
      package: { uri: `gs://code/app-${SHA256}.tar.gz`, sha256: SHA256 },
      inputs: { '/in/a.csv': 'gs://data/a.csv' },
      outputs: { '/out': 'gs://results/' },
    },
    inputs: [{ path: '/in/a.csv', bucket: 'data', object: 'a.csv', generation: '1002', bytes: 4 }],
    settings: { fullLog: 'logging' },
    guest: { tries: TRIES, callSeconds: 3 },
  });
  machine.google.put('data/a.csv', '1,2\n');
  machine.google.put(`code/app-${SHA256}.tar.gz`, PACKAGE);
  machine.google.secrets.set(SECRET, Buffer.from('hidden'));
  return machine;
}

/** Plants the fault; the returned function says whether all of it was met at least once. */
function plant({ google }: GuestMachine, call: OutgoingCall, fault: FaultKind): () => boolean {
  let met = false;
  const planted = { at: call.at, kind: fault.kind, times: fault.times };
  const whenPlayed = () => {
    met = true;
  };
  const plantIt = () => google.plant({ ...planted, whenPlayed });
  if (call.after === undefined) plantIt();
  else google.plant({ ...call.after, whenPlayed: plantIt });
  return () => met;
}

function endingOf(machine: GuestMachine): Ending {
  const last = machine.markers().at(-1);
  if (last === undefined) return 'silent';
  if (last.status === 'SUCCEEDED') return 'succeeded';
  return `failed in ${last.cause === 'step-failed' ? last.step : `${last.cause} ${last.step}`}`;
}

const LIMIT_MS = 300_000;

describe.runIf(testsWith('matrix')).each(CALLS)('$name', (call) => {
  test.concurrent.each(FAULTS)(
    '$name',
    async (fault) => {
      await using machine = await createMachine();
      const wasMet = plant(machine, call, fault);
      await machine.run();
      const truth = truthOf(call, fault);
      const works = machine.dockerCalls('run').length;
      expect({ ending: endingOf(machine), met: wasMet() }, machine.steps()).toEqual({
        ending: truth,
        met: true,
      });
      expect(works).toBe(truth === 'succeeded' || call.step === 'outputs' ? 1 : 0);
      // Nobody works without the fence, and a machine whose run is over goes.
      if (works > 0) expect(machine.google.objects.has(machine.claim)).toBe(true);
      if (truth === 'succeeded') {
        expect([200, call.name === 'delete' ? fault.kind : 200]).toContain(
          machine.deletes().at(-1)?.status,
        );
        expect(machine.google.objects.get('results/result')?.bytes.toString()).toBe('result\n');
      }
    },
    LIMIT_MS,
  );
});
