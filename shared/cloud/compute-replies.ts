// Reads what Compute Engine answers (REST v1): instances, disks, operations, list pages. A body of
// another shape gives null or names its scope unknown; nothing is ever concluded from it.
import * as z from 'zod';
import type { ApiErrorDetail, Disk, ListPage, Machine, Operation } from '#shared/cloud/compute.ts';
import { collectDetails } from '#shared/cloud/errors.ts';

/** int64 values come as text; some stand-ins send numbers. */
const id = z.union([z.string().regex(/^[0-9]+$/), z.int().nonnegative().transform(String)]);
export const instantMs = z
  .string()
  .nullish()
  .transform((text) => {
    const ms = text ? Date.parse(text) : Number.NaN;
    return Number.isNaN(ms) ? null : ms;
  });
/** The last part of a resource URL or partial path. */
export const lastPart = z.string().transform((url) => url.slice(url.lastIndexOf('/') + 1));
const labels = z.record(z.string(), z.string()).default({});

const operationSchema = z.object({
  name: z.string().min(1),
  zone: lastPart.default(''),
  operationType: z.string().default(''),
  status: z.enum(['PENDING', 'RUNNING', 'DONE']),
  targetId: id.nullish(),
  targetLink: lastPart.nullish(),
  user: z.string().nullish(),
  clientOperationId: z.string().nullish(),
  insertTime: instantMs,
  endTime: instantMs,
  httpErrorStatusCode: z.number().nullish(),
  httpErrorMessage: z.string().nullish(),
  error: z
    .object({
      errors: z
        .array(
          z.object({
            code: z.string().default(''),
            message: z.string().default(''),
            errorDetails: z.array(z.unknown()).default([]),
          }),
        )
        .default([]),
    })
    .nullish(),
});

const machineSchema = z.object({
  name: z.string().min(1),
  id,
  zone: lastPart,
  status: z.string().min(1),
  machineType: lastPart,
  labels,
  metadata: z
    .object({
      items: z.array(z.object({ key: z.string(), value: z.string().default('') })).default([]),
    })
    .default({ items: [] }),
  creationTimestamp: instantMs,
  lastStartTimestamp: instantMs,
  scheduling: z
    .object({ provisioningModel: z.string().optional(), preemptible: z.boolean().default(false) })
    .default({ preemptible: false }),
});

const diskSchema = z.object({
  name: z.string().min(1),
  zone: lastPart,
  labels,
  users: z.array(z.string()).default([]),
  type: lastPart.default(''),
  sizeGb: id.nullish(),
  creationTimestamp: instantMs,
});

const warningSchema = z.object({
  code: z.string().default(''),
  data: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
});

const pageSchema = z.object({
  items: z.record(z.string(), z.looseObject({ warning: warningSchema.optional() })).default({}),
  unreachables: z.array(z.string()).default([]),
  warning: warningSchema.optional(),
  nextPageToken: z.string().min(1).nullish(),
});

const operationsSchema = z.object({
  items: z.array(operationSchema).default([]),
  warning: warningSchema.optional(),
  unreachables: z.array(z.string()).default([]),
  nextPageToken: z.string().min(1).nullish(),
});

const guestAttributesSchema = z.object({
  queryValue: z.object({
    items: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
  }),
});

/** Null when the body is no operation. */
export function parseOperation(body: unknown): Operation | null {
  const parsed = operationSchema.safeParse(body);
  return parsed.success ? toOperation(parsed.data) : null;
}

/** Null when the body is no instance. */
export function parseMachine(body: unknown): Machine | null {
  const parsed = machineSchema.safeParse(body);
  if (!parsed.success) return null;
  const { creationTimestamp, lastStartTimestamp, scheduling, metadata, ...rest } = parsed.data;
  return {
    ...rest,
    metadata: Object.fromEntries(metadata.items.map(({ key, value }) => [key, value])),
    createdMs: creationTimestamp,
    lastStartMs: lastStartTimestamp,
    provisioningModel:
      scheduling.provisioningModel ?? (scheduling.preemptible ? 'SPOT' : 'STANDARD'),
  };
}

/** Null when the body is no disk. */
export function parseDisk(body: unknown): Disk | null {
  const parsed = diskSchema.safeParse(body);
  if (!parsed.success) return null;
  const { creationTimestamp, type, sizeGb, ...rest } = parsed.data;
  const sizeGiB = sizeGb == null ? null : Number(sizeGb);
  return { ...rest, diskType: type, sizeGiB, createdMs: creationTimestamp };
}

