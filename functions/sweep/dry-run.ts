// A pass that changes nothing: the same code over dependencies that say yes to every write and delete
// and do none of them.
import { looksPerPass } from '#functions/sweep/looks.ts';
import type { SweepReport } from '#functions/sweep/report.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

export function dryRunDeps(deps: RunDeps, report: SweepReport): RunDeps {
  const { compute, jobs, store } = deps;
  const accepted = (zone: string, name: string, operationType: string) => ({
    kind: 'accepted' as const,
    operation: {
      name: 'dry-run',
      zone,
      operationType,
      status: 'PENDING' as const,
      targetId: null,
      targetName: name,
      user: null,
      requestId: null,
      insertMs: null,
      endMs: null,
      errors: [],
    },
  });
  return {
    ...deps,
    // What it pretends to do is not said; what it could not judge is true of any pass.
    log: (severity, event, message, fields) => {
      if (event === 'run-unknown') deps.log(severity, event, message, fields);
    },
    store: {
      read: (name, generation) => store.read(name, generation),
      list: (prefix, pageToken, range) => store.list(prefix, pageToken, range),
      write: async () => ({ kind: 'written', generation: '1' }),
      delete: async () => ({ kind: 'deleted' }),
    },
    compute: {
      ...compute,
      insertInstance: async (zone, _requestId, body) => accepted(zone, body.name, 'insert'),
      deleteInstance: async (zone, name) => accepted(zone, name, 'delete'),
      deleteDisk: async (zone, name) => accepted(zone, name, 'delete'),
    },
    jobs: { ...jobs, cancelExecution: async () => ({ kind: 'accepted' }) },
    publisher: {
      publish: async () => {
        const left = report.looks.published >= looksPerPass(deps.settings.sweepPeriodSeconds);
        report.looks[left ? 'left' : 'published'] += 1;
        return 'dry-run';
      },
    },
  };
}
