// Makes the local cloud's machines real: each machine that has power is a group of real processes in a
// private folder, in namespaces of its own where those can be made. What a machine does itself (its own
// power-off) it tells the cloud. The calls for one machine are carried out in their order.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { MachineBoot, type PowerRequest } from '#scripts/local-cloud/host/boot.ts';
import {
  EXAMPLE_IMAGES_FOLDER,
  layOutMachine,
  type MachinePaths,
  machinePaths,
  SANDBOX_FOLDER,
} from '#scripts/local-cloud/host/folder.ts';
import type {
  HostedMachine,
  MachineHost,
  PoweredOff,
} from '#scripts/local-cloud/host/machine-host.ts';
import { whyNoNamespace } from '#scripts/local-cloud/host/namespace.ts';
import { readLog } from '#scripts/local-cloud/sandbox/bounded-log.ts';
import { type Engine, findEngine } from '#scripts/local-cloud/sandbox/engine.ts';
import { EngineContainers } from '#scripts/local-cloud/sandbox/engine-containers.ts';
import { endProcesses } from '#scripts/local-cloud/sandbox/processes.ts';

export interface ProcessHostOptions {
  /** An existing folder of this host alone; the machines' folders are made and removed in it. */
  readonly folder: string;
  /** The local cloud's port on 127.0.0.1, asked for at each boot. */
  readonly cloudPort: () => number;
  /** What went wrong behind the cloud's back (a soft-off that failed); the host goes on. */
  readonly failed: (machine: HostedMachine, error: unknown) => void;
  /** Where programs are found and how an engine is reached: the host's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `auto`, the default: own namespaces where they can be made. */
  readonly isolation?: 'auto' | 'namespace' | 'process';
  /** A real container engine; null: none. Left out: one that answers is found. */
  readonly engine?: Engine | null;
  readonly imagesFolder?: string;
  /** TERM to KILL of containers at a soft-off, as dockerd's own 10 s. */
  readonly containerGraceSeconds?: number;
  /** TERM to KILL of everything else, at its end. */
  readonly finalGraceMs?: number;
  readonly consoleLimitBytes?: number;
}

interface Place {
  machine: HostedMachine;
  readonly paths: MachinePaths;
  /** The environment entry that only this machine's processes carry. */
  readonly mark: string;
  readonly engineContainers: EngineContainers | null;
  boot: MachineBoot | null;
  /** Resolves, always, when all that was asked for this machine so far is done. */
  queue: Promise<unknown>;
}

const MACHINE_VARIABLE = 'MAYFLY_LOCAL_MACHINE';
const HOST_VARIABLE = 'MAYFLY_LOCAL_HOST';
const LABEL_NAME = 'mayfly.local-machine';
const DEFAULTS = {
  imagesFolder: EXAMPLE_IMAGES_FOLDER,
  containerGraceSeconds: 10,
  finalGraceMs: 2000,
  consoleLimitBytes: 1024 * 1024,
};

export class ProcessMachineHost implements MachineHost {
  readonly #options: ProcessHostOptions & typeof DEFAULTS;
  readonly #poweredOff: PoweredOff;
  readonly #places = new Map<string, Place>();
  readonly #softOffs = new Set<Promise<void>>();
  readonly #mark = `${HOST_VARIABLE}=${randomBytes(16).toString('hex')}`;
  readonly #lastWatch: ChildProcess;
  /** The container engine that takes what is not an example image. */
  readonly engine: Engine | null;
  /** Why machines have no namespaces of their own, or null when they have. */
  readonly whyNotIsolated: string | null;

