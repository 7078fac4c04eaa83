// The whole script in a world that is like Container-Optimized OS: a read-only root, nothing that can be
// executed in /var, /home and /tmp, and few programs.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Engine, engineMissing, skipNote } from '#test/guest/engine/engine.ts';
import { EngineMachine } from '#test/guest/engine/engine-machine.ts';

let engine: Engine;

/** What a shell says inside, or its failure. */
function shell(command: string): string {
  try {
    return engine.inside('/bin/sh', '-c', `${command} 2>&1`).trim();
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout).trim();
  }
}

function makePackage(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-package-'));
  writeFileSync(join(folder, 'program'), '#!/bin/sh\necho "the package runs"\n');
  chmodSync(join(folder, 'program'), 0o755);
  const { stdout } = spawnSync('tar', ['-C', folder, '-czf', '-', 'program']);
  rmSync(folder, { recursive: true });
  return stdout;
}

describe.skipIf(engineMissing() !== null)(`on Container-Optimized OS${skipNote()}`, () => {
  beforeAll(async () => {
    engine = await Engine.start({ world: 'cos' });
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  test('the world is as strict as the real one', () => {
    for (const folder of ['/var', '/home', '/tmp', '/var/lib']) {
      const file = `${folder}/try-${process.pid}`;
      const made = `printf '#!/bin/sh\\n' >${file} && chmod 755 ${file}`;
      expect(shell(`${made} && { ${file} && echo ran; rm ${file}; }`)).toMatch(/denied/i);
    }
    for (const folder of ['/root', '/usr', '/mnt', '/opt']) {
      expect(shell(`touch ${folder}/try`)).toMatch(/read-only/i);
    }
    for (const program of ['python3', 'jq', 'gpg', 'file', 'node', 'perl']) {
      expect(shell(`PATH=/mnt/bin; command -v ${program}`)).toBe('');
    }
  });

  test('P46: with a home that cannot be written the script logs in, works, and reports', async () => {
    const archive = makePackage();
    const sha256 = createHash('sha256').update(archive).digest('hex');
    await using machine = await EngineMachine.create(engine, {
      env: { HOME: '/root' },
      settings: { imageHosts: [engine.registry.host] },
      container: [
        'set -e; /mayfly/package/program >/out/said; cat /in/a.csv >/out/a',
        'cp /mayfly/package/program /mayfly/scratch/; /mayfly/scratch/program >>/out/said',
      ].join('\n'),
      request: {
        package: { uri: `gs://code/app-${sha256}.tar.gz`, sha256 },
        inputs: { '/in/a.csv': 'gs://data/a.csv' },
        outputs: { '/out': 'gs://results/' },
      },
      inputs: [
        { path: '/in/a.csv', bucket: 'data', object: 'a.csv', generation: '1002', bytes: 4 },
      ],
    });
    const { google } = machine.guest;
    google.put('data/a.csv', '1,2\n');
    google.put(`code/app-${sha256}.tar.gz`, archive);
    const token = () => Buffer.from(`oauth2accesstoken:token-${google.tokens}`).toString('base64');
    engine.registry.demand = () => `Basic ${token()}`;
    const { output } = await machine.run();
    expect(`${output}`).toBe('');
    expect(machine.guest.lastMarker(), machine.steps()).toMatchObject({
      ...{ status: 'SUCCEEDED', exit_code: 0, step: 'report' },
    });
    expect(google.objects.get('results/said')?.bytes.toString()).toBe(
      'the package runs\n'.repeat(2),
    );
    expect(google.objects.get('results/a')?.bytes.toString()).toBe('1,2\n');
    expect(machine.guest.deletes()).toHaveLength(1);
    // Nothing was missing on the way, and no credentials are left.
    expect(machine.steps()).not.toMatch(/not found|denied|read-only/i);
    expect(shell(`find ${machine.folders.run} ${machine.folders.work} -name config.json`)).toBe('');
    expect(shell('ls -A /root/.docker')).toMatch(/no such file/i);
  });
});
