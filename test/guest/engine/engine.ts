// A real container engine and registry for guest tests, private to one test file: own network and mount
// namespaces, own folder, an image made of busybox. Everything that it starts ends with it, and with the
// process that started it.
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { openGate } from '#test/guest/engine/gate.ts';
import { RegistryFront } from '#test/guest/engine/registry-front.ts';
import { isRequired } from '#test/required.ts';

const run = promisify(execFile);

export interface EngineChoices {
  /** `cos`: file systems and programs as Container-Optimized OS has them. */
  readonly world?: 'plain' | 'cos';
  /** The size of the disk that images and containers live on; left out: the machine's own. */
  readonly dataBytes?: number;
}

const PROGRAMS = [
  'docker',
  'dockerd',
  'docker-registry',
  'busybox',
  'ip',
  'iptables',
  'nsenter',
  'setpriv',
];
const NAMESPACES = ['--net', '--mount', '--propagation', 'private'];

/** Null, or why no engine can run here. Fails where the caller demands one. */
export function engineMissing(): string | null {
  const reason = whyNoEngine();
  if (reason !== null && isRequired('docker'))
    throw new Error(`an engine is required here: ${reason}`);
  return reason;
}

/** What a test's title says where it is skipped. */
export function skipNote(): string {
  return engineMissing() === null ? '' : ' (skipped: no container engine)';
}

function whyNoEngine(): string | null {
  const missing = PROGRAMS.filter((name) => spawnSync('which', [name]).status !== 0);
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  const probe = spawnSync('unshare', [...NAMESPACES, 'mount', '-t', 'tmpfs', 'tmpfs', '/run']);
  if (probe.status !== 0) return `no namespaces: ${probe.stderr}`.trim();
  const groups = readFileSync('/proc/mounts', 'utf8');
  return /^cgroup2? \S+ cgroup2? /m.test(groups) ? null : 'no control groups are mounted';
}

export class Engine implements AsyncDisposable {
  readonly folder: string;
  readonly registry: RegistryFront;
  /** Put before a command, makes it run in the engine's namespaces and in the folder that follows. */
  readonly enter: readonly string[];
  /** The same for the network outside, where the metadata server's address is. */
  readonly outside: readonly string[];
  readonly world: 'plain' | 'cos';
  /** Where docker's client is. */
  readonly client = execFileSync('which', ['docker'], { encoding: 'utf8' }).trim();
  /** Without the engine's file systems: programs of this project may stand where those allow none. */
  readonly #enterNetwork: readonly string[];
  readonly #supervisor: ChildProcess;
  readonly #gates: AsyncDisposable[] = [];

  private constructor(parts: {
    folder: string;
    registry: RegistryFront;
    supervisor: ChildProcess;
    pids: readonly string[];
    world: 'plain' | 'cos';
  }) {
    this.folder = parts.folder;
    this.registry = parts.registry;
    this.world = parts.world;
    this.#supervisor = parts.supervisor;
    const [inside = '', outside = ''] = parts.pids;
    this.enter = ['nsenter', '--target', inside, '--net', '--mount', '--'];
    this.#enterNetwork = ['nsenter', '--target', inside, '--net', '--'];
    this.outside = ['nsenter', '--target', outside, '--net', '--'];
  }

