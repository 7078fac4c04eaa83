// `mayfly report`: what the runs of the last days have cost, and how much of that was waste (billed while
// no container ran), by label and by cause. Reads the index of ended runs, and of a run of which that tells
// nothing the result.
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { openCloud } from '#scripts/mayfly/cloud.ts';
import { type EndedRun, type Range, takeEnded } from '#scripts/mayfly/ended-runs.ts';
import { EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import {
  type CountedResult,
  count,
  emptyTally,
  type Row,
  readCounted,
  type Tally,
} from '#scripts/mayfly/report/tally.ts';
import { parseSince, SINCE_HELP } from '#scripts/mayfly/since.ts';
import { requireTarget } from '#scripts/mayfly/target.ts';
import { oneLine } from '#scripts/mayfly/visible.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { countedText } from '#shared/lifecycle/ended-entry.ts';
import { resultObject } from '#shared/plan/objects.ts';
import { mapBounded } from '#shared/runs/jobs/map-bounded.ts';

const SINCE_DEFAULT = '30d';
/** Runs between two changes of the moving line. */
const TOLD_EVERY = 100;

export interface Report {
  readonly since: string;
  readonly until: string;
  readonly tally: Tally;
  /** Ended runs whose result is gone, no result, or could not be read: in no row. */
  readonly unread: number;
  /** Not all of that time was read. */
  readonly cut: boolean;
}

export const reportVerb: Verb = {
  name: 'report',
  operands: '',
  operandsMin: 0,
  operandsMax: 0,
  takesRest: false,
  summary: 'adds up cost and waste of ended runs, by label and by cause',
  details: [
    'Waste is what was billed while no container ran: boot, pull, and machines that died. Of a',
    'machine a minute for its delete is billed too, so that a run of 34 s is billed as 94 s.',
    'A run whose cost is not known is counted as such and not as 0.',
    'With --json: { since, until, runs, unread, cut, total, causes, labels }.',
  ],
  flags: {
    since: { value: 'TIME', help: `${SINCE_HELP} (default: ${SINCE_DEFAULT})` },
    by: { value: 'WHAT', help: 'label or cause: that table alone' },
  },
  async run(call, terminal) {
    const tables = tablesOf(call);
    const { store, clock } = openCloud(await requireTarget(call, terminal), terminal);
    const untilMs = clock.nowMs();
    const sinceMs = parseSince(call.text('since') ?? SINCE_DEFAULT, untilMs);
    terminal.move('reading the index of ended runs');
    const report = await makeReport(store, { sinceMs, untilMs }, (runs) =>
      terminal.move(`${runs} runs read`),
    );
    terminal.move(null);
    terminal.write(call.has('json') ? reportJson(report, tables) : reportText(report, tables));
    return EXIT_DONE;
  },
};

const TABLES = ['cause', 'label'] as const;
type Table = (typeof TABLES)[number];

function tablesOf(call: Call): readonly Table[] {
  const by = call.text('by');
  if (by === null) return TABLES;
  const table = TABLES.find((name) => name === by);
  if (table === undefined) throw usageError(`--by ${JSON.stringify(by)} is not label or cause`);
  return [table];
}

/** Throws a CloudError when the bucket cannot be asked. */
export async function makeReport(
  store: Pick<ObjectStore, 'list' | 'read'>,
  { sinceMs, untilMs }: Range,
  told: (runs: number) => void,
): Promise<Report> {
  const tally = emptyTally();
  let seen = 0;
  let unread = 0;
  let refusal: CloudError | null = null;
  const take = async (run: EndedRun) => {
    let result: CountedResult | null = null;
    try {
      result = await loadCounted(store, run);
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      refusal = error;
    }
    if (result === null) unread += 1;
    else count(tally, result);
    seen += 1;
    if (seen % TOLD_EVERY === 0) told(seen);
  };
  const { cut } = await takeEnded(store, { sinceMs, untilMs }, async (runs) => {
    await mapBounded(runs, take);
  });
  // Where nothing at all may be read, an empty report would be a lie.
  if (refusal !== null && tally.total.runs === 0) throw refusal;
  const since = new Date(sinceMs).toISOString();
  return { since, until: new Date(untilMs).toISOString(), tally, unread, cut };
}

/** From the index, else (an entry of an older version, or a run with very long labels) from the result. */
async function loadCounted(
  store: Pick<ObjectStore, 'read'>,
  { runId, metadata }: EndedRun,
): Promise<CountedResult | null> {
  const text = countedText(metadata);
  const counted = text === null ? null : readCounted(text);
  if (counted !== null) return counted;
  const reply = await store.read(resultObject(runId));
  return reply.kind === 'absent' ? null : readCounted(new TextDecoder().decode(reply.bytes));
}

function reportJson(report: Report, tables: readonly Table[]): string {
  const { tally, ...rest } = report;
  const all = {
    ...rest,
    runs: tally.total.runs,
    total: rounded(tally.total),
    ...(tables.includes('cause') ? { causes: rowsJson(tally.causes) } : {}),
    ...(tables.includes('label') ? { labels: rowsJson(tally.labels) } : {}),
  };
  return `${JSON.stringify(all)}\n`;
}

const rowsJson = (rows: ReadonlyMap<string, Row>) =>
  Object.fromEntries(dearestFirst(rows).map(([key, row]) => [key, rounded(row)]));

const rounded = (row: Row): Row => ({
  ...row,
  costUsd: round(row.costUsd),
  wasteSeconds: round(row.wasteSeconds),
  wasteUsd: round(row.wasteUsd),
});

const round = (value: number) => Math.round(value * 1e6) / 1e6;

const dearestFirst = (rows: ReadonlyMap<string, Row>) =>
  [...rows].toSorted(
    ([nameA, a], [nameB, b]) =>
      b.costUsd - a.costUsd || b.runs - a.runs || (nameA < nameB ? -1 : 1),
  );

function reportText({ tally, since, unread, cut }: Report, tables: readonly Table[]): string {
  const lines = [...head(`since ${since}`), line('all runs', tally.total)];
  if (tables.includes('cause')) {
    lines.push(
      '',
      ...head('cause'),
      ...dearestFirst(tally.causes).map(([key, row]) => line(key, row)),
    );
  }
  if (tables.includes('label')) {
    lines.push(
      '',
      ...head('label'),
      ...dearestFirst(tally.labels).map(([key, row]) => line(key, row)),
    );
  }
  if (unread > 0)
    lines.push('', `${unread} ended runs have no readable result: they are in no row`);
  if (cut) lines.push('', 'not all of that time was read: ask for less with --since');
  return `${lines.join('\n')}\n`;
}

const NAME_WIDTH = 34;
const head = (name: string) => [
  `${name.padEnd(NAME_WIDTH)} ${'runs'.padStart(7)} ${'USD'.padStart(12)} ${'waste USD'.padStart(12)} ${'waste h'.padStart(9)}  not known`,
];

function line(name: string, row: Row): string {
  const unknown = row.costUnknown + row.wasteUnknown;
  const notes = [
    ...(row.costUnknown > 0 ? [`cost of ${row.costUnknown}`] : []),
    ...(row.wasteUnknown > 0 ? [`waste of ${row.wasteUnknown}`] : []),
  ];
  const figures = [
    String(row.runs).padStart(7),
    row.costUsd.toFixed(4).padStart(12),
    row.wasteUsd.toFixed(4).padStart(12),
    (row.wasteSeconds / 3600).toFixed(2).padStart(9),
  ];
  return `${oneLine(name).padEnd(NAME_WIDTH)} ${figures.join(' ')}${unknown > 0 ? `  ${notes.join(', ')}` : ''}`;
}
