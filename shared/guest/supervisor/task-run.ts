// One task of an attempt, from its claim to its last word: package, inputs, checkpoint, the command within
// its limits, outputs, report. Whatever happens in between ends in exactly one report.

import { Checkpoints } from '#shared/guest/supervisor/checkpoints.ts';
import { CommandFault } from '#shared/guest/supervisor/command.ts';
import { commandEnvironment, commandFolder } from '#shared/guest/supervisor/command-environment.ts';
import { EventPrinter } from '#shared/guest/supervisor/events.ts';
import { bringInputs, bringPackage, sendOutputs } from '#shared/guest/supervisor/files.ts';
import { countGpus, memoryKills, peakMemory } from '#shared/guest/supervisor/hardware.ts';
import { type LimitedEnd, runWithinLimits } from '#shared/guest/supervisor/limits.ts';
import type { OutputRelay } from '#shared/guest/supervisor/lines.ts';
import { markerText, sendMarker, type TaskEnd } from '#shared/guest/supervisor/marker-report.ts';
import { ProgressLines } from '#shared/guest/supervisor/progress-lines.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import type { TaskEnvironment } from '#shared/guest/supervisor/task-environment.ts';
import { StepFailure, type TransferLimits } from '#shared/guest/supervisor/transfer.ts';
import type { Step } from '#shared/lifecycle/marker.ts';
import { type Bootstrap, EXIT_FLUSHED } from '#shared/plan/bootstrap.ts';

/** Kept of the attempt's time for its report. */
const REPORT_MS = 60_000;
const EXIT_STEP_FAILED = 1;

export class TaskRun {
  readonly #deps: SupervisorDeps;
  readonly #task: TaskEnvironment;
  readonly #bootstrap: Bootstrap;
  readonly #relay: OutputRelay;
  readonly #events: EventPrinter;
  readonly #checkpoints: Checkpoints;
  readonly #bootMs: number;
  /** Aborted some time after the platform's TERM: what is left of it is the report's. */
  readonly #wrapUp = new AbortController();
  /** Aborted when the platform's kill is near. */
  readonly #lastCall = new AbortController();
  /** Aborted when all is said. */
  readonly #over = new AbortController();
  #step: Step = 'package';
  #startMs: number | null = null;

  constructor(
    deps: SupervisorDeps,
    work: { readonly task: TaskEnvironment; readonly bootstrap: Bootstrap },
    relay: OutputRelay,
  ) {
    this.#deps = deps;
    this.#task = work.task;
    this.#bootstrap = work.bootstrap;
    this.#relay = relay;
    this.#bootMs = deps.clock.nowMs();
    const print = (line: string) => relay.print(line);
    this.#events = new EventPrinter(work.bootstrap, work.task.task, deps.clock.nowMs, print);
    this.#checkpoints = new Checkpoints(deps, work.bootstrap, work.task.task);
  }

