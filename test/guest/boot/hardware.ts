// What a booted machine is to a test, whatever plays its hardware.
import { execFileSync } from 'node:child_process';
import type { MachineFront } from '#test/guest/boot/machine-front.ts';

const JOURNAL_BYTES_MAX = 2 ** 26;

export interface Hardware extends AsyncDisposable {
  /** Boots the disk; a later call boots the same disk again. */
  boot(front: MachineFront): Promise<void>;
  /** The power button: the machine shuts down by itself, as at every stop or delete of the platform. */
  pressPowerButton(): void;
  /** Nothing that runs there sees another moment. */
  cutPower(): Promise<void>;
  readonly isOn: boolean;
  /** Resolves when the machine is off. */
  off(): Promise<void>;
  /** A text file of the disk of a machine that is off; empty when there is none. */
  readFile(path: string): string;
  /** What the console has shown, then the journal of all boots. */
  journal(): string;
}

/** Starts one with its own copy of the disk. */
export type MakeHardware = () => Promise<Hardware>;

/** A folder of journal files as text, oldest line first. */
export function readJournal(folder: string): string {
  const options = ['--directory', folder, '--output', 'short-monotonic', '--no-pager', '--quiet'];
  return execFileSync('journalctl', options, { maxBuffer: JOURNAL_BYTES_MAX }).toString();
}
