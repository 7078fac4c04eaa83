// Scenarios of the command against a deployment in the local cloud: the functions as processes, machines
// as processes.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { clientEnvironment } from '#scripts/local-cloud/deployment/client-lines.ts';
import { ECHO_IMAGE, LIMIT_MS, type Scene } from '#test/e2e/scene.ts';
import { runMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

export const ECHO = ['--image', ECHO_IMAGE, '--cpus', '2', '--memory', '4'];
const EXIT = ['--image', 'mayfly.local/examples/exit-code:1', '--cpus', '2', '--memory', '4'];

export function commandScenarios(scene: () => Scene): void {
  const mayfly: Scene['mayfly'] = (...call) => scene().mayfly(...call);

  test(
    'submit --wait ends with the container’s own code, show and watch say the same afterwards',
    async () => {
      const ended = await mayfly([
        ...['submit', '--run-id', 'code-37', ...EXIT, '--wait', '--json'],
        ...['--', '37'],
      ]);
      expect(ended, ended.stderr).toMatchObject({ code: 37 });
      const result = JSON.parse(ended.stdout);
      expect(result).toMatchObject({
        runId: 'code-37',
        status: 'FAILED',
        cause: 'exit',
        exitCode: 37,
      });
      const [watched, shown] = await Promise.all([
        mayfly(['watch', 'code-37', '--json']),
        mayfly(['show', 'code-37', '--json']),
      ]);
      expect(watched.code).toBe(37);
      expect(JSON.parse(watched.stdout)).toEqual(result);
      expect(shown.code).toBe(0);
      expect(JSON.parse(shown.stdout)).toMatchObject({ runId: 'code-37', result, rejection: null });
      expect(shown.stdout).not.toContain('"nonce"');
      expect((await mayfly(['show', 'code-37'])).stdout).toContain('code-37: FAILED (exit, exit');
    },
    LIMIT_MS,
  );

  test(
    'another request under a known id is rejected with 76, and the run keeps its result',
    async () => {
      const first = await mayfly(['submit', '--run-id', 'twice', ...ECHO, '--wait', '--', 'one']);
      expect(first, first.stderr).toMatchObject({ code: 0 });
      const other = await mayfly(['submit', '--run-id', 'twice', ...ECHO, '--wait', '--', 'two']);
      expect(other, other.stderr).toMatchObject({ code: 76 });
      expect(other.stdout).toMatch(/twice: REJECTED \(conflict\)\n {2}runId is "twice": /);
      const same = await mayfly(['submit', '--run-id', 'twice', ...ECHO, '--wait', '--', 'one']);
      expect(same, same.stderr).toMatchObject({ code: 0 });
    },
    LIMIT_MS,
  );

  test(
    'P122: without capacity the line shows what was tried with codes and the next try; Ctrl-C leaves the run alive',
    async () => {
      const { cloud } = scene().installation;
      for (const letter of 'abcdf') {
        for (const region of ['europe-west1', 'us-central1']) {
          const body = { zone: `${region}-${letter}`, machineType: 'n2-standard-8', available: 0 };
          cloud.call('local.compute.stock', {}, body);
        }
      }
      const interruption = new AbortController();
      const waiting =
        / s {2}waiting .*tried \d+: .*ZONE_RESOURCE_POOL_EXHAUSTED.*next try at .*waits until /;
      const words = [
        'submit',
        '--run-id',
        'no-room',
        '--machine',
        'n2-standard-8',
        ...ECHO.slice(0, 2),
      ];
      const ended = await mayfly([...words, '--wait'], {
        interruption: interruption.signal,
        onNote: (line) => {
          if (waiting.test(line)) interruption.abort();
        },
      });
      expect(ended.code).toBe(130);
      expect(ended.stderr).toMatch(waiting);
      expect(ended.stderr).toContain('no-room goes on without this command');
      expect(ended.stderr).toContain('mayfly cancel no-room');
      const shown = await mayfly(['show', 'no-room', '--json']);
      expect(JSON.parse(shown.stdout)).toMatchObject({
        record: { state: 'WAITING' },
        result: null,
      });
      expect(await mayfly(['cancel', 'no-room'])).toMatchObject({ code: 0 });
      expect(await mayfly(['watch', 'no-room'])).toMatchObject({ code: 73 });
    },
    LIMIT_MS,
  );

  test(
    'P119: with emulators set, submit asks nobody for credentials',
    async () => {
      const asked: string[] = [];
      await using metadata = await listenFor(asked);
      const { STORAGE_EMULATOR_HOST = '', PUBSUB_EMULATOR_HOST = '' } = clientEnvironment(
        scene().installation.deployment,
      );
      for (const [index, host] of [
        PUBSUB_EMULATOR_HOST,
        `http://${PUBSUB_EMULATOR_HOST}`,
      ].entries()) {
        const words = ['submit', '--run-id', `emulated-${index}`, ...ECHO, '--wait'];
        const target = ['--project', 'local-project', '--bucket', 'local-bucket'];
        const ended = await runMayfly([...words, ...target], {
          environment: {
            STORAGE_EMULATOR_HOST,
            PUBSUB_EMULATOR_HOST: host,
            GCE_METADATA_HOST: metadata.host,
          },
        });
        expect(ended, ended.stderr).toMatchObject({ code: 0 });
      }
      expect(asked).toEqual([]);
    },
    LIMIT_MS,
  );
}

async function listenFor(asked: string[]) {
  const server: Server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
