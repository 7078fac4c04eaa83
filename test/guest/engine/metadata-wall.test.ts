// The metadata server at its real address, behind the machine's own interface, as a container reaches it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Engine, engineMissing, skipNote } from '#test/guest/engine/engine.ts';
import { EngineMachine } from '#test/guest/engine/engine-machine.ts';

let engine: Engine;

const ASKS = [
  'printf "GET /computeMetadata/v1/instance/id HTTP/1.0\\r\\nMetadata-Flavor: Google\\r\\n\\r\\n"',
  'nc -w 5 169.254.169.254 80 2>&1',
].join(' | ');

describe.skipIf(engineMissing() !== null)(`the metadata server${skipNote()}`, () => {
  beforeAll(async () => {
    engine = await Engine.start();
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  test('D29: a container without metadataAccess gets a refusal at once, the script gets answers', async () => {
    await using machine = await EngineMachine.create(engine, {
      realMetadataAddress: true,
      container: `${ASKS}; exit 0`,
    });
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({
      status: 'SUCCEEDED',
      detail: expect.stringMatching(/refused|reset/i),
    });
    const asked = machine.guest.google.requestsAt('instance/id');
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.every(({ headers }) => /curl/.test(`${headers['user-agent']}`))).toBe(true);
  });

  test('D29: with the metadata server closed names are still resolved at its address', async () => {
    const [program = '', ...words] = engine.outside;
    const server = join(import.meta.dirname, 'name-server.ts');
    const names = spawn(program, [...words, process.execPath, server], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      await once(names.stdout, 'data');
      await using machine = await EngineMachine.create(engine, {
        realMetadataAddress: true,
        container: `${ASKS}; nslookup -type=a job.example 169.254.169.254`,
      });
      await machine.run();
      const { status, detail } = machine.guest.lastMarker();
      expect(detail).toMatch(/refused|reset/i);
      expect({ status, address: /192\.0\.2\.7/.test(detail) }).toEqual({
        status: 'SUCCEEDED',
        address: true,
      });
    } finally {
      names.stdin.end();
      await once(names, 'exit');
    }
  });

  test('a container with metadataAccess is answered', async () => {
    await using machine = await EngineMachine.create(engine, {
      realMetadataAddress: true,
      container: `${ASKS}; exit 0`,
      request: { metadataAccess: true },
    });
    // The rules of the test before are those of a machine that is gone.
    engine.inside('iptables', '-F', 'DOCKER-USER');
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({
      status: 'SUCCEEDED',
      detail: expect.stringMatching(/\n4242$/),
    });
  });
});
