// One machine for a test: a folder with stub programs on the path, a fake Google, and the real scripts
// in real bash. Everything that it starts ends with it.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GuestSettings } from '#shared/plan/guest-settings.ts';
import { claimObject, logObject, markerObject } from '#shared/plan/objects.ts';
import { buildShutdownScript, buildStartupScript } from '#shared/plan/startup-script.ts';
import { FakeGoogle } from '#test/guest/fake-google.ts';
import { INSTANCE, type IntentChoices, makeIntent } from '#test/guest/intent.ts';
import { unpackScript } from '#test/guest/unpack.ts';

const SMALL: Partial<GuestSettings> = {
  connectSeconds: 5,
  callSeconds: 10,
  backoffMs: 10,
  backoffMaxMs: 40,
  selfDeleteDelaySeconds: 0,
  stopGraceSeconds: 2,
  interruptGraceSeconds: 1,
  workDir: 'work',
  runDir: 'run',
  workUnit: '',
  memoryFile: '',
  cgroupDir: 'cgroup',
  bootIdFile: 'boot-id',
  uptimeFile: '',
};

/** When the test process is killed its end of the pipe closes, and the whole group ends with it. */
const WITH_GUARD =
  'exec 3<&0; { read -r <&3; kill -KILL 0; } >/dev/null 2>&1 & exec "$0" </dev/null 3<&-';

export interface MachineChoices extends IntentChoices {
  /** What the container does, in bash; the folder WORK is the machine's work folder. */
  readonly container?: string;
  readonly threads?: number | null;
  readonly gpuCount?: number;
  readonly localSsdCount?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** A marker as JSON.parse gives it. */
export type MarkerFields = Record<string, unknown> & {
  readonly status: string;
  readonly detail: string;
};

export class GuestMachine implements AsyncDisposable {
  readonly google: FakeGoogle;
  readonly folder = mkdtempSync(join(tmpdir(), 'mayfly-guest-'));
  readonly stub = join(this.folder, 'stub');
  readonly work = join(this.folder, 'work');
  /** What is small and private. */
  readonly small = join(this.folder, 'run');
  readonly marker: string;
  readonly claim: string;
  readonly log: string;
  readonly #choices: MachineChoices;
  readonly #started: ChildProcess[] = [];

  private constructor(google: FakeGoogle, choices: MachineChoices) {
    this.google = google;
    this.#choices = choices;
    const { runId } = makeIntent(choices).plan.request;
    const attempt = choices.attempt ?? 1;
    this.marker = `b1/${markerObject(INSTANCE)}`;
    this.claim = `b1/${claimObject(runId, attempt)}`;
    this.log = `b1/${logObject(runId, attempt)}`;
    mkdirSync(join(this.stub, 'bin'), { recursive: true });
    mkdirSync(join(this.stub, 'calls'));
    this.install('docker', join(import.meta.dirname, 'stub-docker.sh'));
    this.install('systemctl', join(import.meta.dirname, 'stub-systemctl.sh'));
    this.installText('iptables', `printf '%s\\n' "$*" >>"$STUB/iptables"`);
    this.plan('container.sh', choices.container ?? 'echo done');
    this.setBootId('boot-one');
  }

  static async create(choices: MachineChoices = {}): Promise<GuestMachine> {
    const machine = new GuestMachine(await FakeGoogle.start(), choices);
    const provisioning = { status: 'PROVISIONING', exit_code: null, instance: INSTANCE };
    machine.google.put(machine.marker, JSON.stringify(provisioning));
    return machine;
  }

  install(program: string, source: string): void {
    copyFileSync(source, join(this.stub, 'bin', program));
    chmodSync(join(this.stub, 'bin', program), 0o755);
  }

  /** A program on the path that records nothing and does what its text says. */
  installText(program: string, text: string): void {
    writeFileSync(join(this.stub, 'bin', program), `#!/bin/bash\n${text}\n`, { mode: 0o755 });
  }

  /** A file of the stubs' plan (stub-docker.sh). */
  plan(name: string, text: string): void {
    writeFileSync(join(this.stub, name), text);
  }

