// Makes the tasks of executions real: each is a process of its own, with the environment of its container
// and a private folder, which goes with it; CPU and memory are not bounded. A Job whose image is a real
// one runs in the container engine, where one answers.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { JobTask } from '#scripts/local-cloud/call.ts';
import { SANDBOX_FOLDER } from '#scripts/local-cloud/host/folder.ts';
import { TaskContainer } from '#scripts/local-cloud/host/task-container.ts';
import {
  type HostedTask,
  type TaskEnd,
  type TaskHost,
  type TaskListener,
  taskKey,
} from '#scripts/local-cloud/host/task-host.ts';
import type { Engine } from '#scripts/local-cloud/sandbox/engine.ts';
import { endProcesses, signalProcess } from '#scripts/local-cloud/sandbox/processes.ts';

export interface ProcessTaskOptions {
  /** An existing folder of this host alone. */
  readonly folder: string;
  /** What the Job's image would start: a program and its arguments, run in `workingDir`. */
  readonly command: readonly [string, ...string[]];
  readonly workingDir: string;
  /** Where programs are found: the host's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A real container engine, for images that are not the local cloud's own; null: none. */
  readonly engine: Engine | null;
  /** A task that could not be started or ended; the host goes on. */
  readonly failed: (task: JobTask, error: unknown) => void;
}

interface LiveTask {
  readonly child: ChildProcess;
  readonly folder: string;
  /** The environment entry that only this task's processes carry. */
  readonly mark: string;
  readonly container: TaskContainer | null;
  /** Settles, never rejects, when all has been told and put away. */
  readonly done: Promise<void>;
}

/** Not `MAYFLY_…`: what begins so is kept from commands, which are to carry the marks as well. */
const TASK_VARIABLE = 'LOCAL_CLOUD_TASK';
const HOST_VARIABLE = 'LOCAL_CLOUD_TASK_HOST';

/** Images of this name are programs of the project. */
const LOCAL_IMAGES = 'mayfly.local/';

const freshMark = (variable: string) => `${variable}=${randomBytes(16).toString('hex')}`;

export class ProcessTaskHost implements TaskHost {
  readonly #options: ProcessTaskOptions;
  readonly #listener: TaskListener;
  readonly #live = new Map<string, LiveTask>();
  readonly #mark = freshMark(HOST_VARIABLE);
  readonly #lastWatch: ChildProcess;

  constructor(options: ProcessTaskOptions, listener: TaskListener) {
    this.#options = options;
    this.#listener = listener;
    const watch = [join(SANDBOX_FOLDER, 'last-watch.ts'), this.#mark];
    const stdio = ['pipe', 'ignore', 'inherit'] as const;
    this.#lastWatch = spawn(process.execPath, watch, { stdio: [...stdio], detached: true });
    this.#lastWatch.unref();
  }

  async start(task: HostedTask): Promise<void> {
    const { folder: home, workingDir: cwd, engine } = this.#options;
    const real = engine !== null && !task.image.startsWith(LOCAL_IMAGES);
    const container = real ? new TaskContainer(engine, task) : null;
    await container?.prepare();
    const [program, ...args] = container?.command() ?? this.#options.command;
    const folder = join(home, `${task.executionName}-${task.task}-${task.attempt}`);
    const mark = freshMark(TASK_VARIABLE);
    for (const name of ['root', 'home', 'tmp']) mkdirSync(join(folder, name), { recursive: true });
    const own = this.#environmentOf(task, folder, mark);
    const env = container === null ? own : { ...own, DOCKER_HOST: engine?.host };
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const child = spawn(program, args, { cwd, env, detached: true, stdio: [...stdio] });
    const place = { folder, mark, container };
    const done = this.#accompany(task, child, place);
    this.#live.set(taskKey(task), { child, ...place, done });
  }

  async stop(task: JobTask): Promise<void> {
    const { child } = this.#live.get(taskKey(task)) ?? {};
    if (child?.pid !== undefined) signalProcess(child.pid, 'SIGTERM');
  }

  async kill(task: JobTask): Promise<void> {
    const live = this.#live.get(taskKey(task));
    if (live === undefined) return;
    await live.container?.remove();
    await endProcesses(tracesOf(live));
    await live.done;
  }

  /** The environment entry of every process of the host's tasks; no other process has it. */
  get mark(): string {
    return this.#mark;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#live.values()].map(({ container }) => container?.remove()));
    await endProcesses({ marks: [this.#mark], groups: [] });
    await Promise.all([...this.#live.values()].map(({ done }) => done));
    this.#lastWatch.kill('SIGKILL');
  }

  /** The container's variables over those that any image has. */
  #environmentOf(task: HostedTask, folder: string, mark: string): Record<string, string> {
    const marks = [mark, this.#mark].map((entry) => entry.split('=') as [string, string]);
    return {
      PATH: this.#options.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
      HOME: join(folder, 'home'),
      TMPDIR: join(folder, 'tmp'),
      LANG: 'C.UTF-8',
      ...task.env,
      GCE_METADATA_HOST: task.metadataHost,
      // Where the container's paths begin: it has no file system of its own.
      MAYFLY_ROOT: join(folder, 'root'),
      ...Object.fromEntries(marks),
    };
  }

  async #accompany(
    task: HostedTask,
    child: ChildProcess,
    place: Pick<LiveTask, 'folder' | 'mark' | 'container'>,
  ): Promise<void> {
    try {
      const read = (stream: 'stdout' | 'stderr') =>
        readLines(child[stream], (line) => this.#listener.line(task, stream, line));
      const lines = Promise.all([read('stdout'), read('stderr')]);
      const end = await endOf(child);
      const outOfMemory = (await place.container?.ranOutOfMemory()) ?? false;
      await place.container?.remove();
      // The first process is the container: what it leaves behind ends with it, and lets the pipes go.
      await endProcesses(tracesOf({ child, ...place }));
      await lines;
      rmSync(place.folder, { recursive: true, force: true });
      this.#live.delete(taskKey(task));
      this.#listener.ended(task, { ...end, outOfMemory });
    } catch (error) {
      this.#options.failed(task, error);
    }
  }
}

function tracesOf({ child, mark }: Pick<LiveTask, 'child' | 'mark'>) {
  return { marks: [mark], groups: child.pid === undefined ? [] : [child.pid] };
}

/** A program that cannot be started ends as one that a shell does not find. */
async function endOf(child: ChildProcess): Promise<Omit<TaskEnd, 'outOfMemory'>> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return {
      exitCode: code,
      termSignal: signal === null ? null : constants.signals[signal],
    };
  } catch {
    return { exitCode: 127, termSignal: null };
  }
}

async function readLines(stream: Readable | null, take: (line: string) => void): Promise<void> {
  if (stream === null) return;
  for await (const line of createInterface({ input: stream })) take(line);
}
