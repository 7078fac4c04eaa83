// What a run on Cloud Run Jobs must do, whatever runs its tasks: each case on a stage, and the exact states
// that the record must have gone through.
import type { RunRecord } from '#shared/lifecycle/record.ts';
import type { RunResult } from '#shared/lifecycle/result.ts';
import type { RunState } from '#shared/lifecycle/transitions.ts';

/** What the command of one attempt does. */
export type Behaviour = { readonly exit: number } | 'hangs';

export interface Fault {
  readonly effect: 'before' | 'after';
  readonly kind: 'status' | 'cut';
  readonly status?: number;
  readonly times: number;
}

export interface Stage {
  readonly runId: string;
  readonly bucket: string;
  /** Publishes the request; the n-th attempt behaves as the n-th entry says, later ones as the last. */
  request(change: object, attempts: readonly Behaviour[]): Promise<void>;
  cancel(): Promise<void>;
  /** Of the next calls that start executions. */
  plant(fault: Fault): void;
  delayStart(milliseconds: number): void;
  put(object: string, text: string): Promise<void>;
  read(object: string): string | null;
  record(): RunRecord | null;
  result(): RunResult | null;
  /** Of this run, in the order in which they were made; those that run still. */
  executions(): readonly {
    readonly name: string;
    readonly job: string;
    readonly running: boolean;
  }[];
  /** Somebody else's call about the execution that runs. */
  outside(verb: 'cancel' | 'delete'): Promise<void>;
  exhaustMemory(): Promise<void>;
  sweep(): Promise<void>;
  until(what: () => boolean): Promise<void>;
}

export interface Case {
  readonly name: string;
  readonly states: readonly RunState[];
  /** It fails within moments of its claim: whether the claim is told before the end is, is open. */
  readonly mayRun?: true;
  readonly result: object;
  readonly executions: number;
  readonly play: (stage: Stage) => Promise<void>;
}

const STARTED: readonly RunState[] = ['ACCEPTED', 'PLACING', 'PROVISIONING', 'RUNNING'];
const AGAIN: readonly RunState[] = ['WAITING', 'PLACING', 'PROVISIONING', 'RUNNING'];
const GOOD: readonly Behaviour[] = [{ exit: 0 }];
const SUCCESS = { status: 'SUCCEEDED', cause: 'exit', exitCode: 0 };

const isRunning = (stage: Stage) => stage.record()?.state === 'RUNNING';
/** One that was deleted cannot be asked whose it was: the sweep finds out. */
async function stopped(stage: Stage): Promise<void> {
  await stage.until(() => stage.record()?.state === 'STOPPING');
  await stage.until(() => stage.executions().every(({ running }) => !running));
  await stage.sweep();
}
const ended = (stage: Stage) => stage.until(() => stage.result() !== null);

