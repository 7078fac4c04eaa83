// Real keys made by real gpg, for tests of what is trusted.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One moment, so that a key that is adopted as a subkey keeps its fingerprint, which counts it in. */
const MADE_AT = '20250101T000000!';

export interface SigningKey {
  readonly fingerprint: string;
  readonly keygrip: string;
}

/** A private gpg home with the keys that were made in it. */
export class SigningKeys implements Disposable {
  readonly home = mkdtempSync(join(tmpdir(), 'mayfly-gpg-'));

  constructor() {
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
  }

  gpg(options: readonly string[], input: string | Uint8Array = ''): Buffer {
    const { stdout, stderr, status } = spawnSync(
      'gpg',
      ['--batch', '--yes', '--faked-system-time', MADE_AT, '--passphrase', '', ...options],
      { env: { ...process.env, GNUPGHOME: this.home }, input },
    );
    if (status !== 0) throw new Error(`gpg ${options.join(' ')}: ${stderr.toString()}`);
    return stdout;
  }

  make(name: string): SigningKey {
    this.gpg(['--quick-generate-key', `${name} <${name}@example.com>`, 'ed25519', 'sign', 'never']);
    const list = this.gpg(['--with-colons', '--with-keygrip', '--list-keys', name]).toString();
    const field = (kind: string) => RegExp(`^${kind}:{9}([0-9A-F]+):`, 'm').exec(list)?.[1] ?? '';
    return { fingerprint: field('fpr'), keygrip: field('grp') };
  }

  /** Makes a key that has another one's material as its subkey. */
  adopt(name: string, child: SigningKey): SigningKey {
    const key = this.make(name);
    this.gpg(
      [
        '--pinentry-mode',
        'loopback',
        '--expert',
        '--command-fd',
        '0',
        '--edit-key',
        key.fingerprint,
      ],
      `addkey\n13\n${child.keygrip}\nQ\n0\nsave\n`,
    );
    return key;
  }

  /** The public keys, as a file that a server would offer. */
  export(...keys: readonly SigningKey[]): Buffer {
    return this.gpg(['--armor', '--export', ...keys.map(({ fingerprint }) => fingerprint)]);
  }

  [Symbol.dispose](): void {
    spawnSync('gpgconf', ['--homedir', this.home, '--kill', 'all']);
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** The fingerprints of the keys in a keyring, subkeys' too, in their order. */
export function fingerprintsIn(keyring: string): string[] {
  const home = mkdtempSync(join(tmpdir(), 'mayfly-gpg-'));
  try {
    const { stdout } = spawnSync('gpg', ['--batch', '--with-colons', '--show-keys', keyring], {
      env: { ...process.env, GNUPGHOME: home },
      encoding: 'utf8',
    });
    return [...stdout.matchAll(/^fpr:{9}([0-9A-F]+):/gm)].map(
      ([, fingerprint = '']) => fingerprint,
    );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
