// Guards of runs on Cloud Run Jobs alone; those of claim, marker and record they share with machines.
import type { Guard } from '#test/simulation/swarm/guards.ts';

const DECIDE_ATTEMPT = 'shared/lifecycle/decide-attempt.ts';
const DECIDE_ENDED = 'shared/lifecycle/decide-ended.ts';
const LOSS = 'shared/lifecycle/loss.ts';
const ENDING = 'shared/lifecycle/execution-ending.ts';
const EXECUTIONS = 'shared/runs/jobs/executions.ts';
const TASK = 'test/simulation/task.ts';

export const JOBS_GUARDS: readonly Guard[] = [
  {
    name: 'a task claims before it works',
    serves: 'R2',
    edits: [
      {
        file: TASK,
        find: '    if (!(await this.#takeClaim())) return this.#world.exit(EXIT_NO_WORK);\n',
        replace: '    await this.#takeClaim();\n',
      },
    ],
  },
  {
    name: 'the claim of another execution is another’s',
    serves: 'R2',
    edits: [
      {
        file: TASK,
        find: "    return live?.by === 'machine' && live.instanceId === instanceId;",
        replace: "    return live?.by === 'machine';",
      },
    ],
  },
  {
    name: 'an execution that ends by itself is not cancelled for it',
    serves: 'law 5',
    edits: [
      {
        file: DECIDE_ATTEMPT,
        find: "  const goes = why.reason === 'ending' && record.runtime !== 'gce';",
        replace: '  const goes = false;',
      },
    ],
  },
  {
    name: 'a cancel of our own is not somebody else’s',
    serves: 'law 5',
    edits: [
      {
        file: LOSS,
        find: '  if (order.cause !== null) {',
        replace: '  if (order.cause !== null && order.cause === undefined) {',
      },
    ],
  },
  {
    name: 'an intent that was called twice stays open',
    serves: 'R4',
    edits: [{ file: DECIDE_ENDED, find: ' && intent.repeated !== true', replace: '' }],
  },
  {
    name: 'a task without a last word has not succeeded',
    serves: 'law 4',
    edits: [
      {
        file: ENDING,
        find: '    succeeded: false,\n    step: row.step',
        replace: '    succeeded: task.exitCode === 0,\n    step: row.step',
      },
    ],
  },
  {
    name: 'an execution that cannot be read is not gone',
    serves: 'R3',
    edits: [
      {
        file: EXECUTIONS,
        find: "    if (reply.kind === 'unknown') fact = { kind: 'unknown' };\n",
        replace: '',
      },
    ],
  },
  {
    name: 'an execution that runs is not gone',
    serves: 'R3',
    edits: [
      {
        file: EXECUTIONS,
        find: '    if (reply.execution.completedMs === null) return there(reply.execution);\n',
        replace: '',
      },
    ],
  },
];
