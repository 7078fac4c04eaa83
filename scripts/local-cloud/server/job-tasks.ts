// Brings the tasks of the world's executions to life on a host: each with a metadata server of its own,
// its orders carried out one after another, its lines and its end told to the world.
import type { JobTask, JobTaskEvent } from '#scripts/local-cloud/call.ts';
import {
  type TaskEnd,
  type TaskHost,
  type TaskHostFactory,
  taskKey,
} from '#scripts/local-cloud/host/task-host.ts';
import { type MetadataServer, openMetadataServer } from '#scripts/local-cloud/server/metadata.ts';
import type { Runtime } from '#scripts/local-cloud/server/runtime.ts';

interface LiveTask {
  metadata: MetadataServer | null;
  /** Settles, never rejects, when all orders so far are carried out. */
  done: Promise<void>;
}

export class JobTasks implements AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #host: TaskHost;
  readonly #failed: (error: unknown) => void;
  readonly #live = new Map<string, LiveTask>();
  readonly #closing = new Set<Promise<void>>();

  constructor(runtime: Runtime, makeHost: TaskHostFactory, failed: (error: unknown) => void) {
    this.#runtime = runtime;
    this.#failed = failed;
    this.#host = makeHost({
      line: (task, stream, line) => this.#tell('local.run.log', task, { stream, line }),
      ended: (task, end) => this.#end(task, end),
    });
  }

  carryOut(event: JobTaskEvent): void {
    const task = this.#live.get(taskKey(event)) ?? { metadata: null, done: Promise.resolve() };
    this.#live.set(taskKey(event), task);
    task.done = task.done.then(() => this.#act(task, event)).catch(this.#failed);
  }

  async #act(task: LiveTask, event: JobTaskEvent): Promise<void> {
    switch (event.kind) {
      case 'task-started': {
        const { projectNumber } = this.#runtime.world.options.compute;
        const own = `${projectNumber}-compute@developer.gserviceaccount.com`;
        const email = event.principal ?? own;
        task.metadata = await openMetadataServer(this.#runtime, { kind: 'account', email });
        return await this.#host.start({ ...event, metadataHost: task.metadata.host });
      }
      case 'task-stopping':
        return await this.#host.stop(event);
      case 'task-killed':
        return await this.#host.kill(event);
      default:
        return event satisfies never;
    }
  }

  #end(task: JobTask, { exitCode, termSignal, outOfMemory }: TaskEnd): void {
    const end = termSignal === null ? { exitCode } : { termSignal };
    if (outOfMemory) this.#tell('local.run.outOfMemory', task, {});
    else this.#tell('local.run.taskEnded', task, end);
    const live = this.#live.get(taskKey(task));
    this.#live.delete(taskKey(task));
    if (live !== undefined) this.#close(live);
  }

  #close({ metadata }: LiveTask): void {
    const closing = Promise.resolve(metadata?.[Symbol.asyncDispose]())
      .catch(this.#failed)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #tell(method: string, { execution, task, attempt }: JobTask, what: object): void {
    const body = { execution, task, attempt, ...what };
    this.#runtime.perform({ method, principal: null, params: {}, body });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#live.values()].map(({ done }) => done));
    await this.#host[Symbol.asyncDispose]();
    // Those that never began have no end of their own.
    for (const live of this.#live.values()) this.#close(live);
    await Promise.all(this.#closing);
  }
}
