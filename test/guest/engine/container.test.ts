// What a container of a real engine sees: its words byte for byte, its files, its limits.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Engine, engineMissing, skipNote } from '#test/guest/engine/engine.ts';
import { EngineMachine } from '#test/guest/engine/engine-machine.ts';
import { INSTANCE } from '#test/guest/intent.ts';

let engine: Engine;

/** What shells, C libraries, JSON and command lines are known to change on the way. */
const WORDS = [
  ...[
    '',
    ' ',
    '-n',
    '--',
    '*',
    '$HOME `id` $(id)',
    "it's",
    '"quoted"',
    '\\',
    '\\n',
    'a\nb\n',
    '\t',
  ],
  ...['αβ', '\u{1f680}', 'e\u0301', '\u202e', '\ufeff', '%s %%', '{{.Name}}', '!!', '#', '~', '\r'],
  ...[`${'long '.repeat(2000)}`, '\u0001\u001b[31m\u007f', ';|&<>()[]{}?'],
];

const outputOf = (machine: EngineMachine, name: string): string | undefined =>
  machine.guest.google.objects.get(`results/${name}`)?.bytes.toString();

/** A `.tar.gz` with one program in it, by the real tar. */
function makePackage(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-package-'));
  mkdirSync(join(folder, 'app'));
  writeFileSync(join(folder, 'app', 'program'), '#!/bin/sh\necho "from the package: $1"\n');
  chmodSync(join(folder, 'app', 'program'), 0o755);
  const { stdout } = spawnSync('tar', ['-C', folder, '-czf', '-', 'app']);
  rmSync(folder, { recursive: true });
  return stdout;
}

describe.skipIf(engineMissing() !== null)(`inside of a real container${skipNote()}`, () => {
  beforeAll(async () => {
    engine = await Engine.start();
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  test('A36: arguments and environment arrive byte for byte', async () => {
    await using machine = await EngineMachine.create(engine, {
      request: {
        command: [
          'sh',
          '-c',
          'printf "%s\\0" "$@" >/out/words; printf "%s" "$ODD" >/out/odd',
          'sh',
        ],
        args: WORDS,
        env: { ODD: WORDS.join('|') },
        outputs: { '/out': 'gs://results/' },
      },
    });
    await machine.run();
    expect(machine.guest.lastMarker().detail).toBe('');
    expect(outputOf(machine, 'words')?.split('\0').slice(0, -1)).toEqual(WORDS);
    expect(outputOf(machine, 'odd')).toBe(WORDS.join('|'));
  });

  test('A7: package, inputs and outputs: read-only what comes, whole what goes', async () => {
    const archive = makePackage();
    const sha256 = createHash('sha256').update(archive).digest('hex');
    const object = (path: string, name: string, generation: number) => ({
      ...{ path, bucket: 'data', object: name, generation: `${generation}`, bytes: 4 },
    });
    const commands = [
      ...['set -e', 'cd /out', '/mayfly/package/app/program works >ran', 'cat /in/a.csv >a'],
      ...[
        'mkdir -p "deep/b c"',
        'cp "/set/x y" "deep/b c/é"',
        ': >empty',
        'ln -s /etc/passwd link',
      ],
      ...[
        'echo "nobody:x:65534:65534::/:/bin/sh" >/etc/passwd',
        'su nobody -c "echo me >/out/mine"',
      ],
      'for at in /mayfly/package/x /in/a.csv "/set/x y" /set/z; do',
      ...['if echo x >>"$at"; then echo "wrote $at"; exit 1; fi 2>/dev/null', 'done'],
      'touch /mayfly/scratch/x',
    ];
    await using machine = await EngineMachine.create(engine, {
      container: commands.join('\n'),
      request: {
        package: { uri: `gs://code/app-${sha256}.tar.gz`, sha256 },
        inputs: { '/in/a.csv': 'gs://data/a.csv', '/set': 'gs://data/set/' },
        outputs: { '/out': 'gs://results/run/' },
      },
      inputs: [object('/in/a.csv', 'a.csv', 1002), object('/set/x y', 'set/x y', 1003)],
    });
    const { google } = machine.guest;
    google.put('data/a.csv', '1,2\n');
    google.put('data/set/x y', 'x y\n');
    google.put(`code/app-${sha256}.tar.gz`, archive);
    await machine.run();
    const marker = machine.guest.lastMarker();
    expect(marker).toMatchObject({ status: 'SUCCEEDED', detail: '' });
    const sent = {
      ...{ a: '1,2\n', 'deep/b c/é': 'x y\n', empty: '', mine: 'me\n' },
      ran: 'from the package: works\n',
    };
    const kept = [...google.objects].filter(([name]) => name.startsWith('results/run/'));
    expect(
      Object.fromEntries(kept.map(([name, { bytes }]) => [name.slice(12), `${bytes}`])),
    ).toEqual(sent);
    const listed = marker.outputs as { readonly path: string; readonly bytes: number }[];
    expect(Object.fromEntries(listed.map(({ path, bytes }) => [path, bytes]))).toEqual(
      Object.fromEntries(
        Object.entries(sent).map(([name, text]) => [`/out/${name}`, Buffer.byteLength(text)]),
      ),
    );
  });

  test('D29: few capabilities, no new ones, an init as process 1, a bounded number of processes', async () => {
    await using machine = await EngineMachine.create(engine, {
      request: {
        ...{ outputs: { '/out': 'gs://results/' }, capabilities: ['SYS_PTRACE'] },
        command: [
          ...['sh', '-c'],
          'cat /proc/self/status >/out/status; tr "\\0" " " </proc/1/cmdline >/out/init; cat /sys/fs/cgroup/pids/pids.max >/out/pids',
        ],
      },
    });
    await machine.run();
    const status = outputOf(machine, 'status') ?? '';
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, KILL 5, SETGID 6, SETUID 7, NET_BIND_SERVICE 10, and the
    // request's SYS_PTRACE 19: bits 1 + 2 + 8 + 32 + 64 + 128 + 1024 + 524288 (capability.h).
    for (const set of ['CapEff', 'CapPrm', 'CapBnd']) {
      expect(status).toContain(`${set}:\t${(525_547).toString(16).padStart(16, '0')}\n`);
    }
    expect(status).toContain('NoNewPrivs:\t1\n');
    expect(outputOf(machine, 'init')).toMatch(/init/);
    expect(outputOf(machine, 'pids')).toBe('32768\n');
  });

  test("P58: docker's own log of the container is bounded by the settings", async () => {
    await using machine = await EngineMachine.create(engine, { container: 'true' });
    await machine.run();
    const format = '{{.HostConfig.LogConfig.Type}} {{json .HostConfig.LogConfig.Config}}';
    const [type, ...config] = (await engine.docker('inspect', '--format', format, INSTANCE)).split(
      ' ',
    );
    expect(type).toBe('local');
    expect(JSON.parse(config.join(' '))).toMatchObject({ 'max-file': '2', 'max-size': '16m' });
  });
});
