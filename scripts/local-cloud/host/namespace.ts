// A machine's own network, mount, process and time namespaces, where root on Linux allows them: there
// 169.254.169.254:80 is its metadata server and 127.0.0.1:<port> the local cloud, its processes see no
// others, uptime and boot id are its own, and nothing in it outlives it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SANDBOX_FOLDER } from '#scripts/local-cloud/host/folder.ts';

export interface NamespaceOptions {
  /** `host:port` of the machine's metadata server, outside. */
  readonly metadataHost: string;
  /** Loopback port of the local cloud, the same outside and inside. */
  readonly cloudPort: number;
  readonly bootIdFile: string;
  /** The working directory of what runs inside. */
  readonly workingDir: string;
}

export interface Namespace {
  /** Put before a command, makes it run inside. */
  readonly prefix: readonly string[];
  /** Kills everything inside; resolves when it is gone. */
  close(): Promise<void>;
}

const METADATA_ADDRESS = '169.254.169.254';
const UNSHARE = ['--net', '--mount', '--pid', '--time', '--fork', '--kill-child'];
const NSENTER = ['--net', '--mount', '--pid', '--time'];
const PROBE = `ip link set lo up && ip address add ${METADATA_ADDRESS}/32 dev lo && mount -t proc proc /proc`;

/** Whether such namespaces can be made here: null, or why not. */
export function whyNoNamespace(): string | null {
  if (process.platform !== 'linux') return `${process.platform} has no network namespaces`;
  try {
    execFileSync('unshare', [...UNSHARE, 'sh', '-c', PROBE], { stdio: 'pipe', timeout: 10_000 });
    execFileSync('nsenter', ['--version'], { stdio: 'pipe', timeout: 10_000 });
    return null;
  } catch (error) {
    // The last line of what the command itself said.
    return (error instanceof Error ? error.message : String(error)).trim().split('\n').at(-1) ?? '';
  }
}

/** Makes the namespaces and resolves when both addresses answer inside. */
export async function openNamespace(options: NamespaceOptions): Promise<Namespace> {
  // Unix sockets have short names; the machine's own folder may be deep.
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-'));
  const hosts = join(folder, 'hosts');
  writeFileSync(
    hosts,
    `127.0.0.1 localhost\n${METADATA_ADDRESS} metadata.google.internal metadata\n`,
  );
  const [host = '', port = ''] = options.metadataHost.split(':');
  const metadata = { host, port: Number(port) };
  const gates = [
    await openGate(join(folder, 'metadata'), metadata),
    await openGate(join(folder, 'cloud'), { host: '127.0.0.1', port: options.cloudPort }),
  ];
  const relay = [
    ...[process.execPath, join(SANDBOX_FOLDER, 'relay.ts')],
    `${METADATA_ADDRESS}:80=${join(folder, 'metadata')}`,
    `127.0.0.1:${options.cloudPort}=${join(folder, 'cloud')}`,
  ];
  const init = [join(SANDBOX_FOLDER, 'machine-init.sh'), options.bootIdFile, hosts, ...relay];
  const child = spawn('unshare', [...UNSHARE, ...bootNow(), 'bash', ...init], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const close = async (): Promise<void> => {
    child.kill('SIGKILL'); // and by --kill-child process 1, and with it all the others
    await closed;
    await Promise.all(gates.map(closeGate));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const initPid = await readInitPid(child);
    // Entering a mount namespace leads to its root; the working directory is entered after it.
    const enter = ['sh', '-c', 'cd "$0" && exec "$@"', options.workingDir];
    return { prefix: ['nsenter', '--target', initPid, ...NSENTER, '--', ...enter], close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The time namespace's offset that makes the machine's uptime begin at 0. */
function bootNow(): string[] {
  const [uptime = '0'] = readFileSync('/proc/uptime', 'utf8').split('.');
  return ['--boottime', `-${uptime}`];
}

interface Address {
  readonly host: string;
  readonly port: number;
}

interface Gate {
  readonly server: Server;
  readonly drop: () => void;
}

/** A unix socket outside of the namespace behind which an address stands. */
async function openGate(path: string, address: Address): Promise<Gate> {
  const open = new Set<{ destroy(): void }>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ ...address, allowHalfOpen: true });
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    }
    client.pipe(upstream).pipe(client);
    client.once('error', () => upstream.destroy());
    upstream.once('error', () => client.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return {
    server,
    drop: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

async function closeGate({ server, drop }: Gate): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  drop();
  await closed;
}

/** Reads what process 1 and the relay say; resolves when the relay is ready. */
async function readInitPid(child: ChildProcess): Promise<string> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('unshare was started without pipes');
  let errors = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-2000);
  });
  let pid = '';
  for await (const line of createInterface({ input: stdout })) {
    if (line.startsWith('init ')) pid = line.slice('init '.length);
    if (line === 'ready') return pid;
  }
  throw new Error(`the machine's namespaces could not be set up: ${errors.trim()}`);
}
