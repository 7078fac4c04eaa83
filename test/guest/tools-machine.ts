// A boot image for tests of the tools step: a PATH that holds what is named and nothing else, a virtual
// uptime, and pieces of the guest scripts run by real bash. Everything that it starts ends with it.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { PIECES } from '#test/guest/sources.ts';

/** What every image has; of apt's, dpkg's and docker's programs only stand-ins are on the path. */
const REAL = [
  ...['bash', 'cat', 'chmod', 'cp', 'date', 'env', 'install', 'ln', 'mkdir', 'rm', 'sleep'],
  ...['tail', 'tee', 'timeout', 'touch'],
];
const REAL_PATHS = spawnSync('bash', ['-c', `type -P ${REAL.join(' ')}`], { encoding: 'utf8' })
  .stdout.trim()
  .split('\n');
const ALWAYS_STUBBED = ['apt-cache', 'apt-get', 'curl', 'dpkg', 'gpg', 'systemctl'];

export interface ToolsMachineChoices {
  /** Programs that the image has beside apt's. */
  readonly programs?: readonly string[];
  /** The script's variables, over those below. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Variables that are folders of the machine. */
  readonly folders?: Readonly<Record<string, string>>;
  /** Pieces after those that every script has. */
  readonly pieces: readonly string[];
}

export class ToolsMachine implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'mayfly-tools-'));
  readonly stub = join(this.folder, 'stub');
  readonly bin = join(this.folder, 'bin');
  readonly work = join(this.folder, 'work');
  readonly apt = join(this.folder, 'apt');
  readonly #choices: ToolsMachineChoices;
  readonly #started: ChildProcess[] = [];

  constructor(choices: ToolsMachineChoices) {
    this.#choices = choices;
    const real = join(this.folder, 'real');
    for (const folder of [real, this.bin, this.work]) mkdirSync(folder);
    for (const name of ['calls', 'environment'])
      mkdirSync(join(this.stub, name), { recursive: true });
    for (const path of REAL_PATHS) symlinkSync(path, join(real, basename(path)));
    copyFileSync(join(import.meta.dirname, 'stub-tools.sh'), join(this.stub, 'program'));
    chmodSync(join(this.stub, 'program'), 0o755);
    for (const name of [...ALWAYS_STUBBED, ...(choices.programs ?? [])]) this.install(name);
    this.plan('uptime', '5 0');
    this.plan('architecture', 'amd64');
    this.plan(
      'os-release',
      'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\n',
    );
  }

  install(program: string): void {
    symlinkSync(join(this.stub, 'program'), join(this.bin, program));
  }

  /** A file of the stand-ins' plan (stub-tools.sh). */
  plan(name: string, text: string | Uint8Array): void {
    writeFileSync(join(this.stub, name), text);
  }

  script(command: string): string {
    const { folders, pieces, variables } = this.#choices;
    const values = {
      WORK_DIR: this.work,
      RUN_DIR: this.work,
      UPTIME_FILE: join(this.stub, 'uptime'),
      MEMORY_FILE: join(this.stub, 'meminfo'),
      OS_RELEASE_FILE: join(this.stub, 'os-release'),
      APT_DIR: this.apt,
      GPU_COUNT: '1',
      IMAGE: 'host/app:1',
      WORK_END: '7000',
      TRIES: '3',
      BACKOFF_MS: '1',
      BACKOFF_MAX_MS: '2',
      DOCKER_SECONDS: '20',
      CONNECT_SECONDS: '5',
      CALL_SECONDS: '20',
      ...variables,
      ...Object.fromEntries(
        Object.entries(folders ?? {}).map(([name, path]) => [name, join(this.folder, path)]),
      ),
    };
    return [
      'set -euo pipefail',
      'exec 3>/dev/null </dev/null',
      'PERMANENT=false DOCKER_FLAGS=(--cap-drop ALL)',
      ...Object.entries(values).map(([name, value]) => `${name}='${value}'`),
      ...['calls', 'image', 'container', 'watch', ...pieces].map(
        (piece) => `source '${PIECES}/${piece}.sh'`,
      ),
      command,
    ].join('\n');
  }

  /** Starts the pieces and then a command of theirs, in a process group of its own. */
  start(command: string) {
    const file = join(this.folder, 'script');
    writeFileSync(file, `${this.script(command)}\n`);
    const child = spawn('bash', [file], {
      cwd: this.folder,
      detached: true,
      env: {
        PATH: `${this.bin}:${join(this.folder, 'real')}`,
        HOME: '/nowhere',
        STUB: this.stub,
        BIN: this.bin,
      },
    });
    this.#started.push(child);
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    const { promise, resolve } = Promise.withResolvers<number | null>();
    child.once('close', (code) => resolve(code));
    return { child, exit: promise, output: () => Buffer.concat(output).toString() };
  }

  async run(command: string) {
    const { exit, output } = this.start(command);
    return { code: await exit, output: output() };
  }

  /** Kills a script with all that it started, as a power cut does. */
  kill({ pid }: ChildProcess): void {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  }

  /** Waits until something holds; the test's own time limit ends a wait that is in vain. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      setTimeout(resolve, 10);
      await promise;
    }
  }

  /** The calls in order as program and arguments; of some programs, if named. */
  calls(...programs: string[]): string[][] {
    return readdirSync(join(this.stub, 'calls'))
      .sort()
      .map((name) =>
        readFileSync(join(this.stub, 'calls', name), 'utf8')
          .split('\0')
          .slice(0, -1),
      )
      .filter(([program = '']) => programs.length === 0 || programs.includes(program));
  }

  /** What each call of a program was told by its environment. */
  environmentOf(program: string): string[] {
    return readdirSync(join(this.stub, 'calls'))
      .sort()
      .filter((name) =>
        readFileSync(join(this.stub, 'calls', name), 'utf8').startsWith(`${program}\0`),
      )
      .map((name) => readFileSync(join(this.stub, 'environment', name), 'utf8'));
  }

  /** A file of the machine, or nothing. */
  read(path: string): string | undefined {
    const file = join(this.folder, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  [Symbol.dispose](): void {
    for (const child of this.#started) {
      try {
        this.kill(child);
      } catch {
        // The whole group has ended by itself.
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
