// The task's last word (contract §3): one terminal marker, uploaded once and never replaced.

import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import type { TaskEnvironment } from '#shared/guest/supervisor/task-environment.ts';
import { type TransferLimits, upload } from '#shared/guest/supervisor/transfer.ts';
import type { Cause } from '#shared/lifecycle/failures.ts';
import type { OutputObject, Step } from '#shared/lifecycle/marker.ts';
import type { Bootstrap } from '#shared/plan/bootstrap.ts';

/** Functions read the marker: of its 256 KiB so many at most are outputs, and so many are text. */
const OUTPUTS_CHARACTERS_MAX = 131_072;
const DETAIL_CHARACTERS_MAX = 98_304;

export interface TaskEnd {
  readonly status: 'SUCCEEDED' | 'FAILED';
  readonly cause: Cause;
  readonly step: Step;
  /** The command's own; null when it was stopped, or never ran. */
  readonly exitCode: number | null;
  readonly detail: string;
  /** Of `step-failed` alone. */
  readonly permanent?: boolean;
  readonly outputs: readonly OutputObject[];
}

export interface TaskTimes {
  readonly bootMs: number;
  readonly startMs: number | null;
  readonly endMs: number;
}

export interface TaskHardware {
  readonly peakMemoryBytes: number | null;
  readonly gpuCount: number | null;
}

export function markerText(
  task: TaskEnvironment,
  bootstrap: Bootstrap,
  end: TaskEnd,
  facts: TaskTimes & TaskHardware,
): string {
  const seconds = (ms: number | null) => (ms === null ? null : Math.floor(ms / 1000));
  const startEpoch = seconds(facts.startMs);
  const endEpoch = seconds(facts.endMs);
  return JSON.stringify({
    status: end.status,
    exit_code: end.exitCode,
    instance: bootstrap.instance,
    zone: bootstrap.region,
    detail: boundedText(end.detail),
    boot_epoch: seconds(facts.bootMs),
    exec_start_epoch: startEpoch,
    end_epoch: endEpoch,
    execute_s: startEpoch === null || endEpoch === null ? null : endEpoch - startEpoch,
    schema: 1,
    run_id: bootstrap.runId,
    attempt: bootstrap.attempt,
    ...(bootstrap.taskCount > 1 ? { task: task.task } : {}),
    step: end.step,
    cause: end.cause,
    ...(end.permanent === undefined ? {} : { permanent: end.permanent }),
    boot_id: task.execution,
    image_digest: null,
    peak_memory_bytes: facts.peakMemoryBytes,
    gpu_count: facts.gpuCount,
    outputs: boundedOutputs(end.outputs),
    nonce: bootstrap.nonce,
  });
}

/** The end of a text whose JSON stays within the bound, whatever has to be escaped in it. */
function boundedText(text: string): string {
  let kept = text.toWellFormed();
  while (JSON.stringify(kept).length > DETAIL_CHARACTERS_MAX) {
    kept = kept.slice(Math.ceil(kept.length / 4)).toWellFormed();
  }
  return kept;
}

function boundedOutputs(outputs: readonly OutputObject[]): readonly OutputObject[] {
  let characters = 0;
  return outputs.filter((output) => {
    characters += JSON.stringify(output).length + 1;
    return characters <= OUTPUTS_CHARACTERS_MAX;
  });
}

/** False: another word stands there already. Throws StepFailure when it could not be sent. */
export async function sendMarker(
  deps: SupervisorDeps,
  task: TaskEnvironment,
  { marker, taskCount }: Bootstrap,
  text: string,
  limits: TransferLimits,
): Promise<boolean> {
  const key = `${marker.prefix}${taskCount > 1 ? `.${task.task}` : ''}.json`;
  const content = { bytes: Buffer.from(text) };
  const reply = await upload(deps, { key, form: marker.form, content }, limits);
  return reply.kind === 'uploaded' || reply.landed;
}
