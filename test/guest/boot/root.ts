// The root file system that machines boot: built once by build-root.sh, in two to five minutes, then kept
// in the user's cache folder under the script's own hash.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

export type RootKind = 'container' | 'vm';

const SCRIPT = join(import.meta.dirname, 'build-root.sh');

/** Enough for the slowest build. */
export const ROOT_TIMEOUT_MS = 1_800_000;

const run = promisify(execFile);

/** A new root folder of that kind, alone in a folder of its own; the caller removes both. */
export async function unpackRoot(kind: RootKind): Promise<string> {
  const root = join(mkdtempSync(join(tmpdir(), 'mayfly-root-')), 'root');
  mkdirSync(root);
  await run('tar', ['-C', root, '-xf', await buildRoot(kind)]);
  return root;
}

export function removeRoot(root: string): void {
  rmSync(dirname(root), { recursive: true });
}

/** The archive of that kind; built where it is missing, and then older ones are removed. */
async function buildRoot(kind: RootKind): Promise<string> {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'mayfly');
  const hash = createHash('sha256').update(readFileSync(SCRIPT)).digest('hex').slice(0, 16);
  const prefix = `root-${kind}-`;
  const name = `${prefix}${hash}.tar.zst`;
  mkdirSync(folder, { recursive: true });
  const kept = readdirSync(folder).filter((other) => other.startsWith(prefix));
  if (!kept.includes(name)) {
    // Under another name until it is whole.
    const fresh = join(folder, `new-${process.pid}-${name}`);
    await run(SCRIPT, [kind, fresh]);
    renameSync(fresh, join(folder, name));
    for (const other of kept) rmSync(join(folder, other));
  }
  return join(folder, name);
}
