// The containers of one local machine in a real engine, found by the label that the machine's docker
// command gives them. Nothing without that label is touched.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Engine } from '#scripts/local-cloud/sandbox/engine.ts';

const execute = promisify(execFile);

export class EngineContainers {
  readonly #engine: Engine;
  readonly #label: string;

  /** `label`: `NAME=VALUE`, of this machine alone. */
  constructor(engine: Engine, label: string) {
    if (!/^[^=]+=.+$/.test(label)) throw new Error(`a label needs a name and a value: ${label}`);
    this.#engine = engine;
    this.#label = label;
  }

  /** TERM, and KILL after so many seconds. */
  async stop(seconds: number): Promise<void> {
    await this.#each(['ps', '--quiet'], ['stop', '--time', String(seconds)]);
  }

  async kill(): Promise<void> {
    await this.#each(['ps', '--quiet'], ['kill']);
  }

  /** Removes them, running or not: the machine's disk is gone. */
  async remove(): Promise<void> {
    await this.#each(['ps', '--quiet', '--all'], ['rm', '--force', '--volumes']);
  }

  async #each(listing: readonly string[], command: readonly string[]): Promise<void> {
    const ids = await this.#call([...listing, '--no-trunc', '--filter', `label=${this.#label}`]);
    if (ids !== '') await this.#call([...command, ...ids.split('\n')]);
  }

  async #call(args: readonly string[]): Promise<string> {
    const env = { ...process.env, DOCKER_HOST: this.#engine.host };
    const { stdout } = await execute(this.#engine.client, args, { env });
    return stdout.trim();
  }
}
