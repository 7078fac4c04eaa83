// The tasks of the world's executions: each that starts becomes a simulated supervisor, TERM is told to
// it, and nothing of it happens once it is killed.
import type { JobTask, JobTaskEvent, JobTaskStartedEvent } from '#scripts/local-cloud/call.ts';
import type { InProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import type { SignedEvent } from '#shared/lifecycle/task-event.ts';
import { bootstrapObject } from '#shared/plan/objects.ts';
import type { Actor } from '#test/simulation/delivery.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';
import { SimulatedTask } from '#test/simulation/task.ts';

const NEVER = new Promise<never>(() => {});

export class Executions {
  readonly #kernel: Kernel;
  readonly #tasks = new Map<string, { readonly task: SimulatedTask; alive: boolean }>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  take(event: JobTaskEvent): void {
    const known = this.#tasks.get(keyOf(event));
    switch (event.kind) {
      case 'task-started':
        this.#start(event);
        return;
      case 'task-stopping':
        if (known !== undefined) this.#kernel.spawn(known.task.stop());
        return;
      case 'task-killed':
        this.#end(event, null);
        return;
      default:
        event satisfies never;
    }
  }

  #start(event: JobTaskStartedEvent): void {
    const kernel = this.#kernel;
    const { executionName, task: index, region } = event;
    const id = { name: executionName, zone: region, id: executionName, boot: 1 };
    const plan = kernel.options.guest?.(id) ?? GOOD_GUEST;
    const alive = () => this.#tasks.get(keyOf(event))?.alive === true;
    const actor: Actor = {
      kind: 'guest',
      name: executionName,
      machineId: executionName,
      id: `${executionName}.${index}`,
      die: () => NEVER,
      alive,
    };
    const { interference } = kernel.options;
    const speakAs = (principal: string | null) =>
      kernel.cloud(
        principal,
        interference && ((call, perform) => interference.around(actor, call, perform)),
      );
    const task = new SimulatedTask(event, plan, {
      clock: kernel.clockOf(actor),
      store: storeOfTask(speakAs, event.principal),
      alive,
      onWork: (work) => {
        kernel.works.push({ ...work, startMs: kernel.clock.nowMs(), endMs: null, exitCode: null });
        interference?.worked?.(work);
      },
      onWorkEnd: (_work, exitCode) => this.#endWork(event, exitCode),
      print: (line) => this.#print(event, line),
      exit: (code) => {
        if (!alive()) return;
        this.#end(event, null);
        const body = {
          execution: event.execution,
          task: index,
          attempt: event.attempt,
          exitCode: code,
        };
        kernel.call({ method: 'local.run.taskEnded', params: {}, body });
      },
    });
    this.#tasks.set(keyOf(event), { task, alive: true });
    kernel.spawn(task.live());
  }

  /** What a container prints, as the platform's agent writes it to the log. */
  #print({ project, job, region, executionName }: JobTask, event: SignedEvent): void {
    const entry = {
      logName: `projects/${project}/logs/run.googleapis.com%2Fstdout`,
      resource: {
        type: 'cloud_run_job',
        labels: { job_name: job, location: region, project_id: project },
      },
      labels: { 'run.googleapis.com/execution_name': executionName },
      jsonPayload: { message: 'task', mayfly_event: event },
    };
    this.#kernel.call({ method: 'logging.entries.write', params: {}, body: { entries: [entry] } });
  }

  #end(task: JobTask, exitCode: number | null): void {
    const known = this.#tasks.get(keyOf(task));
    if (known !== undefined) known.alive = false;
    this.#endWork(task, exitCode);
  }

  #endWork({ executionName, task }: JobTask, exitCode: number | null): void {
    for (const work of this.#kernel.works) {
      const own = work.instanceId === executionName && work.task === task;
      if (!own || work.endMs !== null) continue;
      work.endMs = this.#kernel.clock.nowMs();
      work.exitCode = exitCode;
    }
  }
}

/**
 * Its own account reads and deletes the bootstrap. All else goes by addresses that are signed: with the
 * rights of the one that reads, and of the one that uploads.
 */
function storeOfTask(
  speakAs: (principal: string | null) => InProcessCloud,
  own: string | null,
): ObjectStore {
  const { bucket, jobs } = SETTINGS.plan;
  const task = speakAs(own).store(bucket);
  const reader = speakAs(jobs.readerServiceAccount).store(bucket);
  const uploader = speakAs(jobs.uploaderServiceAccount).store(bucket);
  const isOwn = (object: string) => object.startsWith(bootstrapObject(''));
  return {
    // The supervisor takes every other answer than the bootstrap for none.
    read: async (object, generation) =>
      isOwn(object)
        ? await task.read(object).catch(forbidden({ kind: 'absent' } as const))
        : await reader.read(object, generation),
    // The uploader may not overwrite: that something is there may be told by 403 as well as by 412.
    write: async (object, content, condition) =>
      await uploader
        .write(object, content, condition)
        .catch(forbidden({ kind: 'conflict' } as const)),
    delete: (object, generation) => task.delete(object, generation),
    list: (prefix, pageToken, range) => task.list(prefix, pageToken, range),
  };
}

/** A 403 is that answer; every other error is thrown again. */
const forbidden =
  <Answer>(answer: Answer) =>
  (error: unknown): Answer => {
    if (error instanceof CloudError && error.status === 403) return answer;
    throw error;
  };

const keyOf = ({ executionName, task }: JobTask) => `${executionName}/${task}`;
