// The unix-cron schedules of Cloud Scheduler: five fields with `*`, lists, ranges and steps, in UTC.

interface CronField {
  readonly from: number;
  readonly to: number;
}

const FIELDS: readonly CronField[] = [
  { from: 0, to: 59 },
  { from: 0, to: 23 },
  { from: 1, to: 31 },
  { from: 1, to: 12 },
  { from: 0, to: 7 },
];

export interface CronSchedule {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** When both are restricted, either of them is enough. */
  readonly dayRestricted: boolean;
  readonly weekdayRestricted: boolean;
}

const MINUTE_MS = 60_000;
/** Four years and a day hold every date that exists, 29 February too. */
const SEARCH_DAYS_MAX = 1462;

function parseField(text: string, { from, to }: CronField): Set<number> | null {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part);
    if (match === null) {
      return null;
    }
    const [, first, last, step] = match;
    const start = first === undefined ? from : Number(first);
    const open = first === undefined || (step !== undefined && last === undefined);
    const end = last === undefined ? (open ? to : start) : Number(last);
    const stride = Number(step ?? 1);
    if (start < from || end > to || start > end || stride < 1) {
      return null;
    }
    for (let value = start; value <= end; value += stride) {
      values.add(value);
    }
  }
  return values;
}

/** Null when the text is not a schedule of five fields. */
export function parseCron(text: string): CronSchedule | null {
  const parts = text.trim().split(/\s+/);
  const [minutes, hours, days, months, weekdays] = FIELDS.map((field, index) =>
    parseField(parts[index] ?? '', field),
  );
  if (parts.length !== FIELDS.length || !minutes || !hours || !days || !months || !weekdays) {
    return null;
  }
  if (weekdays.has(7)) {
    weekdays.add(0);
  }
  const dayRestricted = parts[2] !== '*';
  const weekdayRestricted = parts[4] !== '*';
  return { minutes, hours, days, months, weekdays, dayRestricted, weekdayRestricted };
}

function dayMatches(schedule: CronSchedule, date: Date): boolean {
  const day = schedule.days.has(date.getUTCDate());
  const weekday = schedule.weekdays.has(date.getUTCDay());
  const either = schedule.dayRestricted && schedule.weekdayRestricted;
  return schedule.months.has(date.getUTCMonth() + 1) && (either ? day || weekday : day && weekday);
}

/** The first slot after that instant, in epoch milliseconds; null when none comes within four years. */
export function nextSlotMs(schedule: CronSchedule, afterMs: number): number | null {
  let candidateMs = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const limitMs = afterMs + SEARCH_DAYS_MAX * 86_400_000;
  while (candidateMs <= limitMs) {
    const date = new Date(candidateMs);
    if (!dayMatches(schedule, date)) {
      candidateMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1);
    } else if (!schedule.hours.has(date.getUTCHours())) {
      candidateMs += (60 - date.getUTCMinutes()) * MINUTE_MS;
    } else if (!schedule.minutes.has(date.getUTCMinutes())) {
      candidateMs += MINUTE_MS;
    } else {
      return candidateMs;
    }
  }
  return null;
}
