// What a record says to a person: the steps so far, each shown once, and the one line about now. Pure.
import type { RunRecord } from '#shared/lifecycle/record.ts';

export interface ProgressStep {
  /** Names the step across readings of the record, so that it is shown once. */
  readonly key: string;
  readonly atMs: number;
  readonly text: string;
}

const CODES_SHOWN_MAX = 4;

/** The record's steps in order of time: states as they were entered, and places that gave nothing. */
export function stepsOf(record: RunRecord): readonly ProgressStep[] {
  const states = record.history.map((entry) => ({
    key: `${entry.attempt}/${entry.state}/${entry.atMs}`,
    atMs: entry.atMs,
    text: stateText(record, entry.state, entry.attempt),
  }));
  const places = record.places.map((place) => ({
    key: `${place.attempt}/${place.zone}/${place.machineType}/${place.provisioningModel}/${place.atMs}`,
    atMs: place.atMs,
    text: `no machine   ${place.machineType} (${place.provisioningModel}) in ${place.zone}: ${place.code}`,
  }));
  // At one instant: a place that gave nothing, or an attempt's end, comes before what that led to.
  return [...places, ...endsOf(record), ...states].sort((a, b) => a.atMs - b.atMs);
}

/** Of attempts that others follow, or will: how the last one ended stands with the run's own end. */
function endsOf({ attempts, end: runEnd }: RunRecord): readonly ProgressStep[] {
  return attempts.flatMap(({ number, end }) => {
    if (end === null || (runEnd !== null && number === attempts.length)) return [];
    const { status, cause, step, detail, atMs } = end;
    const at = step === null || cause === 'exit' ? '' : ` at step ${step}`;
    const code = end.exitCode === null ? '' : `, exit code ${end.exitCode}`;
    const [why = ''] = detail.trim().split('\n', 1);
    const text = `${status.toLowerCase().padEnd(12)} attempt ${number}: ${cause}${at}${code}`;
    return [{ key: `${number}/end`, atMs, text: why === '' ? text : `${text}: ${why}` }];
  });
}

/** A step as a line that stays, with the time since the run was accepted. */
export function stepLine(record: RunRecord, step: ProgressStep): string {
  return `${timeColumn(step.atMs - record.acceptedMs)}  ${step.text}`;
}

/** As wide as the longest life needs: `168 h 00 min`. */
export const timeColumn = (milliseconds: number) => elapsed(milliseconds).padStart(12);

/** The moving line: phase and how long, what was tried, the next try and the end of waiting. */
export function lineOf(record: RunRecord, nowMs: number): string {
  const parts = [
    `${record.state} ${elapsed(nowMs - (record.history.at(-1)?.atMs ?? record.acceptedMs))}`,
    ...(record.attempts.length > 1 ? [`attempt ${record.attempts.length}`] : []),
    ...machineOf(record),
    ...triedOf(record),
    ...waitingOf(record, nowMs),
  ];
  return `${parts.join(' · ')} · ${elapsed(nowMs - record.acceptedMs)} in all`;
}

function stateText(record: RunRecord, state: string, attempt: number): string {
  const name = state.toLowerCase().padEnd(12);
  const detail = stateDetail(record, state, attempt);
  const suffix = attempt > 1 ? ` (attempt ${attempt})` : '';
  return `${name} ${detail}${suffix}`.trimEnd();
}

function stateDetail(record: RunRecord, state: string, number: number): string {
  const attempt = record.attempts.find((each) => each.number === number);
  const place = attempt?.intents.at(-1)?.candidate;
  switch (state) {
    case 'ACCEPTED':
      return 'the request is stored';
    case 'PLACING':
      return 'looking for a place';
    case 'WAITING':
      return [...triedOf(record), ...waitingOf(record, null)].join(' · ');
    case 'PROVISIONING':
      return place === undefined
        ? 'a machine is on its way'
        : `${place.machineType}${modelOf(record, place)} in ${place.zone}`;
    case 'RUNNING':
      return attempt === undefined ? '' : `on ${attempt.instance}`;
    case 'STOPPING':
      return attempt?.order === null || attempt === undefined
        ? ''
        : `reason: ${attempt.order.reason}`;
    default:
      return record.end === null ? '' : `cause: ${record.end.cause}`;
  }
}

/** Executions have none to choose from. */
const modelOf = ({ runtime }: RunRecord, { provisioningModel }: { provisioningModel: string }) =>
  runtime === 'gce' ? ` (${provisioningModel})` : '';

function machineOf(record: RunRecord): readonly string[] {
  const place = record.attempts.at(-1)?.intents.at(-1)?.candidate;
  const placed = record.state === 'PROVISIONING' || record.state === 'RUNNING';
  return placed && place !== undefined ? [`${place.machineType} in ${place.zone}`] : [];
}

function triedOf(record: RunRecord): readonly string[] {
  const last = record.places.slice(-CODES_SHOWN_MAX);
  const placing = record.state === 'PLACING' || record.state === 'WAITING';
  if (!placing || last.length === 0) return [];
  const more = record.placesCount > last.length ? '…, ' : '';
  const codes = last.map((place) => `${place.machineType} ${place.zone} ${place.code}`);
  return [`tried ${record.placesCount}: ${more}${codes.join(', ')}`];
}

/** `nowMs` null gives clock times alone, for lines that stay. */
function waitingOf(record: RunRecord, nowMs: number | null): readonly string[] {
  if (record.state !== 'WAITING' || record.dueMs === null) return [];
  const { dueMs } = record;
  const next =
    nowMs === null ? `at ${clockTime(dueMs)}` : `in ${elapsed(Math.max(0, dueMs - nowMs))}`;
  // The sweep wakes it, at its next pass after that.
  const earliest = `next try ${next} at the earliest`;
  const attempt = record.attempts.at(-1);
  if (attempt === undefined || attempt.end !== null) return [earliest];
  const end = attempt.startedMs + record.terms.waitForCapacitySeconds * 1000;
  return [earliest, `waits until ${clockTime(end)}`];
}

function clockTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

/** `4.2 s`, `3 min 05 s`, `2 h 10 min`. */
export function elapsed(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 60) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = String(Math.floor(seconds % 60)).padStart(2, '0');
  if (minutes < 60) return `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}
