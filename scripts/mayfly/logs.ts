// `mayfly logs RUN`: a run's whole output from Cloud Logging, or the tail that its machine kept.
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { openCloud } from '#scripts/mayfly/cloud.ts';
import {
  CommandError,
  EXIT_DONE,
  EXIT_INTERRUPTED,
  EXIT_NOT_FOUND,
  usageError,
} from '#scripts/mayfly/exit-codes.ts';
import { findRejection, loadRecord, loadResult, unknownRun } from '#scripts/mayfly/follow.ts';
import { type LogEntry, openLogReader } from '#scripts/mayfly/logs/entries.ts';
import { followLog, type LogSource } from '#scripts/mayfly/logs/follow-log.ts';
import { requireRunId } from '#scripts/mayfly/run-id.ts';
import { requireTarget } from '#scripts/mayfly/target.ts';
import { logQuery } from '#shared/lifecycle/result.ts';
import { logObject, resultObject } from '#shared/plan/objects.ts';

export const logsVerb: Verb = {
  name: 'logs',
  operands: 'RUN',
  operandsMin: 1,
  operandsMax: 1,
  takesRest: false,
  summary: 'prints what a run’s container wrote',
  details: [
    'The whole output from Cloud Logging, oldest first; where the deployment keeps none there, the',
    'last part that the machine stored. Control characters are written out, as \\u001b. With --json: a line',
    'of { at, text } each.',
  ],
  flags: {
    follow: { help: 'go on until the run ends; Ctrl-C leaves the run alive' },
    attempt: { value: 'N', help: 'of that attempt (default: the last one)' },
  },
  async run(call, terminal) {
    const runId = requireRunId(call.operands[0]);
    const wanted = readAttempt(call);
    const cloud = openCloud(await requireTarget(call, terminal), terminal);
    const { store, target } = cloud;
    const { project } = target;
    const write = ({ at, text }: LogEntry) =>
      terminal.write(
        call.has('json') ? `${JSON.stringify({ at, text })}\n` : `${text.replace(/\r$/gm, '')}\n`,
      );
    let ended = false;
    const source: LogSource = {
      read: openLogReader({ project, ...cloud.api('LOGGING') }),
      async look() {
        const [record, result] = await Promise.all([
          loadRecord(store, runId),
          loadResult(store, resultObject(runId)),
        ]);
        if (record === null && result === null) {
          await refuseRejected(cloud, runId);
        }
        const number = wanted ?? record?.attempts.length ?? result?.attempts.length ?? 1;
        const attempts = record?.attempts.slice(0, number) ?? [];
        if (wanted !== null && record !== null && record.attempts.length < wanted) {
          if (result !== null || !call.has('follow')) throw noAttempt(runId, wanted);
        }
        const ownQuery = record === null ? null : logQuery({ ...record, attempts }, QUERY(project));
        const last = result !== null && (wanted === null || number === result.attempts.length);
        // Only a result says whether the whole output was kept in Cloud Logging.
        const query = result === null ? ownQuery : last ? queryOf(result.log) : ownQuery;
        ended = result !== null || (wanted !== null && wanted < (record?.attempts.length ?? 0));
        return {
          query,
          number,
          ended: result !== null,
          tail: last ? (result.log?.tail ?? null) : null,
        };
      },
      async readTail(number) {
        const reply = await store.read(logObject(runId, number));
        return reply.kind === 'absent' ? null : new TextDecoder().decode(reply.bytes);
      },
    };
    const interruption = call.has('follow')
      ? terminal.interruption()
      : new AbortController().signal;
    const shown = await followLog(source, {
      ...{ clock: cloud.clock, write, interruption, follow: call.has('follow') },
    });
    if (shown === 0) terminal.note(`${runId}: no output${ended ? '' : ' yet'}`);
    if (!interruption.aborted) return EXIT_DONE;
    terminal.note(`detached: ${runId} goes on without this command`);
    return EXIT_INTERRUPTED;
  },
};

const QUERY = (project: string) => ({ project, fullLog: 'logging' as const });

const queryOf = (log: object | null) =>
  log !== null && 'query' in log && typeof log.query === 'string' ? log.query : null;

function readAttempt(call: Call): number | null {
  const text = call.text('attempt');
  if (text === null) return null;
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw usageError(`--attempt ${JSON.stringify(text)} is no number from 1 to 99`);
}

const noAttempt = (runId: string, number: number) =>
  new CommandError(EXIT_NOT_FOUND, `${runId} has no attempt ${number}; see: mayfly show ${runId}`);

async function refuseRejected(
  { store, target }: ReturnType<typeof openCloud>,
  runId: string,
): Promise<never> {
  if ((await findRejection(store, runId)) === null) throw unknownRun(runId, target.bucket);
  throw new CommandError(
    EXIT_NOT_FOUND,
    `${runId} was rejected and has no output; see: mayfly show ${runId}`,
  );
}
