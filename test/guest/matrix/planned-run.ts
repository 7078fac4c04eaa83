// A run whose functions are real and whose machine is a real script: submit plans and inserts in the
// world of the simulation, the very script of that insert runs in bash, and what it wrote and deleted is
// given back to the world, on whose clock finalize and the sweep then decide.
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { RunResult } from '#shared/lifecycle/result.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

export const ZONE = 'us-central1-a';
const RUN_ID = 'r1';
const BUCKET = SETTINGS.plan.bucket;
const INPUT = { object: 'runs/code/in.csv', text: '1,2\n' };
/** A tar archive without a member: two blocks of zeros. */
const PACKAGE = gzipSync(Buffer.alloc(1024));
const PACKAGE_SHA256 = createHash('sha256').update(PACKAGE).digest('hex');
const PACKAGE_OBJECT = `runs/code/app-${PACKAGE_SHA256}.tar.gz`;
export const OBJECTS = {
  ...{ package: PACKAGE_OBJECT, input: INPUT.object, output: 'outputs/result' },
};

/** Every step has something to do, and no attempt is repeated. */
const REQUEST = {
  runId: RUN_ID,
  image: 'europe-docker.pkg.dev/p/r/app:v1',
  resources: { machineType: 'e2-standard-4' },
  place: { zones: [ZONE] },
  ttlSeconds: 3600,
  package: { uri: `gs://${BUCKET}/${PACKAGE_OBJECT}` },
  inputs: { '/in/in.csv': `gs://${BUCKET}/${INPUT.object}` },
  outputs: { '/out': `gs://${BUCKET}/outputs/` },
  retry: { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0 },
};

/** The world's own guest does nothing: its place is taken by the real script. */
const NOBODY = {
  ...{ bootMs: 10_000, workMs: 0, exitCode: 0, selfDeleteMs: null },
  ...{ silentFrom: 'boot' as const, shutdown: { containerMs: 25_000, reports: false } },
};

export interface PlannedChoices {
  /** What the container does; it has to leave `$WORK/outputs/0/result`, or not to end. */
  readonly container: string;
  /** Settings of the scripts by their names there: periods that a test makes small. */
  readonly blanks?: Readonly<Record<string, string>>;
}

const SMALL_BLANKS: Readonly<Record<string, string>> = {
  ...{ WORK_DIR: 'work', RUN_DIR: 'run', WORK_UNIT: '', BOOT_ID_FILE: 'boot-id', UPTIME_FILE: '' },
  ...{ MEMORY_FILE: '', CGROUP_DIR: 'cgroup' },
  ...{ CONNECT_SECONDS: '5', CALL_SECONDS: '5', BACKOFF_MS: '10', BACKOFF_MAX_MS: '40' },
  ...{ SELF_DELETE_DELAY_SECONDS: '0', STOP_GRACE_SECONDS: '2', INTERRUPT_GRACE_SECONDS: '2' },
  ...{ SHUTDOWN_WAIT_SECONDS: '10', THREADS: '2' },
};

export class PlannedRun implements AsyncDisposable {
  readonly kernel: Kernel;
  readonly machine: GuestMachine;
  readonly instance: string;
  /** The two scripts with small periods and this machine's addresses. */
  readonly scripts: { readonly startup: string; readonly shutdown: string };
  #fed = 0;

  private constructor(kernel: Kernel, machine: GuestMachine, choices: PlannedChoices) {
    this.kernel = kernel;
    this.machine = machine;
    const body = insertBody(kernel);
    this.instance = body.name;
    const url = `http://${machine.google.host}`;
    const blanks = {
      ...SMALL_BLANKS,
      ...{ STORAGE_URL: url, COMPUTE_URL: url, LOGGING_URL: url, SECRETS_URL: url },
      ...choices.blanks,
    };
    const script = (key: string) => fill(body.metadata.get(key) ?? '', blanks);
    this.scripts = { startup: script('startup-script'), shutdown: script('shutdown-script') };
  }

  static async create(choices: PlannedChoices): Promise<PlannedRun> {
    const kernel = new Kernel({ guest: () => NOBODY });
    kernel.put(PACKAGE_OBJECT, PACKAGE);
    const generation = kernel.put(INPUT.object, INPUT.text);
    kernel.request(REQUEST);
    await kernel.run(60_000);
    const machine = await GuestMachine.create({ container: choices.container });
    const run = new PlannedRun(kernel, machine, choices);
    run.#layOut(generation);
    return run;
  }

  /** An object's name as the script's own blank has it. */
  blank(name: string): string {
    return blankOf(this.scripts.startup, name);
  }

  get markerName(): string {
    return this.blank('MARKER_OBJECT');
  }

