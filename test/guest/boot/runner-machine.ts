// A guest machine whose scripts are fetched and run by Google's own script runner, in namespaces where
// 169.254.169.254 is its metadata server; docker and systemctl are the stubs. A boot has a new boot id.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Namespace, openNamespace } from '#scripts/local-cloud/host/namespace.ts';
import { GUEST_DEFAULTS } from '#shared/plan/guest-settings.ts';
import { FRONT_ENDPOINTS, MachineFront } from '#test/guest/boot/machine-front.ts';
import { GuestMachine, type MachineChoices } from '#test/guest/guest-machine.ts';

const RUNNER = 'google_metadata_script_runner';

export class RunnerMachine implements AsyncDisposable {
  readonly guest: GuestMachine;
  readonly front: MachineFront;
  bootId = '';
  #namespace: Namespace | null = null;

  private constructor(guest: GuestMachine, front: MachineFront) {
    this.guest = guest;
    this.front = front;
  }

  /** `scripts` in place of the planned ones. */
  static async boot(
    choices: MachineChoices = {},
    scripts: Readonly<Record<string, string>> = {},
  ): Promise<RunnerMachine> {
    const { bootIdFile, uptimeFile } = GUEST_DEFAULTS;
    const guest = await GuestMachine.create({
      ...choices,
      settings: { endpoints: FRONT_ENDPOINTS, ...choices.settings },
      guest: { bootIdFile, uptimeFile, ...choices.guest },
    });
    const front = await MachineFront.start(guest.google, {
      'startup-script': guest.script('startup'),
      'shutdown-script': guest.script('shutdown'),
      ...scripts,
    });
    const machine = new RunnerMachine(guest, front);
    await machine.reset();
    return machine;
  }

  /** Everything that runs dies at once; the next boot has the same disk. */
  async reset(): Promise<void> {
    await this.#namespace?.close();
    this.bootId = randomUUID();
    this.guest.setBootId(this.bootId);
    this.#namespace = await openNamespace({
      metadataHost: `127.0.0.1:${this.front.port}`,
      cloudPort: this.front.port,
      bootIdFile: join(this.guest.folder, 'boot-id'),
      workingDir: this.guest.folder,
    });
  }

  /** Starts Google's runner, as its two units do at boot and at power-off. */
  start(kind: 'startup' | 'shutdown') {
    const [program = '', ...prefix] = this.#namespace?.prefix ?? [];
    const { stub, work } = this.guest;
    const child = spawn(program, [...prefix, RUNNER, kind], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${join(stub, 'bin')}:${process.env.PATH}`,
        HOME: '/nowhere',
        STUB: stub,
        WORK: work,
      },
    });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once('exit', () => resolve());
    return { child, exit: promise, console: () => Buffer.concat(output).toString() };
  }

  /** Runs a script to its end; what the runner said. */
  async run(kind: 'startup' | 'shutdown' = 'startup'): Promise<string> {
    const started = this.start(kind);
    await started.exit;
    return started.console();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#namespace?.close();
    await this.front[Symbol.asyncDispose]();
    await this.guest[Symbol.asyncDispose]();
  }
}