  setBootId(bootId: string): void {
    writeFileSync(join(this.folder, 'boot-id'), `${bootId}\n`);
  }

  /** For machines whose `uptimeFile` is `uptime`. */
  setUptime(text: string): void {
    writeFileSync(join(this.folder, 'uptime'), `${text}\n`);
  }

  /** A planned script, not packed: tests take guards out of it. */
  script(kind: 'startup' | 'shutdown' = 'startup'): string {
    const { google } = this;
    const url = `http://${google.host}`;
    const intent = makeIntent({
      ...this.#choices,
      settings: {
        endpoints: { storage: url, compute: url, logging: url, secretManager: url },
        ...this.#choices.settings,
      },
      guest: { ...SMALL, ...this.#choices.guest },
    });
    const facts = {
      instanceName: INSTANCE,
      threads: this.#choices.threads ?? null,
      gpuCount: this.#choices.gpuCount ?? 0,
      localSsdCount: this.#choices.localSsdCount ?? 0,
    };
    const build = kind === 'startup' ? buildStartupScript : buildShutdownScript;
    return unpackScript(build(intent, facts));
  }

  /** Starts a script as the startup-script runner does: a file, run by bash. */
  start(kind: 'startup' | 'shutdown' = 'startup', text = this.script(kind)) {
    const file = join(this.folder, `${kind}-script`);
    writeFileSync(file, text, { mode: 0o755 });
    const child = spawn('bash', ['-c', WITH_GUARD, file], {
      cwd: this.folder,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: `${join(this.stub, 'bin')}:${process.env.PATH}`,
        HOME: '/nowhere',
        STUB: this.stub,
        WORK: this.work,
        RUN: this.small,
        GCE_METADATA_HOST: this.google.host,
        ...this.#choices.env,
      },
    });
    this.#started.push(child);
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    const { promise, resolve } = Promise.withResolvers<number | null>();
    child.once('exit', (code) => resolve(code));
    return { child, exit: promise, output: () => Buffer.concat(output) };
  }

  /** Runs a script to its end. */
  async run(kind: 'startup' | 'shutdown' = 'startup', text?: string) {
    const started = this.start(kind, text);
    const code = await started.exit;
    return { code, output: started.output() };
  }

  /** Waits until something holds; the test's own time limit ends a wait that is in vain. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      setTimeout(resolve, 10);
      await promise;
    }
  }

  /** The container has said that it runs (a file `running`), and the script waits for its end. */
  untilContainerRuns(): Promise<void> {
    return this.until(
      () => existsSync(join(this.stub, 'running')) && this.dockerCalls('wait').length > 0,
    );
  }

  /** Every marker that was written, oldest first, without the control plane's. */
  markers(): MarkerFields[] {
    return this.google.written
      .filter(({ name }) => name === this.marker)
      .map(({ bytes }) => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
      .filter((marker) => marker.status !== 'PROVISIONING');
  }

  lastMarker(): MarkerFields {
    const marker = this.markers().at(-1);
    if (marker === undefined) throw new Error(`no marker was written; ${this.steps()}`);
    return marker;
  }

  /** The script's own log. */
  steps(): string {
    const file = join(this.small, 'steps.log');
    return existsSync(file) ? readFileSync(file, 'utf8') : 'no step log';
  }

  /** The argument lists of docker's calls in order, of one command if named. */
  dockerCalls(command?: string): string[][] {
    return readdirSync(join(this.stub, 'calls'))
      .sort()
      .map((name) =>
        readFileSync(join(this.stub, 'calls', name), 'utf8')
          .split('\0')
          .slice(0, -1),
      )
      .filter(([first]) => command === undefined || first === command);
  }

  readBytes(name: string): Buffer {
    return readFileSync(join(this.stub, name));
  }

  read(name: string): string {
    return readFileSync(join(this.stub, name), 'utf8').trim();
  }

  deletes() {
    return this.google.requestsAt('DELETE /compute/v1/');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { pid } of this.#started) {
      try {
        if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      } catch {
        // The whole group has ended by itself.
      }
    }
    await this.google[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
