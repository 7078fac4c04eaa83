// A machine whose hardware systemd-nspawn plays: a real systemd boots the root folder, with real docker
// and Google's guest agent, and each boot has an id of its own. (There is no kernel of its own, and no
// ACPI; and the network, which is only loopback, does not go at a power-off.)
import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Hardware, readJournal } from '#test/guest/boot/hardware.ts';
import type { MachineFront } from '#test/guest/boot/machine-front.ts';
import { MachineProcess } from '#test/guest/boot/machine-process.ts';

const NSPAWN = join(import.meta.dirname, 'nspawn.sh');
/** SIGRTMIN+4: what `machinectl poweroff` sends to the machine's process 1. */
const POWER_OFF = 38;
/** From nsenter over systemd-nspawn to the machine's process 1. */
const GENERATIONS_TO_INIT = 2;
/** Where nspawn.sh makes groups. */
const CONTROL_GROUPS = ['/sys/fs/cgroup', '/sys/fs/cgroup/systemd', '/sys/fs/cgroup/unified'];

export class NspawnHardware implements Hardware {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mayfly-nspawn-'));
  readonly root = join(this.#folder, 'root');
  readonly #usr: string;
  readonly #console: Buffer[] = [];
  #process: MachineProcess | null = null;

  /** `template`: a root folder. All but its /usr, which every machine reads, is copied. */
  constructor(template: string) {
    this.#usr = join(template, 'usr');
    mkdirSync(join(this.root, 'usr'), { recursive: true });
    const own = readdirSync(template).filter((name) => name !== 'usr');
    execFileSync('cp', ['-a', ...own.map((name) => join(template, name)), this.root]);
    // By this file systemd-nspawn knows an operating system, before it mounts anything.
    rmSync(join(this.root, 'etc', 'os-release'));
    cpSync(join(template, 'usr/lib/os-release'), join(this.root, 'etc/os-release'));
  }

  async boot(front: MachineFront): Promise<void> {
    const command = [NSPAWN, basename(this.#folder), this.root, this.#usr];
    this.#process = await MachineProcess.start(command, this.#folder, front, this.#console);
  }

  get isOn(): boolean {
    return this.#process?.isOn ?? false;
  }

  pressPowerButton(): void {
    process.kill(this.#init(), POWER_OFF);
  }

  /** What systemd in the machine answers to `systemctl …`, whatever its exit code. */
  async systemctl(...words: string[]): Promise<string> {
    const inside = ['--target', String(this.#init()), '--all', '--', 'systemctl', ...words];
    const { promise, resolve } = Promise.withResolvers<string>();
    execFile('nsenter', inside, (_error, output) => resolve(output.trim()));
    return promise;
  }

  async cutPower(): Promise<void> {
    await this.#process?.kill();
  }

  async off(): Promise<void> {
    await this.#process?.off();
  }

  readFile(path: string): string {
    const file = join(this.root, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  journal(): string {
    const journal = readJournal(join(this.root, 'var/log/journal'));
    return Buffer.concat(this.#console).toString() + journal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cutPower();
    for (const hierarchy of CONTROL_GROUPS) {
      const group = join(hierarchy, basename(this.#folder));
      if (existsSync(group)) execFileSync('find', [group, '-depth', '-type', 'd', '-delete']);
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The machine's process 1, as this computer counts. */
  #init(): number {
    let pid = this.#process?.pid ?? 0;
    for (let generation = 0; generation < GENERATIONS_TO_INIT; generation++) pid = childOf(pid);
    return pid;
  }
}

function childOf(pid: number): number {
  const [child = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  if (child === '')
    throw new Error(`process ${pid} of the machine has no child: it is not booting`);
  return Number(child);
}
