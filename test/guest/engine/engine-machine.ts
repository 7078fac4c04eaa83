// A guest test's machine whose `docker` is the real client of a real engine: the same scripts and the same
// fake Google, run inside of the engine's namespaces.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '#test/guest/engine/engine.ts';
import { GuestMachine, type MachineChoices } from '#test/guest/guest-machine.ts';

export interface EngineMachineChoices extends Omit<MachineChoices, 'container'> {
  /** What the container's shell runs; left out: the request says all. */
  readonly container?: string;
  /** A program in docker's place, in bash; DOCKER is the real client. */
  readonly docker?: string;
  /** The metadata server is at its ordinary address, outside, where containers reach it too. */
  readonly realMetadataAddress?: boolean;
}

/** Where the two worlds keep programs, and a folder for a test's own that may hold executables. */
const PATHS = {
  plain: '"$STUB/bin:$PATH"',
  cos: '"/var/lib/google/bin:/mnt/bin"',
} as const;

export class EngineMachine implements AsyncDisposable {
  readonly guest: GuestMachine;
  readonly #engine: Engine;
  readonly #gates: readonly AsyncDisposable[];

  private constructor(engine: Engine, guest: GuestMachine, gates: readonly AsyncDisposable[]) {
    this.#engine = engine;
    this.guest = guest;
    this.#gates = gates;
  }

  static async create(engine: Engine, choices: EngineMachineChoices = {}): Promise<EngineMachine> {
    const { container, docker, realMetadataAddress, ...rest } = choices;
    const guest = await GuestMachine.create({
      ...rest,
      env: {
        DOCKER: engine.client,
        ...(realMetadataAddress ? { GCE_METADATA_HOST: '169.254.169.254' } : {}),
        ...rest.env,
      },
      request: {
        image: engine.image,
        ...(container === undefined ? {} : { command: ['sh', '-c', container] }),
        ...rest.request,
      },
    });
    if (docker === undefined) rmSync(join(guest.stub, 'bin', 'docker'));
    else guest.installText('docker', docker);
    const port = Number(guest.google.host.split(':')[1]);
    const gates = [await engine.expose(port, [guest.google.host])];
    if (realMetadataAddress) {
      gates.push(await engine.expose(port, ['169.254.169.254:80'], 'outside'));
    }
    return new EngineMachine(engine, guest, gates);
  }

  /** Starts the script inside; signals to the child reach the script itself. */
  start() {
    const { guest } = this;
    const file = join(guest.folder, 'inside');
    writeFileSync(file, guest.script(), { mode: 0o755 });
    return guest.start('startup', this.#launcher(file));
  }

  async run() {
    const started = this.start();
    const code = await started.exit;
    return { code, output: started.output() };
  }

  /** The container has made the file `/mayfly/scratch/running`, and the script waits for its end. */
  untilContainerRuns(): Promise<void> {
    return this.guest.until(
      () => this.scratch('running') !== null && this.guest.steps().includes('step run\n'),
    );
  }

  /** What a file of `/mayfly/scratch` holds; null when there is none. */
  scratch(name: string): string | null {
    try {
      return this.#engine.inside('cat', join(this.guest.work, 'scratch', name));
    } catch {
      return null;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.guest[Symbol.asyncDispose]();
    for (const gate of this.#gates) await gate[Symbol.asyncDispose]();
    await this.#engine.reset();
  }

  // Entering a mount namespace leads to its root; the working directory is entered after it.
  #launcher(file: string): string {
    const enter = this.#engine.enter.map((word) => `'${word}'`).join(' ');
    const path = PATHS[this.#engine.world];
    return `#!/bin/bash
export PATH=${path}
exec ${enter} /bin/sh -c 'cd "$0" && exec /bin/bash "$1"' '${this.guest.folder}' '${file}'
`;
  }
}
