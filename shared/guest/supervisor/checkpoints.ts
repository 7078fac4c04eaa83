// Checkpoints of a task: its folders copied up now and then, and down again before a later attempt. Files
// are named by their content and a manifest is written last, so that one without it never counts.
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sumsOfFile } from '#shared/guest/supervisor/checksums.ts';
import { filesBelow, SCRATCH_DIR, taskPrefix } from '#shared/guest/supervisor/files.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import {
  download,
  eachBounded,
  StepFailure,
  type TransferLimits,
  upload,
} from '#shared/guest/supervisor/transfer.ts';
import {
  type Bootstrap,
  CHECKPOINT_FILES_MAX,
  type CheckpointManifest,
} from '#shared/plan/bootstrap.ts';

const WIDTH = 4;

type Folder = Bootstrap['checkpoints'][number];
type ManifestFile = CheckpointManifest['files'][number];

export class Checkpoints {
  readonly #deps: SupervisorDeps;
  readonly #bootstrap: Bootstrap;
  readonly #task: number;
  /** Contents that are in the bucket already, by folder. */
  readonly #stored = new Map<string, Set<string>>();
  #count = 0;
  #copies = 0;
  #running: Promise<number> = Promise.resolve(0);

  constructor(deps: SupervisorDeps, bootstrap: Bootstrap, task: number) {
    this.#deps = deps;
    this.#bootstrap = bootstrap;
    this.#task = task;
  }

  /** Brings the last complete checkpoint; the number of its files. Throws StepFailure. */
  async restore(limits: TransferLimits): Promise<number> {
    let count = 0;
    for (const { path, restore } of this.#bootstrap.checkpoints) {
      const files = restore[String(this.#task)] ?? [];
      count += files.length;
      await eachBounded(files, WIDTH, async ({ path: name, get, bytes, sha256 }) => {
        const file = join(this.#deps.root, path, name);
        await download(
          this.#deps,
          { name: `checkpoint ${name}`, get, file, bytes, sha256 },
          limits,
        );
      });
    }
    return count;
  }

  /** Saves all folders; the number of files. One at a time: a later call waits for an earlier one. */
  save(limits: TransferLimits): Promise<number> {
    const next = this.#running.catch(() => 0).then(() => this.#save(limits));
    this.#running = next;
    return next;
  }

  async #save(limits: TransferLimits): Promise<number> {
    this.#count += 1;
    let count = 0;
    for (const folder of this.#bootstrap.checkpoints) {
      const files = await this.#sendFiles(folder, limits);
      count += files.length;
      // Nothing to go back to is no checkpoint.
      if (files.length > 0) await this.#sendManifest(folder, { schema: 1, files }, limits);
    }
    return count;
  }

  async #sendFiles(folder: Folder, limits: TransferLimits): Promise<readonly ManifestFile[]> {
    const { root } = this.#deps;
    const from = join(root, folder.path);
    const sent: ManifestFile[] = [];
    const names = await filesBelow(from);
    if (names.length > CHECKPOINT_FILES_MAX) {
      const most = `at most ${CHECKPOINT_FILES_MAX} come back`;
      throw new StepFailure(
        `${folder.path} has ${names.length} files, ${most}: pack them into fewer`,
        true,
      );
    }
    await mkdir(join(root, SCRATCH_DIR), { recursive: true });
    await eachBounded(names, WIDTH, async (name) => {
      // The command goes on writing: what is sent under a content's name must not change meanwhile.
      this.#copies += 1;
      const copy = join(root, SCRATCH_DIR, `.checkpoint-${this.#copies}`);
      try {
        await copyFile(join(from, name), copy);
        sent.push({ path: name, ...(await this.#sendFile(folder, copy, limits)) });
      } catch (error) {
        // Removed between the listing and the copy: it is no part of this state.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      } finally {
        await rm(copy, { force: true });
      }
    });
    return sent.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  async #sendFile(
    { path, form, prefix }: Folder,
    file: string,
    limits: TransferLimits,
  ): Promise<Omit<ManifestFile, 'path'>> {
    const { sha256, bytes } = await sumsOfFile(file);
    const stored = this.#stored.get(path) ?? new Set<string>();
    this.#stored.set(path, stored);
    if (!stored.has(sha256)) {
      const key = `${taskPrefix(prefix, this.#task, this.#bootstrap.taskCount)}files/${sha256}`;
      // One that is there already has this very content.
      await upload(this.#deps, { key, form, content: { file } }, limits);
      stored.add(sha256);
    }
    return { sha256, bytes };
  }

  async #sendManifest(
    { form, prefix }: Folder,
    manifest: CheckpointManifest,
    limits: TransferLimits,
  ): Promise<void> {
    const { attempt, taskCount } = this.#bootstrap;
    const name = `${attempt}-${String(this.#count).padStart(10, '0')}.json`;
    const key = `${taskPrefix(prefix, this.#task, taskCount)}checkpoints/${name}`;
    const content = { bytes: Buffer.from(JSON.stringify(manifest)) };
    const reply = await upload(this.#deps, { key, form, content }, limits);
    if (reply.kind === 'there' && !reply.landed)
      throw new StepFailure(`${key} is there already`, true);
  }
}
