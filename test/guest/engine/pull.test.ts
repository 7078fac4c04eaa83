// Pulls from a real registry that fails in the ways that registries do: what is repeated, what is final,
// and what the marker says.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Engine, engineMissing, skipNote } from '#test/guest/engine/engine.ts';
import { EngineMachine } from '#test/guest/engine/engine-machine.ts';
import { pushImage } from '#test/guest/engine/registry-image.ts';

const MIB = 2 ** 20;
const DISK_BYTES = 48 * MIB;

let engine: Engine;

/** A tar archive of these files, by the real tar. */
function archive(files: Readonly<Record<string, Buffer>>): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-image-'));
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), bytes, { mode: 0o755 });
  }
  const tar = execFileSync('tar', ['-C', folder, '-cf', '-', '.'], { maxBuffer: 512 * MIB });
  rmSync(folder, { recursive: true });
  return tar;
}

/** busybox, but for the 64-bit Arm architecture: EM_AARCH64 is 183 at offset 18 (elf.h). */
function armProgram(): Buffer {
  const path = execFileSync('which', ['busybox'], { encoding: 'utf8' }).trim();
  const program = readFileSync(path);
  program.writeUInt16LE(183, 18);
  return program;
}

const MANIFESTS = '/manifests/';
const tooMany = {
  status: 429,
  body: JSON.stringify({
    errors: [{ code: 'TOOMANYREQUESTS', message: 'You have reached your pull rate limit.' }],
  }),
};
const denied = {
  status: 403,
  body: JSON.stringify({
    errors: [{ code: 'DENIED', message: 'Permission "downloadArtifacts" denied on resource' }],
  }),
};
const unauthorized = {
  status: 401,
  headers: { 'WWW-Authenticate': 'Basic realm="registry"' },
  body: JSON.stringify({ errors: [{ code: 'UNAUTHORIZED', message: 'authentication required' }] }),
};

