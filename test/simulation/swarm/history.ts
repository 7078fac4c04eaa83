// What has happened in a simulated world so far, as far as the laws need to know it later.
import type { RunRecord } from '#shared/lifecycle/record.ts';

export class History {
  /** The last record of each run, and every requestId that ever stood in one, with its intent. */
  readonly records = new Map<string, RunRecord>();
  readonly requestIds = new Map<string, string>();
  readonly cancelled = new Set<string>();
  readonly conflicts = new Set<string>();
  /** Instance ids: stopped once, preempted once, deleted by somebody outside. */
  stopped = new Set<string>();
  readonly preempted = new Set<string>();
  readonly deletedOutside = new Set<string>();
  /** Name and zone of a machine past its deadline label → when a delete was sent. */
  readonly lateDeleted = new Map<string, number>();
  /** Instance id → instance name, of every machine that ever was. */
  readonly machines = new Map<string, string>();
  /** Instance id → when it first ran. */
  readonly started = new Map<string, number>();
  /** `requestId` of intents that have become a machine. */
  readonly landed = new Set<string>();
  /** Instance names whose marker once said SUCCEEDED, and causes that markers ever named. */
  readonly succeeded = new Set<string>();
  readonly causes = new Map<string, Set<string>>();
  /** Runs refused a place at least once. */
  readonly refused = new Set<string>();
  /** Result objects by run: the generation of the first. */
  readonly results = new Map<string, number>();
  /** Executions, a task of which has found nothing to do. */
  readonly idle = new Set<string>();
  /** Of machines gone: how long after their deadline, in milliseconds; negative before it. */
  readonly lateness: number[] = [];
}