/** Null when the body is no list, or when a part of it could not be read by the platform. */
export function parseOperations(
  body: unknown,
): { operations: readonly Operation[]; nextPageToken: string | null } | null {
  const parsed = operationsSchema.safeParse(body);
  if (!parsed.success) return null;
  const { items, warning, unreachables, nextPageToken } = parsed.data;
  if (isPartial(warning) || unreachables.length > 0) return null;
  return { operations: items.map(toOperation), nextPageToken: nextPageToken ?? null };
}

/** Key → value of the namespace that was asked for; null when the body is of another shape. */
export function parseGuestAttributes(body: unknown): Readonly<Record<string, string>> | null {
  const parsed = guestAttributesSchema.safeParse(body);
  if (!parsed.success) return null;
  return Object.fromEntries(parsed.data.queryValue.items.map(({ key, value }) => [key, value]));
}

/**
 * One page of an aggregated list; null when the body is of another shape.
 *
 * A scope is unknown when it carries a warning other than NO_RESULTS_ON_PAGE, is named by a warning
 * or by `unreachables`, or holds an item that cannot be read.
 */
export function parseAggregatedPage<Item>(
  body: unknown,
  kind: 'instances' | 'disks' | 'machineTypes',
  parseItem: (item: unknown) => Item | null,
): ListPage<Item> | null {
  const parsed = pageSchema.safeParse(body);
  if (!parsed.success) return null;
  const items: Item[] = [];
  const unknown = new Set<string>();
  for (const [scope, { warning, [kind]: listed }] of Object.entries(parsed.data.items)) {
    if (isPartial(warning)) unknown.add(zoneOfScope(scope));
    for (const zone of zonesOfWarning(warning)) unknown.add(zone);
    if (listed === undefined) continue;
    const read = Array.isArray(listed) ? listed.map(parseItem) : [null];
    if (read.includes(null)) unknown.add(zoneOfScope(scope));
    items.push(...read.filter((item) => item !== null));
  }
  for (const scope of parsed.data.unreachables) unknown.add(zoneOfScope(scope));
  const named = zonesOfWarning(parsed.data.warning);
  if (isPartial(parsed.data.warning) && named.length === 0) unknown.add('*');
  for (const zone of named) unknown.add(zone);
  return {
    items,
    unknownZones: [...unknown].sort(),
    nextPageToken: parsed.data.nextPageToken ?? null,
  };
}

type Warning = z.infer<typeof warningSchema> | undefined;

function isPartial(warning: Warning): boolean {
  return warning !== undefined && warning.code !== 'NO_RESULTS_ON_PAGE';
}

function zonesOfWarning(warning: Warning): readonly string[] {
  if (warning === undefined || !isPartial(warning)) return [];
  return warning.data.filter(({ key }) => key === 'scope').map(({ value }) => zoneOfScope(value));
}

/** `zones/Z` in any spelling → `Z`; a scope that is no zone leaves everything unknown. */
function zoneOfScope(scope: string): string {
  return /(?:^|\/)zones\/([^/]+)$/.exec(scope)?.[1] ?? '*';
}

function toOperation(raw: z.infer<typeof operationSchema>): Operation {
  return {
    name: raw.name,
    zone: raw.zone,
    operationType: raw.operationType,
    status: raw.status,
    targetId: raw.targetId ?? null,
    targetName: raw.targetLink ?? null,
    user: raw.user ?? null,
    requestId: raw.clientOperationId ?? null,
    insertMs: raw.insertTime,
    endMs: raw.endTime,
    errors: errorsOf(raw),
  };
}

/** An operation may fail with a status alone: that must not read as success. */
function errorsOf(raw: z.infer<typeof operationSchema>): readonly ApiErrorDetail[] {
  const errors = (raw.error?.errors ?? []).map(({ code, message, errorDetails }) => ({
    code,
    message,
    details: collectDetails(errorDetails),
  }));
  const status = raw.httpErrorStatusCode ?? 0;
  if (errors.length > 0 || (status < 400 && !raw.error)) return errors;
  const message = raw.httpErrorMessage ?? 'failed without a list of errors';
  return [{ code: status === 0 ? 'UNKNOWN' : `HTTP_${status}`, message, details: {} }];
}
