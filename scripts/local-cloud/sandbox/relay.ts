// Runs inside of a machine's network namespace: what connects to one of its addresses there reaches a
// unix socket of the local cloud. Arguments: `HOST:PORT=SOCKET`, one an address. Says `ready` on stdout
// once all are open, and ends when its stdin does, which is when the local cloud ends.
import { connect, createServer, type Socket } from 'node:net';

const servers = process.argv.slice(2).map((route) => {
  const [address = '', socketPath = ''] = route.split('=');
  const colon = address.lastIndexOf(':');
  const server = createServer({ allowHalfOpen: true }, (client) => join(client, socketPath));
  const opened = new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(address.slice(colon + 1)), address.slice(0, colon), resolve);
  });
  return opened;
});
await Promise.all(servers);
process.stdout.write('ready\n');
process.stdin.resume().once('end', () => process.exit(0));

function join(client: Socket, socketPath: string): void {
  const upstream = connect({ path: socketPath, allowHalfOpen: true });
  client.pipe(upstream).pipe(client);
  client.once('error', () => upstream.destroy());
  upstream.once('error', () => client.destroy());
}
