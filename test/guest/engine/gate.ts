// Makes a loopback port of this process reachable, under the same number, inside of an engine's network
// namespace: a unix socket here, and the local cloud's relay there.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

const RELAY = join(
  import.meta.dirname,
  ...['..', '..', '..', 'scripts', 'local-cloud', 'sandbox', 'relay.ts'],
);

/** `addresses`: where it answers inside. `enter`: put before a command, makes it run there. */
export async function openGate(options: {
  readonly port: number;
  readonly addresses: readonly string[];
  readonly enter: readonly string[];
  readonly socket: string;
}): Promise<AsyncDisposable> {
  const { port, addresses, enter, socket } = options;
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    for (const one of [client, upstream]) {
      open.add(one);
      one.once('close', () => open.delete(one));
    }
    client.pipe(upstream).pipe(client);
    client.once('error', () => upstream.destroy());
    upstream.once('error', () => client.destroy());
  });
  server.listen(socket);
  await once(server, 'listening');
  const [program = '', ...rest] = enter;
  const routes = addresses.map((address) => `${address}=${socket}`);
  const relay = spawn(program, [...rest, process.execPath, RELAY, ...routes], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await isReady(relay);
  return {
    async [Symbol.asyncDispose]() {
      relay.stdin?.end();
      if (relay.exitCode === null) await once(relay, 'exit');
      server.close();
      for (const one of open) one.destroy();
      rmSync(socket, { force: true });
    },
  };
}

async function isReady(relay: ChildProcess): Promise<void> {
  const exit = once(relay, 'exit').then(() => {
    throw new Error('the relay ended at once');
  });
  await Promise.race([relay.stdout === null ? exit : once(relay.stdout, 'data'), exit]);
}