  /** The code to exit with. */
  async run(): Promise<number> {
    const { terminated } = this.#deps;
    const { execution, region } = this.#task;
    this.#events.print('claimed', { execution, region });
    void this.#beat();
    if (terminated.aborted) void this.#hurry();
    else terminated.addEventListener('abort', () => void this.#hurry(), { once: true });
    try {
      const { end, code, flush } = await this.#work();
      // The report does not wait for the checkpoint: time may be too short for both.
      await Promise.all([this.#report(end), flush ? this.#flush() : null]);
      const { status, cause, step, exitCode } = end;
      this.#events.print('ended', { status, cause, step, exitCode });
      return code;
    } finally {
      this.#over.abort();
    }
  }

  async #beat(): Promise<void> {
    const { clock, periods } = this.#deps;
    for (;;) {
      await clock.sleep(periods.heartbeatMs, this.#over.signal);
      if (this.#over.signal.aborted) return;
      this.#events.print('heartbeat');
    }
  }

  async #hurry(): Promise<void> {
    const { clock, periods } = this.#deps;
    await clock.sleep(periods.flushMs - periods.reportMs, this.#over.signal);
    this.#wrapUp.abort();
    await clock.sleep(periods.reportMs, this.#over.signal);
    this.#lastCall.abort();
  }

  async #work(): Promise<{ end: TaskEnd; code: number; flush: boolean }> {
    try {
      await this.#prepare();
      const end = await this.#command();
      if (end.stopped !== null) return this.#stopped(end.stopped, 'the command was told to stop');
      if (end.code !== 0) return { end: await this.#failed(end), code: end.code, flush: false };
      return { end: await this.#succeeded(), code: 0, flush: false };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (this.#deps.terminated.aborted) return this.#stopped('interrupted', message);
      const known = error instanceof StepFailure || error instanceof CommandFault;
      if (!known) this.#warn('ERROR', `step ${this.#step}: ${message}`);
      const permanent = error instanceof StepFailure ? error.permanent : known;
      const facts = { status: 'FAILED', cause: 'step-failed', exitCode: null, permanent } as const;
      const end = { ...facts, step: this.#step, detail: message, outputs: [] };
      return { end, code: EXIT_STEP_FAILED, flush: false };
    }
  }

  async #prepare(): Promise<void> {
    const untilMs = Date.parse(this.#bootstrap.deadline) - REPORT_MS;
    const limits = { untilMs, stop: this.#deps.terminated };
    await bringPackage(this.#deps, this.#bootstrap, limits);
    this.#step = 'inputs';
    await bringInputs(this.#deps, this.#bootstrap, limits);
    const files = await this.#checkpoints.restore(limits);
    if (files > 0) this.#events.print('restored', { files });
    this.#step = 'start';
    if (this.#deps.terminated.aborted)
      throw new StepFailure('stopped before the command began', false);
  }

  async #command(): Promise<LimitedEnd & { readonly kills: number | null }> {
    const { spawn, cgroupDir, clock, root } = this.#deps;
    const { command, args, workingDir, timeoutSeconds } = this.#bootstrap;
    const [name, ...rest] = [...command, ...args];
    if (name === undefined) throw new CommandFault('there is no command');
    const progress = new ProgressLines(this.#deps, (data) => this.#events.print('progress', data));
    const [stdout, stderr] = [this.#relay.cutter('stdout'), this.#relay.cutter('stderr')];
    const before = await memoryKills(cgroupDir);
    const running = await spawn(
      {
        command: [name, ...rest],
        env: commandEnvironment(this.#deps, this.#task, this.#bootstrap),
        workingDir: commandFolder(root, workingDir),
      },
      {
        stdout: (bytes) => stdout.take(bytes),
        stderr: (bytes) => stderr.take(bytes),
        progress: (bytes) => progress.take(bytes),
      },
    );
    this.#step = 'run';
    this.#startMs = clock.nowMs();
    this.#events.print('running');
    const ended = new AbortController();
    void this.#saveRegularly(ended.signal);
    const end = await runWithinLimits(this.#deps, running, timeoutSeconds, (reason) =>
      this.#events.print('stopping', { reason }),
    );
    ended.abort();
    for (const stream of [progress, stdout, stderr]) stream.end();
    const after = await memoryKills(cgroupDir);
    return { ...end, kills: after === null ? null : after - (before ?? 0) };
  }

  async #saveRegularly(ended: AbortSignal): Promise<void> {
    if (this.#bootstrap.checkpoints.length === 0) return;
    const { clock, periods } = this.#deps;
    for (;;) {
      await clock.sleep(periods.checkpointMs, ended);
      if (ended.aborted) return;
      const untilMs = Date.parse(this.#bootstrap.deadline) - REPORT_MS;
      await this.#save({ untilMs, stop: ended });
    }
  }

  async #save(limits: TransferLimits): Promise<void> {
    try {
      const files = await this.#checkpoints.save(limits);
      if (files > 0) this.#events.print('checkpoint', { files });
    } catch (error) {
      this.#warn('WARNING', `checkpoint: ${(error as Error).message}`);
    }
  }

  #flush(): Promise<void> {
    const untilMs = this.#deps.clock.nowMs() + this.#deps.periods.timeoutFlushMs;
    return this.#save({ untilMs, stop: this.#lastCall.signal });
  }

  #stopped(cause: 'timeout' | 'interrupted', reason: string) {
    const detail = this.#relay.tail.text() || reason;
    const facts = { status: 'FAILED', cause, exitCode: null, outputs: [] } as const;
    const flush = this.#startMs !== null;
    return { end: { ...facts, step: this.#step, detail }, code: EXIT_FLUSHED, flush };
  }

  async #failed(end: LimitedEnd & { readonly kills: number | null }): Promise<TaskEnd> {
    // Nobody but the kernel sends KILL here, and it may not show its count.
    const killed = end.kills === null ? end.code === 137 : end.kills > 0;
    return {
      status: 'FAILED',
      cause: killed ? 'out-of-memory' : 'exit',
      step: this.#step,
      exitCode: end.code,
      detail: this.#relay.tail.text(),
      outputs: [],
    };
  }

  /** Finished work is not given up for a service that is down: until the attempt's end. */
  async #succeeded(): Promise<TaskEnd> {
    this.#step = 'outputs';
    const untilMs = Date.parse(this.#bootstrap.deadline) - REPORT_MS;
    const limits = { untilMs, stop: this.#wrapUp.signal };
    const outputs = await sendOutputs(this.#deps, this.#bootstrap, this.#task.task, limits);
    this.#step = 'report';
    const detail = this.#relay.tail.text();
    return { status: 'SUCCEEDED', cause: 'exit', step: 'report', exitCode: 0, detail, outputs };
  }

  async #report(end: TaskEnd): Promise<void> {
    const { clock, cgroupDir, periods } = this.#deps;
    const text = markerText(this.#task, this.#bootstrap, end, {
      bootMs: this.#bootMs,
      startMs: this.#startMs,
      endMs: clock.nowMs(),
      peakMemoryBytes: await peakMemory(cgroupDir),
      gpuCount: await countGpus(),
    });
    const { deadline } = this.#bootstrap;
    const untilMs =
      end.cause === 'timeout' ? clock.nowMs() + periods.timeoutFlushMs : Date.parse(deadline);
    const limits = { untilMs, stop: this.#lastCall.signal };
    try {
      const first = await sendMarker(this.#deps, this.#task, this.#bootstrap, text, limits);
      if (!first)
        this.#warn('WARNING', 'the attempt has ended already: this report does not count');
    } catch (error) {
      this.#warn('ERROR', `the report was not sent: ${(error as Error).message}`);
    }
  }

  #warn(severity: 'WARNING' | 'ERROR', message: string): void {
    this.#relay.print(`${JSON.stringify({ severity, message })}\n`);
  }
}