export const CASES: readonly Case[] = [
  {
    name: 'C153: submit',
    states: [...STARTED, 'SUCCEEDED'],
    result: SUCCESS,
    executions: 1,
    async play(stage) {
      await stage.request({}, GOOD);
      await ended(stage);
    },
  },
  {
    name: 'C154: adoption of an execution whose start nobody heard of',
    states: [...STARTED, 'STOPPING', 'CANCELLED'],
    result: { status: 'CANCELLED', attempts: [{ attempt: 1 }] },
    executions: 1,
    async play(stage) {
      stage.plant({ effect: 'after', kind: 'cut', times: 1 });
      await stage.request({}, ['hangs']);
      await stage.until(() => isRunning(stage));
      await stage.cancel();
      await ended(stage);
    },
  },
  {
    name: 'C155: the same request twice',
    states: [...STARTED, 'SUCCEEDED'],
    result: SUCCESS,
    executions: 1,
    async play(stage) {
      await stage.request({}, GOOD);
      await stage.request({}, GOOD);
      await ended(stage);
    },
  },
  {
    name: 'C156: a cancel while it runs',
    states: [...STARTED, 'STOPPING', 'CANCELLED'],
    result: { status: 'CANCELLED', cause: 'cancelled' },
    executions: 1,
    async play(stage) {
      await stage.request({}, ['hangs']);
      await stage.until(() => isRunning(stage));
      await stage.cancel();
      await ended(stage);
    },
  },
  {
    name: 'C157: its own time limit',
    states: [...STARTED, 'TIMED_OUT'],
    result: { status: 'TIMED_OUT', cause: 'timeout' },
    executions: 1,
    async play(stage) {
      await stage.request({ timeoutSeconds: 40 }, ['hangs']);
      await ended(stage);
    },
  },
  {
    name: 'C158: silence is not loss',
    states: [...STARTED, 'STOPPING', 'CANCELLED'],
    result: { status: 'CANCELLED', cause: 'cancelled' },
    executions: 1,
    async play(stage) {
      await stage.request({}, ['hangs']);
      await stage.until(() => isRunning(stage));
      for (let pass = 0; pass < 3; pass++) await stage.sweep();
      if (!isRunning(stage)) throw new Error('three sweeps have ended a run that is only silent');
      await stage.cancel();
      await ended(stage);
    },
  },
  {
    name: 'C159: the next attempt only after the first is gone',
    states: [...STARTED, 'STOPPING', ...AGAIN, 'SUCCEEDED'],
    result: { ...SUCCESS, attempts: [{ status: 'LOST', cause: 'interrupted' }, {}] },
    executions: 1, // The other one was deleted.
    async play(stage) {
      await stage.request({}, ['hangs', { exit: 0 }]);
      await stage.until(() => isRunning(stage));
      await stage.outside('delete');
      await stopped(stage);
      let together = false;
      await stage.until(() => {
        together ||= stage.executions().filter(({ running }) => running).length > 1;
        return stage.result() !== null;
      });
      if (together) throw new Error('two executions of one run at a time');
    },
  },
  {
    name: 'C160: the second attempt starts at the checkpoint',
    states: [...STARTED, 'STOPPING', ...AGAIN, 'SUCCEEDED'],
    result: SUCCESS,
    executions: 1, // The other one was deleted.
    async play(stage) {
      const folder = `gs://${stage.bucket}/outputs/${stage.runId}`;
      const change = {
        checkpoint: { '/ckpt': `${folder}/ckpt/` },
        outputs: { '/out': `${folder}/` },
      };
      await stage.request(change, ['hangs', { exit: 0 }]);
      await stage.until(() => isRunning(stage));
      await stage.outside('delete');
      await stopped(stage);
      await ended(stage);
      const found = stage.read(`outputs/${stage.runId}/result.json`);
      if (found !== 'resumed') throw new Error(`the second attempt began ${found}`);
    },
  },
  {
    name: 'C161: out of memory, and the next larger class',
    states: [...STARTED, ...AGAIN, 'SUCCEEDED'],
    result: { ...SUCCESS, attempts: [{ cause: 'out-of-memory' }, {}] },
    executions: 2,
    async play(stage) {
      await stage.request({}, ['hangs', { exit: 0 }]);
      await stage.until(() => isRunning(stage));
      await stage.exhaustMemory();
      await ended(stage);
      const jobs = stage.executions().map(({ job }) => job.replace(/^.*-/, ''));
      if (jobs.join() !== 's,m') throw new Error(`classes ${jobs.join()}`);
    },
  },
  {
    name: 'C162: several tasks of one execution',
    states: [...STARTED, 'SUCCEEDED'],
    result: { ...SUCCESS, tasks: { count: 3, succeeded: 3, failed: [] } },
    executions: 1,
    async play(stage) {
      await stage.request({ tasks: 3 }, GOOD);
      await ended(stage);
    },
  },
  {
    name: 'C163: an input that was replaced meanwhile is refused',
    states: ['ACCEPTED', 'PLACING', 'PROVISIONING', 'FAILED'],
    mayRun: true,
    result: { status: 'FAILED', cause: 'step-failed', step: 'inputs' },
    executions: 1,
    async play(stage) {
      const object = `data/${stage.runId}.txt`;
      await stage.put(object, 'as it was asked for');
      stage.delayStart(3_000);
      await stage.request({ inputs: { '/in.txt': `gs://${stage.bucket}/${object}` } }, GOOD);
      await stage.until(() => stage.record()?.state === 'PROVISIONING');
      await stage.put(object, 'something else');
      await ended(stage);
    },
  },
  {
    name: 'C164: calls that come too fast make it late, never failed',
    states: [
      ...(['ACCEPTED', 'PLACING', 'WAITING', 'PLACING', 'WAITING'] as const),
      ...(['PLACING', 'PROVISIONING', 'RUNNING', 'SUCCEEDED'] as const),
    ],
    result: { ...SUCCESS, attempts: [{ attempt: 1 }] },
    executions: 1,
    async play(stage) {
      stage.plant({ effect: 'before', kind: 'status', status: 429, times: 2 });
      await stage.request({}, GOOD);
      await ended(stage);
    },
  },
];
