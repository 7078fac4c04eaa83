// Reads what Cloud Run answers (REST v2): executions, tasks, operations, list pages. As in all JSON of
// Google's APIs a number that is 0 and a text that is empty are left out.
import * as z from 'zod';
import { instantMs, lastPart } from '#shared/cloud/compute-replies.ts';
import type { Execution, Job, Task } from '#shared/cloud/run-jobs.ts';

const count = z.int().nonnegative().default(0);
const text = z.string().default('');
const orNull = z
  .string()
  .nullish()
  .transform((read) => read || null);

const condition = z.object({
  type: text,
  state: text,
  message: text,
  reason: orNull,
  executionReason: orNull,
});
const conditions = z.array(condition).default([]);

const variable = z.object({ name: z.string(), value: text });
const container = z.object({ env: z.array(variable).default([]) });

const executionSchema = z.object({
  name: z.string().regex(/\/locations\/[^/]+\/jobs\/[^/]+\/executions\/[^/]+$/),
  createTime: instantMs,
  startTime: instantMs,
  completionTime: instantMs,
  taskCount: count,
  runningCount: count,
  succeededCount: count,
  failedCount: count,
  cancelledCount: count,
  template: z.object({ containers: z.array(container).default([]) }).default({ containers: [] }),
  conditions,
});

const attemptSchema = z.object({
  exitCode: z.int().nullish(),
  termSignal: z.int().nullish(),
  status: z.object({ code: z.int().default(0), message: text }).default({ code: 0, message: '' }),
});

const taskSchema = z.object({
  index: count,
  startTime: instantMs,
  completionTime: instantMs,
  conditions,
  lastAttemptResult: attemptSchema.nullish(),
});

const jobSchema = z.object({ name: z.string().regex(/\/locations\/[^/]+\/jobs\/[^/]+$/) });

const operationSchema = z.object({
  name: z.string().min(1),
  metadata: z.object({ name: z.string().min(1) }),
});

/** Null when the body is no execution. */
export function parseExecution(body: unknown): Execution | null {
  const parsed = executionSchema.safeParse(body);
  if (!parsed.success) return null;
  const { name, createTime, startTime, completionTime, template, ...rest } = parsed.data;
  const [region = '', , job = '', , execution = ''] = name.split('/').slice(-5);
  const env = template.containers[0]?.env ?? [];
  return {
    ...rest,
    name: execution,
    job,
    region,
    createdMs: createTime,
    startedMs: startTime,
    completedMs: completionTime,
    env: Object.fromEntries(env.map(({ name: key, value }) => [key, value])),
  };
}

/** Null when the body is no task. */
export function parseTask(body: unknown): Task | null {
  const parsed = taskSchema.safeParse(body);
  if (!parsed.success) return null;
  const { index, startTime, completionTime, lastAttemptResult } = parsed.data;
  const { exitCode = null, termSignal = null, status } = lastAttemptResult ?? {};
  // A 0 is not sent: it is one only where nothing else says how the attempt ended.
  const clean = status?.code === 0 && status.message === '' && termSignal === null;
  return {
    index,
    startedMs: startTime,
    completedMs: completionTime,
    conditions: parsed.data.conditions,
    exitCode: exitCode ?? (clean ? 0 : null),
    termSignal,
    statusMessage: status?.message || null,
  };
}

/** Null when the body is no Job. */
export function parseJob(body: unknown): Job | null {
  const parsed = jobSchema.safeParse(body);
  if (!parsed.success) return null;
  const [region = '', , name = ''] = parsed.data.name.split('/').slice(-3);
  return { name, region };
}

/** An operation's name, and that of the execution it stands for; null when the body is none. */
export function parseRunOperation(
  body: unknown,
): { readonly operation: string; readonly execution: string } | null {
  const parsed = operationSchema.safeParse(body);
  if (!parsed.success) return null;
  const { name, metadata } = parsed.data;
  return { operation: name, execution: lastPart.parse(metadata.name) };
}

/** A page of a list; null when the body, or anything in it, is of another shape. */
export function parsePage<Item>(
  body: unknown,
  field: 'executions' | 'tasks' | 'jobs',
  parse: (item: unknown) => Item | null,
): { readonly items: readonly Item[]; readonly nextPageToken: string | null } | null {
  const page = z.object({ [field]: z.array(z.unknown()).default([]), nextPageToken: orNull });
  const parsed = page.safeParse(body);
  if (!parsed.success) return null;
  const items = (parsed.data[field] as readonly unknown[]).map(parse);
  if (items.some((item) => item === null)) return null;
  return {
    items: items.filter((item) => item !== null),
    nextPageToken: parsed.data.nextPageToken as string | null,
  };
}
