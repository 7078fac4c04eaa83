// One run on a really booted machine: the planned scripts in its metadata, a fake Google that keeps what
// they say, and the platform's answer to the machine's own delete, which is to switch it off.
import { onTestFailed, onTestFinished } from 'vitest';
import type { GuestSettings } from '#shared/plan/guest-settings.ts';
import { claimObject, logObject, markerObject } from '#shared/plan/objects.ts';
import { buildShutdownScript, buildStartupScript } from '#shared/plan/startup-script.ts';
import type { Hardware, MakeHardware } from '#test/guest/boot/hardware.ts';
import { FRONT_ENDPOINTS, FRONT_IMAGE, MachineFront } from '#test/guest/boot/machine-front.ts';
import { FakeGoogle } from '#test/guest/fake-google.ts';
import type { MarkerFields } from '#test/guest/guest-machine.ts';
import { INSTANCE, makeIntent, REQUEST } from '#test/guest/intent.ts';

/** On the machine's disk: one line for each start of the container. */
const STARTS_FILE = '/var/lib/mayfly/scratch/starts';
const NOTE_START = 'echo start >>/mayfly/scratch/starts; sync; echo up; ';
const MARKER = `b1/${markerObject(INSTANCE)}`;
const JOURNAL_CHARACTERS = 20_000;

export interface BootChoices {
  /** What the container does, for a small sh; it has said `up` before. */
  readonly container: string;
  readonly guest?: Partial<GuestSettings>;
}

export class BootedRun implements AsyncDisposable {
  readonly google: FakeGoogle;
  readonly front: MachineFront;
  readonly hardware: Hardware;
  #disposed = false;
  #journal = '';

  private constructor(google: FakeGoogle, front: MachineFront, hardware: Hardware) {
    this.google = google;
    this.front = front;
    this.hardware = hardware;
  }

  /** Makes the machine and everything that it talks to; it is off. */
  static async open(choices: BootChoices, makeHardware: MakeHardware): Promise<BootedRun> {
    const intent = makeIntent({
      request: { image: FRONT_IMAGE, command: ['sh', '-c', NOTE_START + choices.container] },
      settings: { endpoints: FRONT_ENDPOINTS },
      // The log is how a test learns that the container runs; the rest is as in production.
      guest: { heartbeatSeconds: 1, selfDeleteDelaySeconds: 1, ...choices.guest },
    });
    const facts = { instanceName: INSTANCE, threads: null, gpuCount: 0, localSsdCount: 0 };
    const google = await FakeGoogle.start();
    google.put(MARKER, JSON.stringify({ status: 'PROVISIONING', instance: INSTANCE }));
    const front = await MachineFront.start(google, {
      'startup-script': buildStartupScript(intent, facts),
      'shutdown-script': buildShutdownScript(intent, facts),
    });
    const run = new BootedRun(google, front, await makeHardware());
    front.whenDeleted = () => run.hardware.pressPowerButton();
    // Also for a test that runs out of time, and so never leaves its block.
    onTestFinished(() => run[Symbol.asyncDispose]());
    onTestFailed(() => run.#tell());
    return run;
  }

  boot(): Promise<void> {
    return this.hardware.boot(this.front);
  }

  /** Waits until something holds; the test's own time limit ends a wait that is in vain. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      setTimeout(resolve, 20);
      await promise;
    }
  }

  /** The container runs, and its output has come through. */
  untilContainerRuns(): Promise<void> {
    return this.until(() => this.log()?.includes('up\n') ?? false);
  }

  /** The log object, once there is one. */
  log(): Buffer | undefined {
    return this.google.objects.get(`b1/${logObject(REQUEST.runId, 1)}`)?.bytes;
  }

  /** Every marker that the machine has written, oldest first. */
  markers(): MarkerFields[] {
    return this.google.written
      .filter(({ name }) => name === MARKER)
      .slice(1)
      .map(({ bytes }) => JSON.parse(bytes.toString()));
  }

  claim(): Record<string, unknown> {
    const stored = this.google.objects.get(`b1/${claimObject(REQUEST.runId, 1)}`);
    return JSON.parse(stored?.bytes.toString() ?? 'null');
  }

  /** What the machine has told and asked the platform, in order: `claim`, a marker's status, `delete`. */
  story(): string[] {
    const story: string[] = [];
    for (const { method, target, status, body } of this.google.requests) {
      if (status !== 200) continue;
      if (method === 'DELETE') story.push('delete');
      if (method !== 'POST') continue;
      if (target.includes('claim.json')) story.push('claim');
      if (target.includes('gce-status')) story.push(JSON.parse(body.toString()).status);
    }
    return story;
  }

  /** Whether docker was stopped only after the report had been taken; the machine is off. */
  dockerOutlivedReport(): boolean {
    const journal = this.hardware.journal();
    const report = journal.indexOf('report: accepted');
    return report >= 0 && report < journal.indexOf('Stopping docker.service');
  }

  /** How often the container was started, over all boots; the machine is off. */
  containerStarts(): number {
    return this.hardware.readFile(STARTS_FILE).split('\n').length - 1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await this.hardware.cutPower();
    this.#journal = this.hardware.journal();
    await this.hardware[Symbol.asyncDispose]();
    await this.front[Symbol.asyncDispose]();
    await this.google[Symbol.asyncDispose]();
  }

  /** What a failed test needs to be understood; the machine is gone by now. */
  #tell(): void {
    console.error(this.#journal.slice(-JOURNAL_CHARACTERS));
    for (const { method, target, status } of this.google.requests.slice(-30)) {
      console.error(status, method, target);
    }
    console.error(this.markers());
  }
}