  static async start(choices: EngineChoices = {}): Promise<Engine> {
    const folder = mkdtempSync(join(tmpdir(), 'mayfly-engine-'));
    writeFileSync(join(folder, 'registry.yml'), registryConfig(folder));
    const script = join(import.meta.dirname, 'engine.sh');
    const world = choices.world ?? 'plain';
    const words = [script, folder, world, `${choices.dataBytes ?? ''}`];
    const supervisor = spawn('unshare', [...NAMESPACES, 'bash', ...words], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const pids = await readPids(supervisor, folder);
    const registry = await RegistryFront.start(join(folder, 'registry.sock'));
    const engine = new Engine({ folder, registry, supervisor, pids, world });
    await engine.expose(registry.port, [registry.host]);
    await engine.#makeImage();
    registry.reset();
    return engine;
  }

  /** The image that every test may use: busybox with the names of its commands. */
  get image(): string {
    return `${this.registry.host}/tests/job:1`;
  }

  /** Makes a loopback port of this process reachable inside, or from outside, at these addresses. */
  async expose(
    port: number,
    addresses: readonly string[],
    where: 'inside' | 'outside' = 'inside',
  ): Promise<AsyncDisposable> {
    const socket = join(this.folder, `gate-${where}-${port}`);
    const enter = where === 'inside' ? this.#enterNetwork : this.outside;
    const gate = await openGate({ port, addresses, enter, socket });
    this.#gates.push(gate);
    return gate;
  }

  /** Runs docker's client, and resolves with what it prints. */
  async docker(...words: string[]): Promise<string> {
    const env = { PATH: process.env.PATH, DOCKER_HOST: `unix://${this.folder}/docker.sock` };
    const { stdout } = await run(this.client, words, { env, maxBuffer: 2 ** 26 });
    return stdout.trim();
  }

  /** Runs a program inside, and gives its output. */
  inside(...command: string[]): string {
    const [program = '', ...words] = [...this.enter, ...command];
    return execFileSync(program, words, { encoding: 'utf8', stdio: 'pipe' });
  }

  /** Containers and images of earlier tests are gone, the registry's faults and records too. */
  async reset(keepImages = false): Promise<void> {
    this.registry.reset();
    const containers = await this.docker('ps', '--all', '--quiet');
    if (containers !== '') await this.docker('rm', '--force', ...containers.split('\n'));
    if (keepImages) return;
    const images = await this.docker('images', '--quiet', '--no-trunc');
    if (images !== '') await this.docker('rmi', '--force', ...new Set(images.split('\n')));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const gate of this.#gates) await gate[Symbol.asyncDispose]();
    await this.registry[Symbol.asyncDispose]();
    this.#supervisor.stdin?.end();
    if (this.#supervisor.exitCode === null) await once(this.#supervisor, 'exit');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #makeImage(): Promise<void> {
    const root = join(this.folder, 'root');
    mkdirSync(join(root, 'bin'), { recursive: true });
    mkdirSync(join(root, 'tmp'));
    const busybox = execFileSync('which', ['busybox'], { encoding: 'utf8' }).trim();
    execFileSync('cp', [busybox, join(root, 'bin')]);
    const names = execFileSync('busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
    for (const name of names.filter((one) => one !== 'busybox')) {
      symlinkSync('busybox', join(root, 'bin', name));
    }
    execFileSync('tar', ['-C', root, '-cf', join(this.folder, 'root.tar'), '.']);
    await this.docker('import', join(this.folder, 'root.tar'), this.image);
    await this.docker('push', '--quiet', this.image);
    await this.docker('rmi', this.image);
  }
}

function registryConfig(folder: string): string {
  const config = {
    version: 0.1,
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, 'registry') } },
    http: { net: 'unix', addr: join(folder, 'registry.sock') },
  };
  // JSON is YAML.
  return JSON.stringify(config);
}

async function readPids(supervisor: ChildProcess, folder: string): Promise<string[]> {
  const { stdout, stderr } = supervisor;
  if (stdout === null || stderr === null) throw new Error('the engine was started without pipes');
  let errors = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-2000);
  });
  for await (const line of createInterface({ input: stdout })) {
    if (line.startsWith('ready ')) return line.split(' ').slice(1);
  }
  const log = spawnSync('tail', ['-n', '3', join(folder, 'dockerd.log')], { encoding: 'utf8' });
  rmSync(folder, { recursive: true, force: true });
  throw new Error(`the engine did not start: ${errors.trim()} ${log.stdout.trim()}`);
}
