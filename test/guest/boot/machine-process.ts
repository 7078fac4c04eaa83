// One boot of a machine: a program that plays its hardware, in namespaces where 169.254.169.254 is the
// test's server and uptime begins at 0. What runs inside cannot outlive it.
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Namespace, openNamespace } from '#scripts/local-cloud/host/namespace.ts';
import type { MachineFront } from '#test/guest/boot/machine-front.ts';

export class MachineProcess {
  readonly #namespace: Namespace;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  private constructor(namespace: Namespace, child: ChildProcess) {
    this.#namespace = namespace;
    this.#child = child;
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once('close', () => resolve());
    this.#ended = promise;
  }

  /** `folder`: the machine's own; what the command prints goes to `output`. */
  static async start(
    command: readonly string[],
    folder: string,
    front: MachineFront,
    output: Buffer[],
  ): Promise<MachineProcess> {
    const bootIdFile = join(folder, 'boot-id');
    writeFileSync(bootIdFile, 'whatever plays the hardware gives each boot its own\n');
    // A new one each time: docker's interface of the last boot would still be in the old one.
    const namespace = await openNamespace({
      metadataHost: `127.0.0.1:${front.port}`,
      cloudPort: front.port,
      bootIdFile,
      workingDir: folder,
    });
    const [program = '', ...prefix] = namespace.prefix;
    const child = spawn(program, [...prefix, ...command], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    return new MachineProcess(namespace, child);
  }

  /** Of nsenter, whose child is the command. */
  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the machine was not started');
    return this.#child.pid;
  }

  get isOn(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when the command has ended by itself and the namespaces are gone. */
  async off(): Promise<void> {
    await this.#ended;
    await this.#namespace.close();
  }

  async kill(): Promise<void> {
    await this.#namespace.close();
    await this.#ended;
  }
}
