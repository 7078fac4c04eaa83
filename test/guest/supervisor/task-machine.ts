// One execution for a test: a bootstrap in a real HTTP server, and the supervisor as a real process.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleSupervisor } from '#scripts/images/bundle.ts';
import type { Periods } from '#shared/guest/supervisor/supervisor-deps.ts';
import { isGenuine, type SignedEvent, type TaskEvent } from '#shared/lifecycle/task-event.ts';
import { BOOTSTRAP_SCHEMA, type Bootstrap } from '#shared/plan/bootstrap.ts';
import { claimObject } from '#shared/plan/objects.ts';
import { BUCKET, ObjectServer } from '#test/guest/supervisor/object-server.ts';

export const NONCE = '0123456789abcdef0123456789abcdef';
export const EVENT_KEY = 'a1'.repeat(32);
export const INSTANCE = 'mayfly-fit-9-abcdef012345-1';
export const EXECUTION = 'mayfly-base-ml-m-x7k2p';
const QUICK: Partial<Periods> = {
  backoffMs: 5,
  backoffMaxMs: 20,
  killGraceMs: 300,
  stopGraceMs: 300,
  flushMs: 6_000,
  reportMs: 3_000,
  timeoutFlushMs: 3_000,
};

/** The bundle is made once a test file: many small modules take longer to load than a task takes. */
let bundled: string | null = null;
function quickMain(): string {
  if (bundled !== null) return bundled;
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-bundle-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  bundled = join(folder, 'supervisor.mjs');
  bundleSupervisor(fileURLToPath(new URL('./quick-main.ts', import.meta.url)), bundled);
  return bundled;
}

/** Its group is then not orphaned, so that the default action of SIGTSTP holds for it. */
const AS_JOB = 'set -m; "$0" "$@" & echo "job $!" >&2; wait -f $!';

export interface TaskChoices {
  readonly bootstrap?: Partial<Bootstrap>;
  readonly variables?: Readonly<Record<string, string>>;
  readonly periods?: Partial<Periods>;
  /** The machine's root is an image: the bundle runs as its entrypoint. */
  readonly chroot?: boolean;
  /** As a job of a shell, which a stop signal really stops; the shell says its number on stderr. */
  readonly asJob?: boolean;
}

/** What is started: the supervisor with quick periods, or the image's own entrypoint in its root. */
function wordsOf(choices: TaskChoices, root: string): readonly string[] {
  const node = ['/usr/local/bin/node', '/mayfly/supervisor.mjs'];
  if (choices.chroot) return ['/usr/sbin/chroot', root, ...node];
  if (choices.asJob) return ['bash', '-c', AS_JOB, process.execPath, quickMain()];
  return [process.execPath, quickMain()];
}

export interface EndedTask {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly events: readonly TaskEvent[];
}

export class TaskMachine implements AsyncDisposable {
  readonly server: ObjectServer;
  readonly root = mkdtempSync(join(tmpdir(), 'mayfly-task-'));
  readonly #started: LaunchedTask[] = [];

  private constructor(server: ObjectServer) {
    this.server = server;
  }

  static async start(): Promise<TaskMachine> {
    return new TaskMachine(await ObjectServer.start());
  }

  bootstrap(choices: Partial<Bootstrap> = {}): Bootstrap {
    const { server } = this;
    const claim = claimObject('fit-9', choices.attempt ?? 1);
    return {
      schema: BOOTSTRAP_SCHEMA,
      runId: 'fit-9',
      attempt: 1,
      nonce: NONCE,
      instance: INSTANCE,
      region: 'europe-west1',
      taskCount: 1,
      command: ['/bin/sh', '-c'],
      args: ['echo done'],
      workingDir: null,
      env: {},
      timeoutSeconds: 600,
      deadline: new Date(Date.now() + 3_600_000).toISOString(),
      eventKey: EVENT_KEY,
      claim: {
        put: server.signed(claim, { 'x-goog-if-generation-match': '0' }),
        get: server.signed(claim),
      },
      marker: { form: server.form('runs/gce-status/'), prefix: `runs/gce-status/${INSTANCE}` },
      package: null,
      inputs: [],
      outputs: [],
      checkpoints: [],
      ...choices,
    };
  }

