// What a machine says of its boot while nobody is known to hold its run's claim: a step that failed ends
// a person's wait at once. Read from the guest attributes, where the user may; silence and refusals mean
// nothing, and the run's own end then comes as always.

import type { Clock } from '#shared/cloud/clock.ts';
import type { Compute } from '#shared/cloud/compute.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import {
  BOOT_LINES_MAX,
  type BootReport,
  bootLines,
  failedStep,
  readBootReport,
} from '#shared/lifecycle/boot-report.ts';
import { currentAttempt, type RunRecord } from '#shared/lifecycle/record.ts';
import { claimObject } from '#shared/plan/objects.ts';

/** A machine takes ten queries a minute, and more than one person may watch. */
export const BOOT_POLL_MS = 15_000;
const LOG_CHARACTERS_MAX = 4096;

export interface BootWatchDeps {
  /** Left out: nobody is asked. */
  readonly compute?: Pick<Compute, 'getGuestAttributes'> | null;
  readonly store: Pick<ObjectStore, 'read'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export interface BootFailure {
  readonly attempt: number;
  readonly instance: string;
  readonly zone: string;
  readonly step: string;
  readonly report: BootReport;
}

export class BootWatch {
  readonly #deps: BootWatchDeps;
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: BootWatchDeps) {
    this.#deps = deps;
  }

  /** The failure of the present attempt's boot, if its machine says so and no other try follows. */
  async look(record: RunRecord): Promise<BootFailure | null> {
    const { clock, compute = null, store } = this.#deps;
    const machine = bootingMachine(record);
    const soon = clock.nowMs() - this.#askedMs < BOOT_POLL_MS;
    if (compute === null || machine === null || soon) return null;
    this.#askedMs = clock.nowMs();
    const { attempt, instance, zone } = machine;
    const report = readBootReport(await compute.getGuestAttributes(zone, instance));
    const step = report === null ? null : failedStep(report);
    if (report === null || step === null) return null;
    // Whoever holds the claim speaks by its marker, and may be tried again.
    const claim = await store.read(claimObject(record.runId, attempt));
    return claim.kind === 'absent' ? { ...machine, step, report } : null;
  }
}

/** The machine that has been ordered and has not been heard of. */
function bootingMachine(record: RunRecord) {
  const attempt = currentAttempt(record);
  if (record.state !== 'PROVISIONING' || attempt === null || attempt.claim !== null) return null;
  if (record.used.failed < record.terms.retry.failed) return null;
  const intent = attempt.intents.findLast(({ status }) => status === 'accepted');
  if (intent === undefined) return null;
  return { attempt: attempt.number, instance: attempt.instance, zone: intent.candidate.zone };
}

/** The lines that a person reads instead of the run's end. */
export function describeBootFailure(runId: string, failure: BootFailure): readonly string[] {
  const { instance, report, step, zone } = failure;
  const boot = report.bootId === '' ? '' : `, boot ${report.bootId}`;
  const log = bootLines(report, LOG_CHARACTERS_MAX);
  return [
    `${runId}: its machine could not start: step ${step} failed`,
    `  machine   ${instance} in ${zone}${boot}`,
    ...(log === '' ? [] : [`  its last ${BOOT_LINES_MAX} lines at most:`]),
    ...(log === '' ? [] : log.split('\n').map((line) => `    ${line}`)),
  ];
}
