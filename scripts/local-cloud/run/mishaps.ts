// What happens to executions that the API does not order: their tasks' ends, memory that runs out, and
// starts that are planted. The host of tasks, or a simulation, tells them by the world's controls.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import { type Context, ok, type Reply } from '#scripts/local-cloud/call.ts';
import { asNumber, asObject, asString, type JsonObject } from '#scripts/local-cloud/json.ts';
import { endTask, exhaustMemory } from '#scripts/local-cloud/run/lifecycle.ts';
import type { ExecutionState, TaskState } from '#scripts/local-cloud/run/state.ts';

/** By full name, or by the short one. */
export function findExecution({ world }: Context, name: string): ExecutionState | undefined {
  const { executions } = world.run;
  return (
    executions.get(name) ?? [...executions.values()].find(({ shortName }) => shortName === name)
  );
}

/** Acts on a running task; what is said of a task that has ended, or of an earlier attempt, is late. */
function onTask(
  act: (context: Context, execution: ExecutionState, task: TaskState, body: JsonObject) => void,
) {
  return (context: Context, body: JsonObject): Reply => {
    const name = asString(body.execution) ?? '';
    const execution = findExecution(context, name);
    const task = execution?.tasks[asNumber(body.task) ?? 0];
    if (execution === undefined || task === undefined) {
      return refuse(404, 'notFound', `No task ${body.task ?? 0} of execution ${name}.`);
    }
    const late =
      task.status !== 'running' || (asNumber(body.attempt) ?? task.attempt) !== task.attempt;
    if (!late) {
      act(context, execution, task, body);
    }
    return ok({ late, status: task.status });
  };
}

/** `{ execution, task, attempt?, exitCode | termSignal }`: the task's process has ended. */
export const reportTaskEnd = onTask((context, execution, task, body) => {
  const termSignal = asNumber(body.termSignal) ?? null;
  const exitCode = termSignal === null ? (asNumber(body.exitCode) ?? 0) : null;
  endTask(context, execution, task, { exitCode, termSignal });
});

/** `{ execution, task, exitCode? }`: the memory limit takes it; mostly the platform tells no code. */
export const takeMemory = onTask((context, execution, task, body) => {
  exhaustMemory(context, execution, task, asNumber(body.exitCode) ?? null);
});

/** `{ match: { region, job }, times, delayMs, stuck, fails }` for the next executions. */
export function plantStart({ world }: Context, body: JsonObject): Reply {
  const match = asObject(body.match);
  const region = asString(match.region);
  const job = asString(match.job);
  const start = {
    match: { ...(region === undefined ? {} : { region }), ...(job === undefined ? {} : { job }) },
    times: asNumber(body.times) ?? 1,
    delayMs: asNumber(body.delayMs) ?? 0,
    stuck: asString(body.stuck) ?? null,
    fails: body.fails === true,
  };
  world.run.planted.push({ start, used: 0 });
  return ok({});
}
