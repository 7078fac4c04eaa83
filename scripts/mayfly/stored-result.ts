// Reads what the bucket says about a run's end: the result, or a rejection (contract §3). Only what is
// shown or judged here is checked; the rest is handed through as it is.
import * as z from 'zod';
import { CommandError, EXIT_REFUSED } from '#scripts/mayfly/exit-codes.ts';

const amount = z.number().nullable();

const resultSchema = z.looseObject({
  runId: z.string().nullable(),
  status: z.string(),
  cause: z.string(),
  step: z.string().nullable().default(null),
  exitCode: z.number().nullable().default(null),
  detail: z.string().default(''),
  attempts: z
    .array(
      z.looseObject({
        attempt: z.number(),
        execution: z.string().nullable().optional(),
        instance: z.string().nullable(),
        zone: z.string().nullable(),
        machineType: z.string().nullable(),
        provisioningModel: z.string().nullable(),
        keptUntil: z.string().nullable().default(null),
        startedAt: z.string().nullable().optional(),
        endedAt: z.string().nullable().optional(),
        costUsd: amount.optional(),
        status: z.string(),
        cause: z.string(),
      }),
    )
    .default([]),
  placesCount: z.number().default(0),
  seconds: z.record(z.string(), amount).default({}),
  costUsd: amount.default(null),
  log: z.looseObject({ tail: z.string().nullable() }).nullable().default(null),
  outputs: z
    .array(z.looseObject({ path: z.string(), uri: z.string(), bytes: z.number() }))
    .default([]),
  errors: z
    .array(
      z.looseObject({
        field: z.string(),
        value: z.string(),
        rule: z.string(),
        accepted: z.string(),
      }),
    )
    .default([]),
});

export type StoredResult = z.infer<typeof resultSchema>;

/** Throws a CommandError for an object that is no result. */
export function readStoredResult(name: string, bytes: Uint8Array): StoredResult {
  try {
    return resultSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (error) {
    throw new CommandError(EXIT_REFUSED, `${name} cannot be read as a result: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) {
    return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  }
  return error instanceof Error ? error.message : String(error);
}
