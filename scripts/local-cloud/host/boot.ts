// One boot of a local machine, from power on to power off: its scripts as real process groups in the
// machine's folder, in namespaces of their own where those can be made. The startup script's end does
// not end the boot; `softOff` does what an ACPI power-off does, `cut` is the loss of power.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, type FSWatcher, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BOOT_ID_FILE,
  containerMarks,
  type MachinePaths,
  SANDBOX_FOLDER,
} from '#scripts/local-cloud/host/folder.ts';
import { type Namespace, openNamespace } from '#scripts/local-cloud/host/namespace.ts';
import { BoundedLog } from '#scripts/local-cloud/sandbox/bounded-log.ts';
import type { EngineContainers } from '#scripts/local-cloud/sandbox/engine-containers.ts';
import {
  endProcesses,
  findProcesses,
  type ProcessTraces,
  signalProcess,
} from '#scripts/local-cloud/sandbox/processes.ts';

export type PowerRequest = 'poweroff' | 'reboot';

export interface BootOptions {
  readonly paths: MachinePaths;
  readonly metadata: Readonly<Record<string, string>>;
  /** `host:port` of the machine's metadata server. */
  readonly metadataHost: string;
  readonly cloudPort: number;
  /** Of the machine's scripts. */
  readonly env: Readonly<Record<string, string>>;
  /** The entry of `env` that only this machine's processes carry. */
  readonly mark: string;
  readonly isolated: boolean;
  /** The machine's containers in a real engine. */
  readonly engineContainers: EngineContainers | null;
  /** TERM to KILL of containers at a soft-off, as dockerd's own 10 s. */
  readonly containerGraceSeconds: number;
  /** TERM to KILL of all that is left after that. */
  readonly finalGraceMs: number;
  readonly consoleLimitBytes: number;
  /** Called when the machine itself asks for its end. */
  readonly onPowerRequest: (request: PowerRequest) => void;
}

const POLL_MS = 20;

export class MachineBoot {
  readonly #options: BootOptions;
  readonly #namespace: Namespace | null;
  readonly #console: BoundedLog;
  readonly #watcher: FSWatcher;
  readonly #children = new Set<ChildProcess>();
  #softOff: Promise<void> | null = null;
  #cut: Promise<void> | null = null;

  private constructor(options: BootOptions, namespace: Namespace | null) {
    this.#options = options;
    this.#namespace = namespace;
    this.#console = new BoundedLog(options.paths.console, options.consoleLimitBytes);
    this.#watcher = watch(options.paths.boot, () => this.#readPowerRequest());
  }

  /** Powers the machine on: its startup script runs when this resolves. */
  static async start(options: BootOptions): Promise<MachineBoot> {
    const namespace = options.isolated
      ? await openNamespace({
          metadataHost: options.metadataHost,
          cloudPort: options.cloudPort,
          workingDir: options.paths.disk,
          bootIdFile: join(options.paths.disk, BOOT_ID_FILE),
        })
      : null;
    const boot = new MachineBoot(options, namespace);
    boot.#spawnScript('startup-script');
    return boot;
  }

  /** Shuts down in order, then cuts the power. Resolves when nothing of the boot runs any more. */
  softOff(): Promise<void> {
    this.#softOff ??= this.#shutDown();
    return this.#softOff;
  }

  /** Ends every process of the boot at once. Resolves when none is left. */
  cut(): Promise<void> {
    this.#cut ??= this.#powerOff();
    return this.#cut;
  }

  async #shutDown(): Promise<void> {
    if (this.#cut !== null) return await this.#cut;
    writeFileSync(this.#options.paths.stopping, '');
    await Promise.all([this.#stopContainers(), this.#ended(this.#spawnScript('shutdown-script'))]);
    for (const pid of findProcesses(this.#traces())) signalProcess(pid, 'SIGTERM');
    const giveUpAtMs = Date.now() + this.#options.finalGraceMs;
    while (Date.now() < giveUpAtMs && findProcesses(this.#traces()).length > 0) {
      await sleep(POLL_MS);
    }
    await this.cut();
  }

  async #powerOff(): Promise<void> {
    this.#watcher.close();
    const traces = this.#traces();
    await this.#namespace?.close();
    await this.#options.engineContainers?.kill();
    const left = await endProcesses(traces);
    await Promise.all([...this.#children].map((child) => this.#ended(child)));
    this.#console.close();
    if (left.length > 0) {
      throw new Error(
        `processes ${left.join(', ')} of a local machine do not end; end them by hand`,
      );
    }
  }

  /** Starts a script of the metadata, if there is one, as the guest agent does: with bash, as it stands. */
  #spawnScript(key: 'startup-script' | 'shutdown-script'): ChildProcess | null {
    const text = this.#options.metadata[key];
    if (text === undefined) return null;
    const file = join(this.#options.paths.boot, key);
    writeFileSync(file, text, { mode: 0o700 });
    return this.#spawn(['bash', file]);
  }

  async #stopContainers(): Promise<void> {
    const { containerGraceSeconds, engineContainers } = this.#options;
    const docker = [process.execPath, join(SANDBOX_FOLDER, 'docker.ts')];
    const script = `ids=$("$@" ps --quiet); [ -z "$ids" ] || "$@" stop --time ${containerGraceSeconds} $ids`;
    // The machine's containers in the sandbox; an engine's `ps` would list the whole computer's.
    const sandbox = this.#spawn([
      'env',
      'MAYFLY_SANDBOX_ENGINE=',
      'sh',
      '-c',
      script,
      'sh',
      ...docker,
    ]);
    await Promise.all([this.#ended(sandbox), engineContainers?.stop(containerGraceSeconds)]);
  }

  #spawn(command: readonly string[]): ChildProcess {
    const { env, metadataHost, paths } = this.#options;
    const [program = '', ...args] = [...(this.#namespace?.prefix ?? []), ...command];
    const child = spawn(program, args, {
      cwd: paths.disk,
      env: this.#namespace === null ? { ...env, GCE_METADATA_HOST: metadataHost } : env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    child.stdout.on('data', (bytes: Buffer) => this.#console.write(1, bytes));
    child.stderr.on('data', (bytes: Buffer) => this.#console.write(2, bytes));
    child.once('error', (error) => this.#console.write(2, Buffer.from(`${error.message}\n`)));
    child.once('close', () => this.#children.delete(child));
    return child;
  }

  async #ended(child: ChildProcess | null): Promise<void> {
    if (child === null || !this.#children.has(child)) return;
    await new Promise<void>((resolve) => child.once('close', () => resolve()));
  }

  #traces(): ProcessTraces {
    const { mark, paths } = this.#options;
    const groups = [...this.#children].flatMap(({ pid }) => pid ?? []);
    return { marks: [mark, ...containerMarks(paths)], groups };
  }

  #readPowerRequest(): void {
    const { paths, onPowerRequest } = this.#options;
    if (this.#softOff !== null || !existsSync(paths.powerRequest)) return;
    // Empty: still being written; the next event comes with the word.
    const request = readFileSync(paths.powerRequest, 'utf8').trim();
    if (request === 'poweroff' || request === 'reboot') onPowerRequest(request);
  }
}