  /** Markers that the scripts wrote, oldest first; each must be valid JSON in valid UTF-8. */
  markers(): Record<string, unknown>[] {
    return this.machine.google.written
      .filter(({ name }) => name === `${BUCKET}/${this.markerName}`)
      .slice(1)
      .map(({ bytes }) => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  }

  isClaimed(): boolean {
    return this.machine.google.objects.has(`${BUCKET}/${this.blank('CLAIM_OBJECT')}`);
  }

  /** Accepted deletes of the machine. */
  deletes(): number {
    return this.machine.deletes().filter(({ status }) => status === 200).length;
  }

  /** Starts of the container, over all boots. */
  works(): number {
    return this.machine.dockerCalls('run').length;
  }

  /** The machine starts again: what was in memory is gone, and so are the faults of before. */
  async reboot(container: string): Promise<void> {
    const { machine } = this;
    machine.setBootId('boot-two');
    rmSync(machine.small, { recursive: true, force: true });
    for (const name of ['login.sh', 'pull.sh', 'run.sh', 'system-state', 'exit', 'container-pid']) {
      rmSync(join(machine.stub, name), { force: true });
    }
    machine.google.faults.length = 0;
    machine.plan('container.sh', container);
    await machine.run('startup', this.scripts.startup);
  }

  /** Gives the world what the scripts have written since the last time, oldest first. */
  async feed(): Promise<void> {
    const { written } = this.machine.google;
    for (; this.#fed < written.length; this.#fed++) {
      const { name = '', bytes = Buffer.alloc(0) } = written[this.#fed] ?? {};
      this.kernel.put(name.slice(BUCKET.length + 1), bytes);
      await this.kernel.run(2_000);
    }
  }

  /** Sends the world what a machine that deletes itself sends. */
  async deleteMachine(): Promise<void> {
    await this.kernel.send({ method: 'DELETE', url: this.#url(''), timeoutMs: 30_000 });
  }

  async stopMachine(): Promise<void> {
    await this.kernel.send({ method: 'POST', url: this.#url('/stop'), timeoutMs: 30_000 });
  }

  preemptMachine(): void {
    const params = { zone: ZONE, name: this.instance };
    this.kernel.call({ method: 'local.compute.preempt', params });
  }

  /** Lets the world's time run far past the machine's deadline; sweeps go on. */
  async toEnd(): Promise<RunResult | null> {
    await this.kernel.run(3 * 3_600_000);
    return this.kernel.result(RUN_ID);
  }

  /** What is left of the run besides its result. */
  leftovers(): string[] {
    return [
      ...this.kernel.machines(),
      ...this.kernel.disks(),
      ...this.kernel.objects('runs/active/'),
    ];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.machine[Symbol.asyncDispose]();
  }

  #url(action: string): string {
    const place = `projects/${SETTINGS.plan.project}/zones/${ZONE}/instances/${this.instance}`;
    return `https://compute.googleapis.com/compute/v1/${place}${action}`;
  }

  /** The fake Google holds what the world holds, and the machine has the world's id and time. */
  #layOut(inputGeneration: string): void {
    const { google } = this.machine;
    google.objects.clear();
    google.written.length = 0;
    google.put(`${BUCKET}/${this.markerName}`, this.kernel.object(this.markerName) ?? '');
    this.#fed = 1;
    const stored = { contentType: 'application/octet-stream' };
    google.objects.set(`${BUCKET}/${PACKAGE_OBJECT}`, { ...stored, generation: 1, bytes: PACKAGE });
    google.objects.set(`${BUCKET}/${INPUT.object}`, {
      ...{ ...stored, generation: Number(inputGeneration), bytes: Buffer.from(INPUT.text) },
    });
    const params = { project: SETTINGS.plan.project, zone: ZONE, instance: this.instance };
    const reply = this.kernel.call({ method: 'compute.instances.get', params });
    google.metadata.set('instance/id', (reply.body as { id: string }).id);
    const epoch = Math.floor(this.kernel.clock.nowMs() / 1000);
    this.machine.installText(
      'date',
      `[[ "$*" != +%s ]] || { echo ${epoch}; exit; }; exec /usr/bin/env -i /usr/bin/date "$@"`,
    );
  }
}

function insertBody(kernel: Kernel): { name: string; metadata: Map<string, string> } {
  const body = kernel.inserts[0]?.body as
    | { name: string; metadata: { items: { key: string; value: string }[] } }
    | undefined;
  if (body === undefined) throw new Error('submit has inserted nothing');
  const items = body.metadata.items.map(({ key, value }) => [key, value] as const);
  return { name: body.name, metadata: new Map(items) };
}

function blankOf(script: string, name: string): string {
  const value = new RegExp(`^${name}='(.*)'$`, 'm').exec(script)?.[1];
  if (value === undefined) throw new Error(`the script has no ${name}`);
  return value;
}

/** Other values for the blanks that a script has; the rest of it stays as planned. */
function fill(script: string, blanks: Readonly<Record<string, string>>): string {
  let filled = script;
  for (const [name, value] of Object.entries(blanks)) {
    filled = filled.replace(new RegExp(`^${name}='.*'$`, 'm'), () => `${name}='${value}'`);
  }
  return filled;
}
