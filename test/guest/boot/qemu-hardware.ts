// A machine that QEMU emulates, without KVM: a real kernel and an ACPI power button, and at a power-off the
// network goes. Ten times slower than systemd-nspawn.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Hardware, readJournal } from '#test/guest/boot/hardware.ts';
import type { MachineFront } from '#test/guest/boot/machine-front.ts';
import { MachineProcess } from '#test/guest/boot/machine-process.ts';

const KERNEL_LINE =
  'root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off tsc=reliable no_timer_check apparmor=0';

/** What machines boot: made once from a root folder with a kernel. */
export interface BootFiles {
  readonly kernel: string;
  readonly initrd: string;
  readonly disk: string;
}

/** The disk lies beside the root folder. */
export function makeBootFiles(root: string): BootFiles {
  const named = (prefix: string) => {
    const name = readdirSync(join(root, 'boot')).find((entry) => entry.startsWith(prefix));
    if (name === undefined) throw new Error(`the root has no ${prefix}`);
    return join(root, 'boot', name);
  };
  const disk = join(root, '..', 'disk.img');
  execFileSync('truncate', ['-s', '1536M', disk]);
  execFileSync('mkfs.ext4', ['-q', '-F', '-O', '^has_journal', '-m', '0', '-d', root, disk]);
  return { kernel: named('vmlinuz-'), initrd: named('initrd.img-'), disk };
}

export class QemuHardware implements Hardware {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mayfly-qemu-'));
  readonly #disk = join(this.#folder, 'disk.img');
  readonly #monitor = join(this.#folder, 'monitor');
  readonly #files: BootFiles;
  readonly #console: Buffer[] = [];
  #process: MachineProcess | null = null;

  constructor(files: BootFiles) {
    this.#files = files;
    execFileSync('cp', ['--sparse=always', files.disk, this.#disk]);
  }

  async boot(front: MachineFront): Promise<void> {
    const command = ['qemu-system-x86_64', ...this.#options()];
    this.#process = await MachineProcess.start(command, this.#folder, front, this.#console);
  }

  get isOn(): boolean {
    return this.#process?.isOn ?? false;
  }

  pressPowerButton(): void {
    const monitor = connect(this.#monitor, () => monitor.end('system_powerdown\n'));
    monitor.resume();
  }

  async cutPower(): Promise<void> {
    await this.#process?.kill();
  }

  async off(): Promise<void> {
    await this.#process?.off();
  }

  readFile(path: string): string {
    return this.#readDisk(`cat ${path}`);
  }

  journal(): string {
    const copy = mkdtempSync(join(this.#folder, 'journal-'));
    this.#readDisk(`rdump /var/log/journal ${copy}`);
    return Buffer.concat(this.#console).toString() + readJournal(join(copy, 'journal'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cutPower();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #readDisk(request: string): string {
    return execFileSync('debugfs', ['-R', request, this.#disk], { stdio: 'pipe' }).toString();
  }

  /** Its user network reaches what the namespace does: 169.254.169.254. */
  #options(): string[] {
    return [
      ...['-machine', 'q35', '-accel', 'tcg,thread=multi,tb-size=512', '-cpu', 'max'],
      ...['-smp', '2', '-m', '1024', '-nodefaults', '-no-user-config', '-display', 'none'],
      ...['-no-reboot', '-kernel', this.#files.kernel, '-initrd', this.#files.initrd],
      ...['-append', KERNEL_LINE],
      ...['-drive', `file=${this.#disk},if=virtio,format=raw,cache=unsafe`],
      ...['-netdev', 'user,id=n0', '-device', 'virtio-net-pci,netdev=n0,romfile='],
      ...['-device', 'virtio-rng-pci', '-serial', 'stdio'],
      ...['-monitor', `unix:${this.#monitor},server=on,wait=off`],
    ];
  }
}
