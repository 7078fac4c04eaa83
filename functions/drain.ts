// Ends a server without losing what it is doing: at SIGTERM nothing new is accepted, running requests
// are finished within the time that the platform gives, then the process ends with code 0.
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Log } from '#shared/cloud/log.ts';

/** Cloud Run kills the process 10 s after SIGTERM. */
export const DRAIN_TIMEOUT_MS = 9000;

export type DrainEnd = 'finished' | 'cut-off';

/** Waits for the running responses, at most `timeoutMs`; then all connections are closed. */
export async function drainServer(
  server: Server,
  running: ReadonlySet<ServerResponse>,
  timeoutMs: number,
): Promise<DrainEnd> {
  const closed = once(server, 'close').then((): DrainEnd => 'finished');
  server.close();
  for (const response of running) {
    if (!response.headersSent) response.setHeader('connection', 'close');
  }
  if (running.size === 0) server.closeAllConnections();
  const timer = Promise.withResolvers<DrainEnd>();
  const timeout = setTimeout(() => timer.resolve('cut-off'), timeoutMs);
  const end = await Promise.race([closed, timer.promise]);
  clearTimeout(timeout);
  server.closeAllConnections();
  await closed;
  return end;
}

/** At the first SIGTERM or SIGINT: drains, then ends the process. */
export function drainAtSignals(drain: () => Promise<DrainEnd>, log: Log): void {
  let asked = false;
  const end = async (signal: string) => {
    if (asked) return;
    asked = true;
    const how = await drain();
    const severity = how === 'finished' ? 'INFO' : 'WARNING';
    log(severity, 'server-drained', `${signal}: running requests ${how}`);
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(signal));
}
