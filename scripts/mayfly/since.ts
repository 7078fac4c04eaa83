// `--since`: how far back, as a time span or an instant.
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { parseDuration } from '#scripts/mayfly/request-flags.ts';

export const SINCE_HELP = 'how far back: 90m, 24h, 7d, or 2026-12-01T12:00:00Z';
const SECONDS_MAX = 400 * 86_400;

/** Epoch milliseconds. `90m`, `24h`, `7d`, or RFC 3339 with a time zone. */
export function parseSince(text: string, nowMs: number): number {
  const atMs = /^\d{1,9}[smhd]$/.test(text)
    ? nowMs - parseDuration('since', text) * 1000
    : instantOf(text);
  if (Number.isNaN(atMs)) {
    throw usageError(
      `--since ${JSON.stringify(text)} is neither a time like 90m, 24h or 7d nor one like 2026-12-01T12:00:00Z`,
    );
  }
  if (nowMs - atMs > SECONDS_MAX * 1000) throw usageError('--since goes back 400d at most');
  return atMs;
}

const instantOf = (text: string) =>
  /^\d{4}-\d\d-\d\d([Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
