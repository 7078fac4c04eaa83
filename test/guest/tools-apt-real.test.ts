// The tools step with real apt, dpkg and gpg, over this machine's own Debian or Ubuntu (real-apt.sh).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { testsWith } from '#test/guest/boot/parts.ts';
import { SigningKeys } from '#test/guest/signing-keys.ts';
import { PIECES } from '#test/guest/sources.ts';

const TIMEOUT_MS = 300_000;

/** All that the script says, run once. */
function runRealApt(): { status: number | null; said: string; errors: string } {
  using keys = new SigningKeys();
  const wanted = keys.make('wanted');
  const foreign = keys.make('foreign');
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-apt-'));
  try {
    writeFileSync(join(folder, 'keys'), keys.export(foreign, wanted));
    const script = join(import.meta.dirname, 'real-apt.sh');
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      [
        ...['--mount', '--pid', '--fork', '--kill-child', 'bash', script],
        ...[folder, PIECES, wanted.fingerprint, foreign.fingerprint],
      ],
      { encoding: 'utf8', timeout: TIMEOUT_MS, env: { ...process.env, GNUPGHOME: keys.home } },
    );
    return { status, said: stdout, errors: stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (testsWith('apt')) {
  let said = '';
  beforeAll(() => {
    const result = runRealApt();
    expect(result).toMatchObject({ status: 0 });
    said = result.said;
  }, TIMEOUT_MS);

  test('B17: real dpkg, cut off in the middle of an installation, is repaired by the next step', () => {
    expect(said).toContain('\ncut off: iF');
    expect(said).toContain('\nnext step: exit code 0\nmarker: there\n');
    for (const name of [
      'docker-ce',
      'docker-ce-cli',
      'containerd.io',
      'nvidia-container-toolkit',
    ]) {
      expect(said).toContain(`\n${name}: ii`);
    }
  });

  test('B24: real apt goes on although another repository is out of reach', () => {
    expect(said).toContain('\nacme: out of reach\n');
  });

  test('B23: real apt takes our lists, where an older one of the same repository had another key', () => {
    expect(said).toContain('\nlists: acme.list docker.list nvidia-container-toolkit.list\n');
  });

  test('B20, B23: real apt refuses what the other key of the same file has signed', () => {
    expect(said).toContain('\nforeign signature: exit code 1, apt does not find every package\n');
  });

  test('P43: what real dpkg and apt say of a lock is understood', () => {
    for (const file of ['dpkg/lock-frontend', 'dpkg/lock', 'apt/lists/lock']) {
      expect(said).toContain(`\n/var/lib/${file}: another process held the lock of dpkg or apt`);
    }
  });
}