  constructor(options: ProcessHostOptions, poweredOff: PoweredOff) {
    this.#options = { ...DEFAULTS, ...options };
    this.#poweredOff = poweredOff;
    this.engine = options.engine === undefined ? findEngine(options.env) : options.engine;
    this.whyNotIsolated = options.isolation === 'process' ? 'not wanted' : whyNoNamespace();
    if (options.isolation === 'namespace' && this.whyNotIsolated !== null) {
      throw new Error(`no namespaces for local machines: ${this.whyNotIsolated}`);
    }
    const watch = [join(SANDBOX_FOLDER, 'last-watch.ts'), this.#mark];
    const stdio = ['pipe', 'ignore', 'inherit'] as const;
    this.#lastWatch = spawn(process.execPath, watch, { stdio: [...stdio], detached: true });
    this.#lastWatch.unref();
  }

  async start(machine: HostedMachine): Promise<void> {
    const place = this.#placeOf(machine);
    await this.#enqueue(place, async () => {
      await place.boot?.cut();
      place.machine = machine;
      await this.#boot(place);
    });
  }

  async softOff(id: string): Promise<void> {
    const place = this.#places.get(id);
    if (place !== undefined) await this.#enqueue(place, async () => this.#beginSoftOff(place));
  }

  async kill(id: string): Promise<void> {
    const place = this.#places.get(id);
    if (place !== undefined) await this.#enqueue(place, () => cutPower(place));
  }

  async discard(id: string): Promise<void> {
    const place = this.#places.get(id);
    if (place === undefined) return;
    await this.#enqueue(place, async () => {
      await cutPower(place);
      await place.engineContainers?.remove();
      rmSync(place.paths.machine, { recursive: true, force: true });
      this.#places.delete(id);
    });
  }

  /** The machine's serial console: the newest part of what its scripts wrote. */
  console(id: string): string {
    const place = this.#places.get(id);
    const chunks = place === undefined ? [] : readLog(place.paths.console);
    return Buffer.concat(chunks.map(({ bytes }) => bytes)).toString('utf8');
  }

  /** The environment entry of every process of the host's machines; no other process has it. */
  get mark(): string {
    return this.#mark;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const discards = [...this.#places.keys()].map((id) => this.discard(id));
    const results = await Promise.allSettled([...discards, ...this.#softOffs]);
    await endProcesses({ marks: [this.#mark], groups: [] });
    this.#lastWatch.kill('SIGKILL');
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async #boot(place: Place): Promise<void> {
    const { machine, mark, paths } = place;
    const env = layOutMachine(paths, {
      bootId: randomUUID(),
      imagesFolder: this.#options.imagesFolder,
      engine: this.engine,
      engineLabel: engineLabel(mark),
      path: this.#options.env.PATH ?? '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
      compileCache: this.#options.env.NODE_COMPILE_CACHE,
    });
    const marks = Object.fromEntries([mark, this.#mark].map((entry) => entry.split('=')));
    place.boot = await MachineBoot.start({
      ...this.#options,
      paths,
      metadata: machine.metadata,
      metadataHost: machine.metadataHost,
      cloudPort: this.#options.cloudPort(),
      env: { ...env, ...marks },
      mark,
      isolated: this.whyNotIsolated === null,
      engineContainers: place.engineContainers,
      onPowerRequest: (request) => this.#beginSoftOff(place, request),
    });
  }

  /** Runs beside the queue: a power cut may come at any time meanwhile. */
  #beginSoftOff(place: Place, request: PowerRequest = 'poweroff'): void {
    const { boot } = place;
    if (boot === null) return;
    const running = boot
      .softOff()
      .then(async () => {
        // The cloud cut the power meanwhile, and knows.
        if (place.boot !== boot) return;
        place.boot = null;
        if (request === 'reboot') await this.start(place.machine);
        else this.#poweredOff(place.machine.id);
      })
      .catch((error: unknown) => this.#options.failed(place.machine, error))
      .finally(() => this.#softOffs.delete(running));
    this.#softOffs.add(running);
  }

  #enqueue(place: Place, work: () => Promise<void>): Promise<void> {
    const done = place.queue.then(work);
    place.queue = done.catch(() => {}); // the caller hears of it; what comes next is carried out still
    return done;
  }

  #placeOf(machine: HostedMachine): Place {
    const known = this.#places.get(machine.id);
    if (known !== undefined) return known;
    const paths = machinePaths(join(this.#options.folder, `${machine.name}-${machine.id}`));
    mkdirSync(paths.machine, { recursive: true });
    const mark = `${MACHINE_VARIABLE}=${randomBytes(16).toString('hex')}`;
    const engineContainers =
      this.engine === null ? null : new EngineContainers(this.engine, engineLabel(mark));
    const place = { machine, paths, mark, engineContainers, boot: null, queue: Promise.resolve() };
    this.#places.set(machine.id, place);
    return place;
  }
}

async function cutPower(place: Place): Promise<void> {
  await place.boot?.cut();
  place.boot = null;
}

function engineLabel(mark: string): string {
  return `${LABEL_NAME}=${mark.split('=')[1]}`;
}
