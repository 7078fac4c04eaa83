// One task in a real container engine: its client runs as the task's process, so that its output, its
// exit code and the signals to it are the container's. CPU and memory are bounded as the Job says.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { type HostedTask, taskKey } from '#scripts/local-cloud/host/task-host.ts';
import type { Engine } from '#scripts/local-cloud/sandbox/engine.ts';

const execute = promisify(execFile);

/** `8Gi` → `8g`, as the engine writes it. */
const bytesOf = (quantity: string) => quantity.toLowerCase().replace(/i$/, '');

export class TaskContainer {
  readonly #engine: Engine;
  readonly #task: HostedTask;
  readonly #name: string;

  constructor(engine: Engine, task: HostedTask) {
    this.#engine = engine;
    this.#task = task;
    const key = createHash('sha256')
      .update(`${taskKey(task)} ${task.metadataHost}`)
      .digest('hex');
    this.#name = `${task.executionName}-${task.task}-${key.slice(0, 12)}`;
  }

  /** Brings the image: the client would tell of that among the task's own lines. */
  async prepare(): Promise<void> {
    const { image } = this.#task;
    // What cannot be had is told by the call that needs it.
    if ((await this.#ask('image', 'inspect', '--format', '{{.Id}}', image)) === '') {
      await this.#ask('pull', '--quiet', image).catch(() => '');
    }
  }

  /** The client's call that is the container's life. */
  command(): [string, ...string[]] {
    const { image, command, args, env, metadataHost, limits } = this.#task;
    const variables = Object.entries({ ...env, GCE_METADATA_HOST: metadataHost });
    const [program, ...rest] = command;
    const cpus = Math.min(Number(limits.cpu ?? 1), availableParallelism());
    return [
      this.#engine.client,
      ...['run', '--name', this.#name, '--network', 'host', '--cpus', String(cpus)],
      ...(limits.memory === undefined ? [] : ['--memory', bytesOf(limits.memory)]),
      ...variables.flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      ...(program === undefined ? [] : ['--entrypoint', program]),
      image,
      ...rest,
      ...args,
    ];
  }

  /** Whether the engine ended it for its memory; false when there is no such container. */
  async ranOutOfMemory(): Promise<boolean> {
    return (await this.#ask('inspect', '--format', '{{.State.OOMKilled}}', this.#name)) === 'true';
  }

  /** Ends it if it still runs; nothing is left of it. */
  async remove(): Promise<void> {
    await this.#ask('rm', '--force', '--volumes', this.#name);
  }

  /** What the client prints; empty when there is no such thing. */
  async #ask(...args: string[]): Promise<string> {
    const env = { ...process.env, DOCKER_HOST: this.#engine.host };
    try {
      return (await execute(this.#engine.client, args, { env })).stdout.trim();
    } catch (error) {
      if (
        /no such (?:container|object|image)/i.test(String((error as { stderr?: string }).stderr))
      ) {
        return '';
      }
      throw error;
    }
  }
}
