// The containers of one machine as folders of its disk: `containers/<id>/{config,state}.json`, `root/`,
// `log/`, and `names/<name>` that holds the id. Only the container's supervisor writes state.json.
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';
import { signalProcess } from '#scripts/local-cloud/sandbox/processes.ts';

/** What a container was created with; never changes. */
export interface ContainerConfig {
  /** 64 hexadecimal digits. */
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly imageDigest: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly stopSignal: string;
  readonly stopTimeoutSeconds: number;
  readonly createdAt: string;
}

export interface ContainerState {
  readonly status: 'created' | 'running' | 'exited';
  /** The main process, or 0. */
  readonly pid: number;
  /** The process that keeps this file. */
  readonly supervisorPid: number;
  /** The boot of the machine in which it was started: process ids of an older boot mean nothing. */
  readonly bootId: string;
  readonly exitCode: number;
  /** Why it could not be started, or empty. */
  readonly error: string;
  readonly startedAt: string;
  readonly finishedAt: string;
}

export interface Container {
  readonly folder: string;
  readonly config: ContainerConfig;
  readonly state: ContainerState;
}

/** What dockerd reports for a container that was running when the machine or the engine went down. */
const LOST_EXIT_CODE = 255;
const NEVER = '0001-01-01T00:00:00Z';

export const containerRoot = (folder: string) => join(folder, 'root');
/** The roots of all containers of a machine's docker folder. */
export const containerRoots = (stateFolder: string): string[] =>
  existsSync(join(stateFolder, 'containers'))
    ? readdirSync(join(stateFolder, 'containers')).map((id) =>
        containerRoot(join(stateFolder, 'containers', id)),
      )
    : [];
export const containerLog = (folder: string) => join(folder, 'log');

export class ContainerStore {
  readonly #folder: string;
  readonly #bootId: string;

  /** `folder`: the machine's docker folder. `bootId`: changes with every boot of the machine. */
  constructor(folder: string, bootId: string) {
    this.#folder = folder;
    this.#bootId = bootId;
    mkdirSync(join(folder, 'containers'), { recursive: true });
    mkdirSync(join(folder, 'names'), { recursive: true });
  }

  /** Takes the name and writes the configuration. Throws a DockerError (125) when the name is taken. */
  create(fields: Omit<ContainerConfig, 'id' | 'name' | 'createdAt'>, name: string | null) {
    const id = createHash('sha256').update(randomBytes(32)).digest('hex');
    const config = {
      ...fields,
      id,
      name: name ?? `sandbox_${id.slice(0, 8)}`,
      createdAt: new Date().toISOString(),
    };
    this.#takeName(config.name, id);
    const folder = join(this.#folder, 'containers', id);
    mkdirSync(containerRoot(folder), { recursive: true });
    mkdirSync(containerLog(folder));
    const state = emptyState(this.#bootId);
    writeState(folder, state);
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    return { folder, config, state };
  }

  /** By name, id, or the beginning of an id; null when there is none. */
  find(nameOrId: string): Container | null {
    const byName = join(this.#folder, 'names', nameOrId);
    if (isName(nameOrId) && existsSync(byName)) return this.#read(readFileSync(byName, 'utf8'));
    if (!/^[0-9a-f]{4,64}$/.test(nameOrId)) return null;
    const [id, ...others] = this.#ids().filter((candidate) => candidate.startsWith(nameOrId));
    return id === undefined || others.length > 0 ? null : this.#read(id);
  }

  /** All containers, newest first. */
  list(): Container[] {
    return this.#ids()
      .flatMap((id) => this.#read(id) ?? [])
      .sort((a, b) => b.config.createdAt.localeCompare(a.config.createdAt));
  }

  remove(container: Container): void {
    rmSync(container.folder, { recursive: true, force: true });
    rmSync(join(this.#folder, 'names', container.config.name), { force: true });
  }

  #ids(): string[] {
    return readdirSync(join(this.#folder, 'containers'));
  }

  #takeName(name: string, id: string): void {
    if (!isName(name)) {
      throw new DockerError(
        `Error response from daemon: Invalid container name (${name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed`,
        125,
      );
    }
    const file = join(this.#folder, 'names', name);
    try {
      writeFileSync(file, id, { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new DockerError(
        `Error response from daemon: Conflict. The container name "/${name}" is already in use by container "${readFileSync(file, 'utf8')}". You have to remove (or rename) that container to be able to reuse that name.`,
        125,
      );
    }
  }

  #read(id: string): Container | null {
    const folder = join(this.#folder, 'containers', id);
    // Created by another docker call that has not finished yet, or just removed.
    if (!existsSync(join(folder, 'config.json'))) return null;
    const config: ContainerConfig = readJson(join(folder, 'config.json'));
    const state: ContainerState = readJson(join(folder, 'state.json'));
    const lost =
      state.status === 'running' &&
      !(state.bootId === this.#bootId && signalProcess(state.supervisorPid, 0));
    if (!lost) return { folder, config, state };
    const exited = { status: 'exited', pid: 0, exitCode: LOST_EXIT_CODE } as const;
    return { folder, config, state: { ...state, ...exited } };
  }
}

/** Replaces state.json in one step, so that a reader never sees half of it. */
export function writeState(folder: string, state: ContainerState): void {
  const temporary = join(folder, `state.${process.pid}.tmp`);
  writeFileSync(temporary, JSON.stringify(state));
  renameSync(temporary, join(folder, 'state.json'));
}

export function emptyState(bootId: string): ContainerState {
  const times = { startedAt: NEVER, finishedAt: NEVER };
  return { status: 'created', pid: 0, supervisorPid: 0, bootId, exitCode: 0, error: '', ...times };
}

// At least two characters, as dockerd demands.
function isName(text: string): boolean {
  return /^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/.test(text);
}

function readJson(path: string) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
