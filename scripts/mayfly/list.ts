// `mayfly list`: active runs, and those that ended lately; or the messages that never became a run.
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { type Cloud, openCloud } from '#scripts/mayfly/cloud.ts';
import { newestEnded } from '#scripts/mayfly/ended-runs.ts';
import { EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import { loadRecord, loadResult } from '#scripts/mayfly/follow.ts';
import { type DeadEntry, listDead } from '#scripts/mayfly/list/dead.ts';
import { newestObjects } from '#scripts/mayfly/list/newest-objects.ts';
import { tryRead } from '#scripts/mayfly/list/try-read.ts';
import { elapsed } from '#scripts/mayfly/progress.ts';
import { parseSince, SINCE_HELP } from '#scripts/mayfly/since.ts';
import { requireTarget } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { oneLine } from '#scripts/mayfly/visible.ts';
import { ACTIVE_PREFIX, resultObject } from '#shared/plan/objects.ts';
import { mapBounded } from '#shared/runs/jobs/map-bounded.ts';

const SINCE_DEFAULT = '24h';
const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 1000;

export const listVerb: Verb = {
  name: 'list',
  operands: '',
  operandsMin: 0,
  operandsMax: 0,
  takesRest: false,
  summary: 'lists active runs and those that ended lately, newest first',
  details: [
    'Reads the names of active runs and the index of ended ones, and only as far back as is shown. A refused',
    'request never was a run: --dead shows those. With --json: { since, active: [{ runId, state, attempt,',
    'acceptedAt, place, unreadable }], ended: [{ runId, endedAt, status, cause, seconds, costUsd,',
    'unreadable }], more }; with --dead: { since, dead: [{ kind, at, runId, messageId, reason, object }],',
    'more }. more: there is more than the limit shows; unreadable: why an object tells nothing, else null.',
  ],
  flags: {
    since: {
      value: 'TIME',
      help: `${SINCE_HELP} (default: ${SINCE_DEFAULT})`,
    },
    dead: { help: 'refused requests and dead letters, with the reason' },
    limit: { value: 'N', help: `of each kind at most (default: ${LIMIT_DEFAULT})` },
  },
  async run(call, terminal) {
    const limit = readLimit(call.text('limit'));
    const cloud = openCloud(await requireTarget(call, terminal), terminal);
    const nowMs = cloud.clock.nowMs();
    const sinceMs = parseSince(call.text('since') ?? SINCE_DEFAULT, nowMs);
    const since = new Date(sinceMs).toISOString();
    if (call.has('dead')) {
      const { entries, more, cut } = await listDead(cloud.store, sinceMs, limit);
      const data = { since, dead: entries, more };
      tell(call, terminal, { data, lines: deadLines(entries), more, cut });
      return EXIT_DONE;
    }
    terminal.move('reading the bucket');
    const [active, ended] = await Promise.all([
      listActive(cloud, limit),
      listEnded(cloud, { sinceMs, untilMs: nowMs, limit }),
    ]);
    terminal.move(null);
    const more = active.more || ended.more;
    // The active entry of a run outlives its end until its machines are gone.
    const over = new Set(ended.runs.map(({ runId }) => runId));
    const alive = active.runs.filter(({ runId }) => !over.has(runId));
    const data = { since, active: alive, ended: ended.runs, more };
    const lines = runLines(alive, ended.runs, nowMs);
    tell(call, terminal, { data, lines, more, cut: active.cut });
    if (!call.has('json')) terminal.note('refused requests and dead letters: mayfly list --dead');
    return EXIT_DONE;
  },
};

interface Told {
  readonly data: object;
  readonly lines: readonly string[];
  readonly more: boolean;
  /** Not all names were looked at. */
  readonly cut: boolean;
}

function tell(call: Call, terminal: Terminal, { data, lines, more, cut }: Told): void {
  if (call.has('json')) {
    terminal.write(`${JSON.stringify(data)}\n`);
    return;
  }
  terminal.write(lines.map((line) => `${line}\n`).join(''));
  if (lines.length === 0) terminal.note('nothing; --since 7d looks further back');
  if (cut) terminal.note('there are too many to look at all of them: newer ones may be missing');
  else if (more) terminal.note('there is more: --limit N shows more of it');
}

function readLimit(text: string | null): number {
  if (text === null) return LIMIT_DEFAULT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw usageError(`--limit ${JSON.stringify(text)} is no number from 1 to ${LIMIT_MAX}`);
}

interface ActiveRun {
  readonly runId: string;
  /** Null: the request is stored, its record is not. */
  readonly state: string | null;
  readonly attempt: number | null;
  readonly acceptedAt: string | null;
  readonly place: string | null;
  readonly unreadable: string | null;
}

async function listActive({ store }: Cloud, limit: number) {
  const { objects, cut } = await newestObjects(store, ACTIVE_PREFIX, null);
  const runs = await mapBounded(objects.slice(0, limit), async ({ name }): Promise<ActiveRun> => {
    const runId = name.slice(ACTIVE_PREFIX.length);
    const { value: record, unreadable } = await tryRead(loadRecord(store, runId));
    if (record === null) {
      return { runId, state: null, attempt: null, acceptedAt: null, place: null, unreadable };
    }
    const last = record.attempts.at(-1);
    const candidate = last?.intents.at(-1)?.candidate;
    return {
      runId,
      state: record.state,
      attempt: last?.number ?? null,
      acceptedAt: new Date(record.acceptedMs).toISOString(),
      place: candidate ? `${candidate.machineType} ${candidate.zone ?? candidate.region}` : null,
      unreadable,
    };
  });
  return { runs, more: cut || objects.length > limit, cut };
}

interface EndedLine {
  readonly runId: string;
  readonly endedAt: string;
  /** Null, as all below: the result is gone, or cannot be read. */
  readonly status: string | null;
  readonly cause: string | null;
  readonly seconds: number | null;
  readonly costUsd: number | null;
  readonly unreadable: string | null;
}

async function listEnded(
  { store }: Cloud,
  range: { sinceMs: number; untilMs: number; limit: number },
) {
  const { runs: found, more } = await newestEnded(store, range);
  const runs = await mapBounded(found, async ({ runId, endedAt }): Promise<EndedLine> => {
    const { value: result, unreadable } = await tryRead(loadResult(store, resultObject(runId)));
    const { status = null, cause = null, costUsd = null } = result ?? {};
    const seconds = result?.seconds.total ?? null;
    return { runId, endedAt, status, cause, seconds, costUsd, unreadable };
  });
  return { runs, more };
}

function runLines(
  active: readonly ActiveRun[],
  ended: readonly EndedLine[],
  nowMs: number,
): readonly string[] {
  return [
    ...active.map(({ runId, state, attempt, acceptedAt, place, unreadable }) => {
      if (unreadable !== null) return row(['ACTIVE', '', runId, cannotRead(unreadable)]);
      const age = acceptedAt === null ? '' : `for ${elapsed(nowMs - Date.parse(acceptedAt))}`;
      const again = (attempt ?? 1) > 1 ? `attempt ${attempt}` : '';
      return row([state ?? 'ACCEPTED', age, runId, place ?? '', again]);
    }),
    ...ended.map(({ runId, endedAt, status, cause, seconds, costUsd, unreadable }) =>
      row([
        status ?? 'ENDED',
        `${endedAt.slice(0, 19)}Z`,
        runId,
        unreadable === null ? (cause ?? 'its result is gone') : cannotRead(unreadable),
        [
          ...(seconds === null ? [] : [elapsed(seconds * 1000)]),
          ...(costUsd === null ? [] : [`${costUsd.toFixed(4)} USD`]),
        ].join('  '),
      ]),
    ),
  ];
}

const deadLines = (entries: readonly DeadEntry[]) =>
  entries.map(({ kind, at, runId, messageId, reason }) =>
    row([kind, `${at.slice(0, 19)}Z`, runId ?? `message ${messageId}`, reason, '']),
  );

const cannotRead = (why: string) => `cannot be read: ${why}`;

const WIDTHS = [12, 20, 32];

const row = (cells: readonly string[]) =>
  cells
    .map((cell, index) => oneLine(cell).padEnd(WIDTHS[index] ?? 0))
    .join('  ')
    .trimEnd();
