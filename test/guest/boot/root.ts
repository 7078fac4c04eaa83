// The root file system that machines boot: built once by build-root.sh, in two to five minutes, then kept
// in the user's cache folder under the script's own hash.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

export type RootKind = 'container' | 'vm';

const SCRIPT = join(import.meta.dirname, 'build-root.sh');

/** A new root folder of that kind, alone in a folder that is removed after the file's tests. */
export function unpackRoot(kind: RootKind): string {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-root-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const root = join(folder, 'root');
  mkdirSync(root);
  execFileSync('tar', ['-C', root, '-xf', buildRoot(kind)]);
  return root;
}

/** The archive of that kind; built where it is missing, and then older ones are removed. */
function buildRoot(kind: RootKind): string {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'mayfly');
  const hash = createHash('sha256').update(readFileSync(SCRIPT)).digest('hex').slice(0, 16);
  const prefix = `root-${kind}-`;
  const name = `${prefix}${hash}.tar.zst`;
  mkdirSync(folder, { recursive: true });
  const kept = readdirSync(folder).filter((other) => other.startsWith(prefix));
  if (!kept.includes(name)) {
    // Under another name until it is whole.
    const fresh = join(folder, `new-${process.pid}-${name}`);
    execFileSync(SCRIPT, [kind, fresh], { stdio: ['ignore', 'ignore', 'inherit'] });
    renameSync(fresh, join(folder, name));
    for (const other of kept) rmSync(join(folder, other));
  }
  return join(folder, name);
}
