// A guest test's machine whose `docker` is the real client of a real engine: the same scripts and the same
// fake Google, run inside of the engine's namespaces.
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GuestSettings } from '#shared/plan/guest-settings.ts';
import type { Engine } from '#test/guest/engine/engine.ts';
import { GuestMachine, type MachineChoices } from '#test/guest/guest-machine.ts';

export interface EngineMachineChoices extends Omit<MachineChoices, 'container'> {
  /** What the container's shell runs; left out: the request says all. */
  readonly container?: string;
  /** A program in docker's place, in bash; DOCKER is the real client. */
  readonly docker?: string;
  /** Images stay for the next machine. */
  readonly keepImages?: boolean;
  /** The metadata server is at its ordinary address, outside, where containers reach it too. */
  readonly realMetadataAddress?: boolean;
}

/** Where a world's machine keeps its files and looks for programs; null: in the test's own folder. */
const WORLDS = {
  plain: { work: null, run: null, path: '"$STUB/bin:$PATH"' },
  cos: { work: '/var/lib/mayfly', run: '/run/mayfly', path: '"/var/lib/google/bin:/mnt/bin"' },
} as const;

interface MachineEnd {
  readonly gates: readonly AsyncDisposable[];
  readonly keepImages: boolean;
}

export class EngineMachine implements AsyncDisposable {
  readonly guest: GuestMachine;
  readonly #engine: Engine;
  readonly #end: MachineEnd;

  private constructor(engine: Engine, guest: GuestMachine, end: MachineEnd) {
    this.#engine = engine;
    this.guest = guest;
    this.#end = end;
  }

  static async create(engine: Engine, choices: EngineMachineChoices = {}): Promise<EngineMachine> {
    const { container, docker, realMetadataAddress, keepImages, ...rest } = choices;
    const guest = await GuestMachine.create({
      ...rest,
      env: {
        DOCKER: engine.client,
        ...(realMetadataAddress ? { GCE_METADATA_HOST: '169.254.169.254' } : {}),
        ...rest.env,
      },
      guest: { ...settingsOf(engine), ...rest.guest },
      request: {
        image: engine.image,
        ...(container === undefined ? {} : { command: ['sh', '-c', container] }),
        ...rest.request,
      },
    });
    for (const program of ['docker', 'iptables']) rmSync(join(guest.stub, 'bin', program));
    if (docker !== undefined) guest.installText('docker', docker);
    if (engine.world === 'cos') moveInside(engine, guest);
    const port = Number(guest.google.host.split(':')[1]);
    const gates = [await engine.expose(port, [guest.google.host])];
    if (realMetadataAddress) {
      gates.push(await engine.expose(port, ['169.254.169.254:80'], 'outside'));
    }
    return new EngineMachine(engine, guest, { gates, keepImages: keepImages === true });
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
      () => this.scratch('running') !== null && this.steps().includes('step run\n'),
    );
  }

  /** The script's own log. */
  steps(): string {
    return this.#read(join(this.folders.run, 'steps.log')) ?? 'no step log';
  }

  /** What a file of `/mayfly/scratch` holds; null when there is none. */
  scratch(name: string): string | null {
    return this.#read(join(this.folders.work, 'scratch', name));
  }

  /** The machine's two folders, as they are called inside. */
  get folders(): { readonly work: string; readonly run: string } {
    const { work, run } = WORLDS[this.#engine.world];
    return { work: work ?? this.guest.work, run: run ?? this.guest.small };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.guest[Symbol.asyncDispose]();
    for (const gate of this.#end.gates) await gate[Symbol.asyncDispose]();
    await this.#engine.reset(this.#end.keepImages);
  }

  #read(path: string): string | null {
    try {
      return this.#engine.inside('cat', path);
    } catch {
      return null;
    }
  }

  // Entering a mount namespace leads to its root; the working directory is entered after it.
  #launcher(file: string): string {
    const enter = this.#engine.enter.map((word) => `'${word}'`).join(' ');
    return `#!/bin/bash
export PATH=${WORLDS[this.#engine.world].path}
exec /usr/bin/${enter.slice(1).replace("'", '')} /bin/sh -c 'cd "$0" && exec /bin/bash "$1"' \\
  '${this.guest.folder}' '${file}'
`;
  }
}

function settingsOf(engine: Engine): Partial<GuestSettings> {
  const { work, run } = WORLDS[engine.world];
  return {
    ...{ memoryFile: '/proc/meminfo', cgroupDir: '/sys/fs/cgroup' },
    ...(work === null ? {} : { workDir: work, runDir: run }),
  };
}

/** What stands in for systemd must be where programs may be executed. */
function moveInside(engine: Engine, guest: GuestMachine): void {
  const stub = join(guest.folder, 'systemctl');
  copyFileSync(join(guest.stub, 'bin', 'systemctl'), stub);
  engine.inside('mkdir', '-p', '/var/lib/google/bin');
  engine.inside('cp', stub, '/var/lib/google/bin/systemctl');
  writeFileSync(join(guest.folder, 'boot-id'), `boot-${process.pid}-${performance.now()}\n`);
}
