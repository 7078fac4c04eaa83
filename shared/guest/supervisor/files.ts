// Package, inputs and outputs of a task: what is brought before the command, and what is taken after it.
import { createReadStream } from 'node:fs';
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { createGunzip } from 'node:zlib';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import { unpackTar } from '#shared/guest/supervisor/tar.ts';
import {
  download,
  eachBounded,
  StepFailure,
  type TransferLimits,
  upload,
} from '#shared/guest/supervisor/transfer.ts';
import type { OutputObject } from '#shared/lifecycle/marker.ts';
import type { Bootstrap } from '#shared/plan/bootstrap.ts';

export const PACKAGE_DIR = '/mayfly/package';
export const SCRATCH_DIR = '/mayfly/scratch';
const WIDTH = 4;

/** Downloads the package, checks its hash, unpacks it. Throws StepFailure. */
export async function bringPackage(
  deps: SupervisorDeps,
  bootstrap: Bootstrap,
  limits: TransferLimits,
): Promise<void> {
  const folder = join(deps.root, PACKAGE_DIR);
  await mkdir(folder, { recursive: true });
  await makeShared(join(deps.root, SCRATCH_DIR));
  if (bootstrap.package === null) return;
  const file = join(deps.root, SCRATCH_DIR, '.package.tar.gz');
  await download(deps, { name: 'package', file, ...bootstrap.package }, limits);
  const unpacked = createReadStream(file).pipe(createGunzip());
  try {
    await unpackTar(unpacked, folder);
  } catch (error) {
    if (error instanceof StepFailure) throw error;
    throw new StepFailure(`package: ${(error as Error).message}`, true);
  }
  await rm(file);
}

/** A folder that every user of the image may write to. */
async function makeShared(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o1777);
}

/** Read-only files, as many bytes as the run's list says. Throws StepFailure. */
export async function bringInputs(
  deps: SupervisorDeps,
  { inputs, outputs, checkpoints }: Bootstrap,
  limits: TransferLimits,
): Promise<void> {
  for (const { path } of [...outputs, ...checkpoints]) {
    await makeShared(join(deps.root, path));
  }
  await eachBounded(inputs, WIDTH, async ({ path, get, bytes }) => {
    const file = join(deps.root, path);
    await download(deps, { name: `input ${path}`, get, file, bytes }, limits);
    await chmod(file, 0o444);
  });
}

/** Every regular file below a folder, sorted; links are not followed. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(noFolder);
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name))).sort();
}

/** A command may remove its own folders. */
function noFolder(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

/** Below an object prefix of several tasks each has a place of its own. */
export const taskPrefix = (prefix: string, task: number, taskCount: number) =>
  taskCount > 1 ? `${prefix}tasks/${task}/` : prefix;

/** Uploads what the command left in its output folders. Throws StepFailure. */
export async function sendOutputs(
  deps: SupervisorDeps,
  bootstrap: Bootstrap,
  task: number,
  limits: TransferLimits,
): Promise<readonly OutputObject[]> {
  const sent = new Map<string, OutputObject>();
  for (const { path, form, bucket, prefix } of bootstrap.outputs) {
    const folder = join(deps.root, path);
    await eachBounded(await filesBelow(folder), WIDTH, async (name) => {
      const key = `${taskPrefix(prefix, task, bootstrap.taskCount)}${name}`;
      const content = { file: join(folder, name) };
      const reply = await upload(deps, { key, form, content }, limits);
      if (reply.kind === 'there') {
        throw new StepFailure(`output ${name}: gs://${bucket}/${key} may not be written`, true);
      }
      const { generation, crc32c, bytes } = reply.object;
      const at = `${path.replace(/\/$/, '')}/${name}`;
      sent.set(at, { path: at, uri: `gs://${bucket}/${key}`, generation, crc32c, bytes });
    });
  }
  return [...sent.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