describe.skipIf(engineMissing() !== null)(`a pull from a real registry${skipNote()}`, () => {
  beforeAll(async () => {
    engine = await Engine.start({ dataBytes: DISK_BYTES });
    const arm = archive({ 'bin/sh': armProgram() });
    const choices = { architecture: 'arm64', tar: arm };
    await pushImage(engine.registry, { ...choices, repository: 'tests/arm' });
    await pushImage(engine.registry, { ...choices, repository: 'tests/arm-list', asList: true });
    const big = archive({ big: Buffer.alloc(2 * DISK_BYTES) });
    await pushImage(engine.registry, { architecture: 'amd64', tar: big, repository: 'tests/big' });
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  /** Each pull begins with this question. */
  const pulls = () => engine.registry.requests.filter(({ line }) => line === 'GET /v2/').length;

  const failed = (step: string) => ({
    ...{ status: 'FAILED', cause: 'step-failed', exit_code: null, exec_start_epoch: null },
    step,
  });

  test('P48: 429 three times, then 200: the pull succeeds, and our token was sent to nobody', async () => {
    await using machine = await EngineMachine.create(engine, { container: 'true' });
    engine.registry.plant({ at: MANIFESTS, kind: tooMany, times: 3 });
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({ status: 'SUCCEEDED' });
    expect(engine.registry.requests.map(({ authorization }) => authorization).join('')).toBe('');
  });

  test('P48: 429 for long is a failed pull that names the rate limit and the registry', async () => {
    await using machine = await EngineMachine.create(engine, { guest: { tries: 3 } });
    engine.registry.plant({ at: MANIFESTS, kind: tooMany, times: 1000 });
    await machine.run();
    const marker = machine.guest.lastMarker();
    expect(marker).toMatchObject(failed('pull'));
    expect(marker.detail).toMatch(/rate limit/i);
    expect(marker.detail).toContain(engine.registry.host);
    expect(pulls()).toBe(3);
  });

  test('an image that is not there fails at once, in the words of the registry', async () => {
    await using machine = await EngineMachine.create(engine, {
      request: { image: `${engine.registry.host}/tests/job:none` },
    });
    await machine.run();
    const marker = machine.guest.lastMarker();
    expect(marker).toMatchObject(failed('pull'));
    expect(marker.detail).toContain('manifest unknown');
    expect(marker.detail).toContain('tests/job:none');
    expect(pulls()).toBe(1);
  });

  test.each([
    ['403', denied, /denied/i],
    ['401', unauthorized, /no basic auth credentials|unauthorized/i],
  ] as const)('a registry that answers %s says so in the detail', async (_name, kind, words) => {
    await using machine = await EngineMachine.create(engine, { guest: { tries: 3 } });
    engine.registry.plant({ at: MANIFESTS, kind, times: 1000 });
    await machine.run();
    const marker = machine.guest.lastMarker();
    expect(marker).toMatchObject(failed('pull'));
    expect(marker.detail).toMatch(words);
  });

  test.each([
    ['500 twice', { status: 500 }],
    ['a cut connection twice', 'cut'],
  ] as const)('%s, then an answer: the pull succeeds', async (_name, kind) => {
    await using machine = await EngineMachine.create(engine, { container: 'true' });
    engine.registry.plant({ at: MANIFESTS, kind, times: 2 });
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({ status: 'SUCCEEDED' });
  });

  test('D8: a registry that never answers is given up within the time for a pull', async () => {
    await using machine = await EngineMachine.create(engine, {
      guest: { pullSeconds: 1, tries: 2 },
    });
    engine.registry.plant({ at: MANIFESTS, kind: 'hang', times: 1000 });
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject(failed('pull'));
  });

  test('P56: a registry that cannot be reached is given up in time, and the detail says why', async () => {
    await using machine = await EngineMachine.create(engine, {
      request: { image: '10.255.255.1:5000/org/app:1' },
      guest: { pullSeconds: 3, tries: 2 },
    });
    await machine.run();
    const marker = machine.guest.lastMarker();
    expect(marker).toMatchObject(failed('pull'));
    expect(marker.detail).toContain('10.255.255.1:5000');
    expect(marker.detail).toMatch(/external address|no route|NAT/i);
  });

  test('P47: an image larger than the disk fails once, and the detail names disk and field', async () => {
    await using machine = await EngineMachine.create(engine, {
      request: { image: `${engine.registry.host}/tests/big:1` },
    });
    await machine.run();
    const marker = machine.guest.lastMarker();
    expect(marker).toMatchObject(failed('pull'));
    expect(marker.detail).toContain('no space left on device');
    expect(marker.detail).toContain('resources.bootDiskGiB');
    expect(pulls()).toBe(1);
  });

  test.each(['tests/arm', 'tests/arm-list'])(
    "P55: %s, an image for another architecture, fails in docker's own words",
    async (repository) => {
      await using machine = await EngineMachine.create(engine, {
        request: { image: `${engine.registry.host}/${repository}:1`, command: ['/bin/sh'] },
      });
      await machine.run();
      const marker = machine.guest.lastMarker();
      expect(marker).toMatchObject({ status: 'FAILED', cause: 'step-failed', exit_code: null });
      expect(marker.detail).toMatch(/exec format error|no matching manifest for linux\/amd64/i);
      expect(['pull', 'start']).toContain(marker.step);
    },
  );

  test('A56: the log-in of a registry of ours reaches it, and the pull carries the token', async () => {
    await using machine = await EngineMachine.create(engine, {
      container: 'true',
      settings: { imageHosts: [engine.registry.host] },
    });
    const { google } = machine.guest;
    engine.registry.demand = () => basic('oauth2accesstoken', `token-${google.tokens}`);
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({ status: 'SUCCEEDED' });
    const sent = engine.registry.requests.map(({ authorization }) => authorization);
    expect(new Set(sent.filter((value) => value !== ''))).toEqual(
      new Set([basic('oauth2accesstoken', `token-${google.tokens}`)]),
    );
  });
});

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
