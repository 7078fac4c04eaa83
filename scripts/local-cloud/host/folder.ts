// The private folder of one local machine: `disk/` is kept over a reset and is the scripts' working
// directory, `boot/` is made anew for each boot and holds the commands that come first on the PATH.
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { containerRoots } from '#scripts/local-cloud/sandbox/containers.ts';
import type { Engine } from '#scripts/local-cloud/sandbox/engine.ts';
import { SESSION_VARIABLES } from '#scripts/local-cloud/sandbox/session.ts';

/** The images that the process sandbox knows unless a host is given others. */
export const EXAMPLE_IMAGES_FOLDER = join(import.meta.dirname, '..', '..', 'examples', 'images');
export const SANDBOX_FOLDER = join(import.meta.dirname, '..', 'sandbox');
const DOCKER_PROGRAM = join(SANDBOX_FOLDER, 'docker.ts');
const POWER_COMMANDS = ['shutdown', 'poweroff', 'halt', 'reboot'];

/** In the disk folder; rewritten at each boot. Planning fills this name in for a local deployment. */
export const BOOT_ID_FILE = 'boot-id';

export interface MachinePaths {
  /** The folder of everything below; removed with the machine. */
  readonly machine: string;
  readonly disk: string;
  readonly boot: string;
  readonly commands: string;
  readonly console: string;
  readonly docker: string;
  /** There from the beginning of a power-off. */
  readonly stopping: string;
  /** Written by the machine's own `poweroff` or `reboot`: one of these two words. */
  readonly powerRequest: string;
}

export interface FolderOptions {
  readonly bootId: string;
  readonly imagesFolder: string;
  readonly engine: Engine | null;
  /** The value of the label that the machine's containers carry in a real engine. */
  readonly engineLabel: string;
  /** The host's own PATH: where bash, curl and the rest are found. */
  readonly path: string;
  /** Node's compile cache of the host itself, if it keeps one. */
  readonly compileCache?: string | undefined;
}

export function machinePaths(machine: string): MachinePaths {
  const boot = join(machine, 'boot');
  return {
    machine,
    disk: join(machine, 'disk'),
    boot,
    commands: join(boot, 'bin'),
    console: join(machine, 'console'),
    docker: join(machine, 'disk', 'docker'),
    stopping: join(boot, 'stopping'),
    powerRequest: join(boot, 'power-request'),
  };
}

/** Makes the folder ready for a boot; what the disk holds stays. Returns the environment of its scripts. */
export function layOutMachine(paths: MachinePaths, options: FolderOptions): Record<string, string> {
  rmSync(paths.boot, { recursive: true, force: true });
  for (const folder of [paths.commands, paths.console, paths.docker]) {
    mkdirSync(folder, { recursive: true });
  }
  for (const name of ['home', 'tmp']) mkdirSync(join(paths.disk, name), { recursive: true });
  writeFileSync(join(paths.disk, BOOT_ID_FILE), `${options.bootId}\n`);
  const docker = dockerVariables(paths, options);
  writeCommand(paths, 'docker', dockerWrapper(docker));
  writeCommand(paths, 'systemctl', shellCommand(paths, 'systemctl.sh'));
  for (const name of POWER_COMMANDS) writeCommand(paths, name, shellCommand(paths, 'shutdown.sh'));
  // GNU's; macOS has none.
  writeCommand(paths, 'nproc', `#!/bin/sh\necho ${availableParallelism()}\n`);
  return {
    PATH: [paths.commands, options.path].join(delimiter),
    HOME: join(paths.disk, 'home'),
    TMPDIR: join(paths.disk, 'tmp'),
    LANG: 'C.UTF-8',
    ...docker,
  };
}

/** The environment marks of the machine's containers, which see nothing else of the machine. */
export function containerMarks(paths: MachinePaths): string[] {
  return containerRoots(paths.docker).map((root) => `MAYFLY_SANDBOX_ROOT=${root}`);
}

function dockerVariables(paths: MachinePaths, options: FolderOptions): Record<string, string> {
  return {
    [SESSION_VARIABLES.stateFolder]: paths.docker,
    [SESSION_VARIABLES.bootId]: options.bootId,
    [SESSION_VARIABLES.imagesFolder]: options.imagesFolder,
    [SESSION_VARIABLES.engineClient]: options.engine?.client ?? '',
    [SESSION_VARIABLES.engineLabel]: options.engineLabel,
    // The host's own where it has one, else beside the machines: the first call of one pays for all.
    NODE_COMPILE_CACHE: options.compileCache ?? join(dirname(paths.machine), 'compile-cache'),
    ...(options.engine === null ? {} : { DOCKER_HOST: options.engine.host }),
  };
}

// The variables stand in the wrapper too: a script may start docker with an empty environment.
function dockerWrapper(variables: Readonly<Record<string, string>>): string {
  const assignments = Object.entries(variables).map(([name, value]) => `${name}=${quote(value)}`);
  const program = `${quote(process.execPath)} ${quote(DOCKER_PROGRAM)}`;
  return `#!/bin/sh\nexport ${assignments.join(' ')}\nexec ${program} "$@"\n`;
}

function shellCommand(paths: MachinePaths, file: string): string {
  const [shebang = '', ...lines] = readFileSync(join(SANDBOX_FOLDER, file), 'utf8').split('\n');
  return [shebang, `MACHINE_BOOT=${quote(paths.boot)}`, ...lines].join('\n');
}

function writeCommand(paths: MachinePaths, name: string, text: string): void {
  const file = join(paths.commands, name);
  writeFileSync(file, text);
  chmodSync(file, 0o755);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
