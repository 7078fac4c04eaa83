// The two runtimes behind one set of questions and acts, so that one driver serves both. A "machine" is
// what does an attempt's work: a VM in its zone, or an execution of Cloud Run Jobs in its region.
import type { BootReport } from '#shared/lifecycle/boot-report.ts';
import type { ExecutionEnding } from '#shared/lifecycle/execution-ending.ts';
import type { MachineEnding } from '#shared/lifecycle/failures.ts';
import type {
  InsertFact,
  MachineFact,
  OperationFact,
  Turn,
} from '#shared/lifecycle/observation.ts';
import type { Attempt, Intent, RunRecord } from '#shared/lifecycle/record.ts';
import type { Creation } from '#shared/runs/act.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

export interface Work {
  readonly record: RunRecord;
  readonly attempt: Attempt;
}

export interface Runtime {
  /** Creates what an intent orders; `first` when no call of it was made before. */
  insert(
    deps: RunDeps,
    creation: Creation,
    target: Work & { readonly intent: Intent },
    first: boolean,
  ): Promise<InsertFact>;
  /** True when there was nothing any more. */
  remove(deps: RunDeps, work: Work, zone: string): Promise<boolean>;
  read(deps: RunDeps, work: Work, zone: string): Promise<MachineFact>;
  readOperation(
    deps: RunDeps,
    work: Work,
    step: { readonly key: string; readonly zone: string; readonly operation: string },
  ): Promise<OperationFact>;
  readEnding(
    deps: RunDeps,
    work: Work,
    zone: string,
    id: string,
  ): Promise<MachineEnding | ExecutionEnding | 'unknown'>;
  readBootReport(deps: RunDeps, work: Work, zone: string): Promise<BootReport | null>;
  /** A turn among calls that are made at a bounded rate; at once where there is no such bound. */
  takeTurn(deps: RunDeps, region: string, untilMs: number): Promise<Turn>;
  /** What an ended run leaves beside its machines. */
  forget(deps: RunDeps, record: RunRecord): Promise<void>;
}
