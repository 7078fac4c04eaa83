// The process sandbox's docker command in a state folder of its own.
import { spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, onTestFinished } from 'vitest';
import { EXAMPLE_IMAGES_FOLDER, SANDBOX_FOLDER } from '#scripts/local-cloud/host/folder.ts';
import { endProcesses } from '#scripts/local-cloud/sandbox/processes.ts';
import { SESSION_VARIABLES } from '#scripts/local-cloud/sandbox/session.ts';

/** Each call is a Node of its own; the compiled sources are shared by those of one test file. */
const compileCache = mkdtempSync(join(tmpdir(), 'mayfly-compile-'));
afterAll(() => rmSync(compileCache, { recursive: true, force: true }));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface DockerCall {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** An example image's reference. */
export const example = (name: string) => `mayfly.local/examples/${name}:1`;

export class Sandbox {
  /** Real, so that it equals what processes report of themselves. */
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'mayfly-sandbox-')));
  readonly #env: Readonly<Record<string, string>>;

  constructor(env: Readonly<Record<string, string>> = {}) {
    this.#env = env;
    // Also for a test that runs out of time, and so never leaves its block.
    onTestFinished(() => this[Symbol.asyncDispose]());
  }

  /** Runs `docker` with these words to its end. */
  async docker(words: readonly string[], call: DockerCall = {}): Promise<Outcome> {
    const child = this.spawn(words, call);
    child.stdin.end(call.stdin ?? '');
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { code: await closed, stdout, stderr };
  }

  spawn(words: readonly string[], { env = {} }: DockerCall = {}) {
    return spawn(process.execPath, [join(SANDBOX_FOLDER, 'docker.ts'), ...words], {
      env: {
        PATH: process.env.PATH,
        HOME: this.folder,
        [SESSION_VARIABLES.stateFolder]: join(this.folder, 'docker'),
        [SESSION_VARIABLES.bootId]: 'boot-1',
        [SESSION_VARIABLES.imagesFolder]: EXAMPLE_IMAGES_FOLDER,
        NODE_COMPILE_CACHE: compileCache,
        SANDBOX_TEST_FOLDER: this.folder,
        ...this.#env,
        ...env,
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcesses({ marks: [`SANDBOX_TEST_FOLDER=${this.folder}`], groups: [] });
    rmSync(this.folder, { recursive: true, force: true });
  }
}
