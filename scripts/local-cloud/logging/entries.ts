// Cloud Logging (v2): entries.write and entries.list. Entries with the same timestamp and insertId in
// one project are one entry, so that a write whose reply was lost can be repeated.
// Source: the REST reference of entries.write, LogEntry, and the quotas page (256 KB an entry).
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { compileFilter } from '#scripts/local-cloud/filter.ts';
import { isAllowed } from '#scripts/local-cloud/iam.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  asStringMap,
  copyJson,
  type JsonObject,
  timestamp,
} from '#scripts/local-cloud/json.ts';
import { receiveEntry } from '#scripts/local-cloud/logging/sinks.ts';
import type { StoredEntry } from '#scripts/local-cloud/logging/state.ts';

const ENTRY_BYTES_MAX = 256 * 1024;
const LABELS_MAX = 64;
const PAGE_ENTRIES_MAX = 1000;
const PAGE_ENTRIES_DEFAULT = 50;
const LOG_NAME = /^(projects\/[^/]+)\/logs\/[A-Za-z0-9._%-]{1,511}$/;
const PAYLOADS = ['textPayload', 'jsonPayload', 'protoPayload'] as const;

function denied(context: Context, call: Call, permission: string, resource: string): Reply | null {
  return isAllowed(context, call.principal, permission, resource)
    ? null
    : refuseRpc(403, `Permission '${permission}' denied on resource (or it may not exist).`);
}

/** An entry as it is kept, or why it is none: what it lacks comes from the request's own fields. */
function readEntry(context: Context, body: JsonObject, sent: JsonObject): JsonObject | string {
  const logName = asString(sent.logName) ?? asString(body.logName) ?? '';
  if (!LOG_NAME.test(logName)) {
    return `Invalid log name: '${logName}'. Log names are projects/[PROJECT_ID]/logs/[LOG_ID].`;
  }
  const resource = asObject(sent.resource ?? body.resource);
  if (asString(resource.type) === undefined) {
    return 'A monitored resource must be specified for each log entry.';
  }
  const labels = { ...asStringMap(body.labels), ...asStringMap(sent.labels) };
  if (Object.keys(labels).length > LABELS_MAX) {
    return `A log entry has at most ${LABELS_MAX} labels.`;
  }
  if (PAYLOADS.filter((name) => sent[name] !== undefined).length > 1) {
    return 'A log entry has one payload at most.';
  }
  const time = Date.parse(asString(sent.timestamp) ?? timestamp(context.nowMs));
  if (Number.isNaN(time)) {
    return `Invalid timestamp: '${sent.timestamp}'.`;
  }
  const made = context.world.logging;
  made.entriesMade += 1;
  return {
    ...copyJson(sent),
    logName,
    resource: copyJson(resource),
    labels,
    severity: asString(sent.severity) ?? 'DEFAULT',
    insertId: asString(sent.insertId) ?? `local-${made.entriesMade}`,
    timestamp: asString(sent.timestamp) ?? timestamp(context.nowMs),
    receiveTimestamp: timestamp(context.nowMs),
  };
}

/** One entry with all that it lacked, or the refusal that it would get alone. */
function judgeEntry(context: Context, call: Call, sent: unknown): StoredEntry | Reply {
  const entry = readEntry(context, asObject(call.body), asObject(sent));
  if (typeof entry === 'string') {
    return refuseRpc(400, entry);
  }
  const bytes = Buffer.byteLength(JSON.stringify(entry));
  if (bytes > ENTRY_BYTES_MAX) {
    const size = `${(bytes / 1024).toFixed(1)}K`;
    return refuseRpc(400, `Log entry with size ${size} exceeds maximum size of 256.0K`);
  }
  const project = LOG_NAME.exec(String(entry.logName))?.[1] ?? '';
  const identity = `${project} ${entry.timestamp} ${entry.insertId}`;
  return denied(context, call, 'logging.logEntries.create', project) ?? { entry, identity, bytes };
}

/** All entries are taken or none; with `partialSuccess` the good ones, and the first refusal is told. */
function writeEntries(context: Context, call: Call): Reply {
  const body = asObject(call.body);
  const judged = asArray(body.entries).map((sent) => judgeEntry(context, call, sent));
  if (judged.length === 0) {
    return refuseRpc(400, 'No log entries were provided.');
  }
  const refusal = judged.find((one) => 'headers' in one);
  if (body.dryRun !== true && (refusal === undefined || body.partialSuccess === true)) {
    for (const one of judged) {
      if (!('headers' in one)) {
        receiveEntry(context, one);
      }
    }
  }
  return refusal ?? ok({});
}

/** `resourceNames`, `filter`, `orderBy` (timestamp asc or desc), `pageSize`, `pageToken`. */
function listEntries(context: Context, call: Call): Reply {
  const body = asObject(call.body);
  const names = asArray(body.resourceNames).filter((name) => typeof name === 'string');
  if (names.length === 0) {
    return refuseRpc(400, 'At least one resource name must be specified.');
  }
  for (const name of names) {
    const refusal = denied(context, call, 'logging.logEntries.list', name);
    if (refusal !== null) {
      return refusal;
    }
  }
  const matches = compileFilter(asString(body.filter) ?? '');
  if (typeof matches === 'string') {
    return refuseRpc(400, `Unparseable filter: ${matches}`);
  }
  const found = context.world.logging.entries
    .map(({ entry }) => entry)
    .filter((entry) => names.some((name) => String(entry.logName).startsWith(`${name}/logs/`)))
    .filter(matches)
    .sort(
      (left, right) => Date.parse(String(left.timestamp)) - Date.parse(String(right.timestamp)),
    );
  if (body.orderBy === 'timestamp desc') {
    found.reverse();
  }
  const start = Number(asString(body.pageToken) ?? 0);
  const size = Math.min(asNumber(body.pageSize) ?? PAGE_ENTRIES_DEFAULT, PAGE_ENTRIES_MAX);
  const more = start + size < found.length;
  return ok({
    entries: found.slice(start, start + size).map((entry) => copyJson(entry)),
    ...(more ? { nextPageToken: String(start + size) } : {}),
  });
}

export const loggingMethods: Methods = {
  'logging.entries.write': writeEntries,
  'logging.entries.list': listEntries,
};