  /** Starts the supervisor of one task; the bootstrap object is written unless `keep`. */
  launch(choices: TaskChoices = {}, keep: 'write' | 'keep' = 'write'): LaunchedTask {
    const bootstrap = this.bootstrap(choices.bootstrap);
    if (keep === 'write') {
      this.server.put(`runs/bootstrap/${bootstrap.nonce}`, JSON.stringify(bootstrap));
    }
    const env = {
      ...(choices.chroot ? {} : { PATH: process.env.PATH }),
      MAYFLY_RUN_ID: bootstrap.runId,
      MAYFLY_NONCE: bootstrap.nonce,
      MAYFLY_ATTEMPT: String(bootstrap.attempt),
      MAYFLY_DEADLINE: bootstrap.deadline,
      MAYFLY_BOOTSTRAP_URL: `http://${this.server.host}/${BUCKET}/runs/bootstrap/{nonce}`,
      MAYFLY_REGION: 'europe-west1',
      MAYFLY_CLASS: 'M',
      ...(choices.chroot ? {} : { MAYFLY_ROOT: this.root }),
      GCE_METADATA_HOST: this.server.host,
      CLOUD_RUN_EXECUTION: EXECUTION,
      CLOUD_RUN_TASK_INDEX: '0',
      CLOUD_RUN_TASK_COUNT: String(bootstrap.taskCount),
      CLOUD_RUN_TASK_ATTEMPT: '0',
      TEST_PERIODS: JSON.stringify({ ...QUICK, ...choices.periods }),
      TEST_CGROUP: join(this.root, 'cgroup'),
      ...choices.variables,
    };
    const words = wordsOf(choices, this.root);
    const [program = '', ...rest] = words;
    const stdio = ['pipe', 'pipe', 'pipe'] as const;
    const child = spawn(program, rest, {
      env,
      stdio: [...stdio],
      detached: choices.asJob === true,
    });
    const task = new LaunchedTask(child);
    this.#started.push(task);
    return task;
  }

  async run(choices: TaskChoices = {}, keep: 'write' | 'keep' = 'write'): Promise<EndedTask> {
    return await this.launch(choices, keep).ended;
  }

  marker(task?: number): Record<string, unknown> {
    const name = `runs/gce-status/${INSTANCE}${task === undefined ? '' : `.${task}`}.json`;
    return JSON.parse(this.server.text(name) ?? 'null') as Record<string, unknown>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const task of this.#started) task.end();
    await this.server[Symbol.asyncDispose]();
    rmSync(this.root, { recursive: true, force: true });
  }
}

export class LaunchedTask {
  readonly #child: ChildProcess;
  #stdout = '';
  #stderr = '';
  #watches: { readonly text: string; readonly from: number; readonly see: () => void }[] = [];
  readonly ended: Promise<EndedTask>;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#hear(text, ''));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#hear('', text));
    this.ended = once(child, 'close').then(([code, signal]) => ({
      code,
      signal,
      stdout: this.#stdout,
      stderr: this.#stderr,
      events: eventsOf(this.#stdout),
    }));
  }

  signal(name: NodeJS.Signals): void {
    const [, job] = /^job (\d+)$/m.exec(this.#stderr) ?? [];
    if (job === undefined) this.#child.kill(name);
    else process.kill(Number(job), name);
  }

  /** Whatever is still there of it. */
  end(): void {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.signal('SIGKILL');
    this.#child.kill('SIGKILL');
  }

  /** Resolves when the text has stood in what the task printed; rejects when it ends without. */
  prints(text: string): Promise<void> {
    return this.#printsFrom(text, 0);
  }

  /** The same, of what it prints from now on. */
  printsAgain(text: string): Promise<void> {
    return this.#printsFrom(text, this.#stdout.length);
  }

  async #printsFrom(text: string, from: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#stdout.includes(text, from)) return;
    this.#watches.push({ text, from, see: resolve });
    const over = this.ended.then((end) => {
      if (!end.stdout.includes(text, from))
        throw new Error(`it ended without ${text}: ${end.stdout}${end.stderr}`);
    });
    await Promise.race([promise, over]);
  }

  #hear(stdout: string, stderr: string): void {
    this.#stdout += stdout;
    this.#stderr += stderr;
    for (const { text, from, see } of this.#watches) if (this.#stdout.includes(text, from)) see();
  }
}

/** The event lines of an output; each must carry a right signature. */
export function eventsOf(stdout: string): TaskEvent[] {
  return stdout.split('\n').flatMap((line) => {
    if (!line.includes('"mayfly_event"')) return [];
    const { mayfly_event } = JSON.parse(line) as { mayfly_event: SignedEvent };
    if (!isGenuine(EVENT_KEY, mayfly_event)) throw new Error(`not signed: ${line}`);
    return [JSON.parse(mayfly_event.payload) as TaskEvent];
  });
}
