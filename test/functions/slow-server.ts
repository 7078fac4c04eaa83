// A process with one function that takes its time. `finish`: its request ends after the signal that
// asks the process to end. `hang`: it never ends, and the time for draining is short.
import { once } from 'node:events';
import { http } from '@google-cloud/functions-framework';
import { drainAtSignals } from '#functions/drain.ts';
import { startServer } from '#functions/server.ts';

const hangs = process.argv[2] === 'hang';

http('slow', async (_request, response) => {
  const asked = once(process, 'SIGTERM');
  process.stdout.write('running\n');
  await asked;
  if (!hangs) response.status(204).end();
});

const server = await startServer({
  target: 'slow',
  port: 0,
  host: '127.0.0.1',
  authenticate: async () => ({ kind: 'accepted', email: 'test' }),
  log: (severity, event, message) => {
    process.stdout.write(`${JSON.stringify({ severity, event, message })}\n`);
  },
});
drainAtSignals(
  () => server.drain(hangs ? 50 : undefined),
  (_severity, event, message) => {
    process.stdout.write(`${event} ${message}\n`);
  },
);
process.stdout.write(`${server.url}\n`);
