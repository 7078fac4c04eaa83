// The process as it is deployed: `node functions/server.ts` with its settings in the environment.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../functions/server.ts', import.meta.url));

const SETTINGS = {
  MAYFLY_PROJECT: 'my-project-123',
  MAYFLY_BUCKET: 'my-bucket',
  MAYFLY_REGIONS: 'europe-west1',
  MAYFLY_WORKER_SERVICE_ACCOUNTS: 'worker@my-project-123.iam.gserviceaccount.com',
  MAYFLY_PUSH_MODE: 'internal-token',
  MAYFLY_PUSH_TOKEN: 'a-token-of-this-test-alone-0123456789',
};

function start(environment: Record<string, string>) {
  const env = { PATH: process.env.PATH ?? '', ...environment };
  const child = spawn(process.execPath, [SCRIPT], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    exited: once(child, 'exit').then(([code]) => code),
    terminate: () => child.kill('SIGTERM'),
    async nextLog(): Promise<{ event: string; message: string }> {
      return JSON.parse(String((await lines.next()).value));
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

test.each(['submit', 'finalize', 'signals', 'notify', 'sweep'])(
  '%s is served until SIGTERM',
  async (name) => {
    using server = start({ ...SETTINGS, FUNCTION_TARGET: name, PORT: '0' });
    const { event, message } = await server.nextLog();
    expect(event).toBe('server-started');
    const port = /port (\d+)$/.exec(message)?.[1];
    const url = `http://127.0.0.1:${port}/`;
    expect((await fetch(url, { method: 'POST' })).status).toBe(401);
    const headers = { authorization: `Bearer ${SETTINGS.MAYFLY_PUSH_TOKEN}` };
    expect((await fetch(url, { headers })).status).toBe(405);
    server.terminate();
    expect(await server.exited).toBe(0);
  },
);

test.each([
  { name: 'no settings', change: { MAYFLY_BUCKET: '', MAYFLY_PROJECT: '' }, says: 'MAYFLY_BUCKET' },
  { name: 'an unknown function', change: { FUNCTION_TARGET: 'nobody' }, says: 'nobody' },
  { name: 'a port that is none', change: { PORT: 'http' }, says: 'PORT' },
])('with $name the process says so and ends with 1', async ({ change, says }) => {
  using server = start({ ...SETTINGS, FUNCTION_TARGET: 'submit', PORT: '0', ...change });
  const log = await server.nextLog();
  expect(log.event).toBe('server-not-started');
  expect(log.message).toContain(says);
  expect(await server.exited).toBe(1);
});
