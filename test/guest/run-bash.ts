// Runs a long script in real bash from a file: from a pipe bash would read it byte by byte.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const OUTPUT_BYTES_MAX = 2 ** 28;

/** What the script prints. Throws when it says anything on standard error. */
export function runBash(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-bash-'));
  try {
    writeFileSync(join(folder, 'script'), script);
    const { stdout, stderr } = spawnSync('bash', [join(folder, 'script')], {
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    if (stderr !== '') throw new Error(stderr);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
