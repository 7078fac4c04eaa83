// What the kernel counted of the task's memory, where it shows its files, and the GPUs there are.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Both versions of control groups; the first that is there counts. */
const PEAK_FILES = ['memory.peak', 'memory/memory.max_usage_in_bytes'];
const KILL_FILES = ['memory.events', 'memory/memory.oom_control'];

export async function peakMemory(cgroupDir: string | null): Promise<number | null> {
  const text = await firstOf(cgroupDir, PEAK_FILES);
  return /^\d+\s*$/.test(text ?? '') ? Number(text) : null;
}

/** Processes that the kernel ended for lack of memory; null where that is not counted. */
export async function memoryKills(cgroupDir: string | null): Promise<number | null> {
  const text = await firstOf(cgroupDir, KILL_FILES);
  const [, count] = /^oom_kill (\d+)$/m.exec(text ?? '') ?? [];
  return count === undefined ? null : Number(count);
}

export async function countGpus(): Promise<number | null> {
  const names = await readdir('/dev').catch(() => []);
  const gpus = names.filter((name) => /^nvidia\d+$/.test(name)).length;
  return gpus === 0 ? null : gpus;
}

async function firstOf(folder: string | null, names: readonly string[]): Promise<string | null> {
  for (const name of folder === null ? [] : names) {
    const text = await readFile(join(folder ?? '', name), 'utf8').catch(() => null);
    if (text !== null) return text;
  }
  return null;
}
