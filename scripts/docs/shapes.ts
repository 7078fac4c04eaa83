// The shapes of what comes back, with a sentence for each field. The compiler holds each to the type that
// the code writes: a field more or less there is an error here.
import * as z from 'zod';
import { CAUSES, MACHINE_CAUSES } from '#shared/lifecycle/failures.ts';
import { type OutputObject, STEPS } from '#shared/lifecycle/marker.ts';
import type { Place } from '#shared/lifecycle/record.ts';
import type { AttemptResult, Rejection, RunResult } from '#shared/lifecycle/result.ts';
import { FINAL_STATES } from '#shared/lifecycle/transitions.ts';
import type { Fault } from '#shared/plan/model.ts';

/** Exactly the fields of a type. */
type Shape<T> = { readonly [Name in keyof Required<T>]: z.ZodType };

const text = (told: string) => z.string().describe(told);
const count = (told: string) => z.int().min(0).describe(told);
const some = (schema: z.ZodType, told: string) => schema.nullable().describe(told);
const time = () => z.string().meta({ format: 'date-time' });
const texts = (told: string) => z.record(z.string(), z.string()).describe(told);
const causes = z.enum(Object.keys(CAUSES) as (keyof typeof CAUSES)[]);
const seconds = (told: string) => some(z.number().min(0), told);
const usd = (told: string) => some(z.number().min(0), told);

export const OUTPUT = z.object({
  path: text('In the container.'),
  uri: text('gs://bucket/object.'),
  generation: text('The generation that was written.'),
  crc32c: text('Base64, as Cloud Storage tells it.'),
  bytes: count('Its size.'),
} satisfies Shape<OutputObject>);

const epoch = (told: string) =>
  some(z.number(), `${told}, in seconds since 1970 by its own clock.`);

/** As it stands in the bucket; the reader is tolerant, what is written has these. */
export const MARKER = z.object({
  status: z.enum(['PROVISIONING', 'RUNNING', 'SUCCEEDED', 'FAILED']).describe('How far it is.'),
  exit_code: some(z.int(), "The container's own code."),
  instance: text('The machine, or the name that an execution has in its place.'),
  zone: text('Its zone; of an execution the region.'),
  detail: text('One sentence, or the last lines of the output.'),
  boot_epoch: epoch('When the machine came up'),
  exec_start_epoch: epoch('When the container started'),
  end_epoch: epoch('When it ended'),
  execute_s: some(z.number(), 'Seconds between the two before.'),
  schema: z.literal(1).describe('The version of this shape.'),
  run_id: text('The run.'),
  attempt: z.int().min(1).describe('Which attempt of it.'),
  task: z.int().min(0).optional().describe('Of several tasks: its index.'),
  step: some(z.enum(STEPS), 'Where it is, or ended.'),
  cause: some(z.enum(MACHINE_CAUSES), 'Why it ended, as far as the machine can know.'),
  permanent: z.boolean().optional().describe('Of step-failed: the same again would fail again.'),
  boot_id: text("The kernel's boot id; of a task its execution."),
  image_digest: some(z.string(), 'sha256 of the image that ran.'),
  peak_memory_bytes: some(z.number(), 'The most memory that the container had.'),
  gpu_count: some(z.int(), 'GPUs that the container saw.'),
  pull_end_epoch: epoch('When the image was there').optional(),
  outputs: z.array(OUTPUT).describe('What was copied up.').optional(),
  sealed: z.literal(true).optional().describe('Closed by the control plane, not by the machine.'),
  nonce: text("sha256 of the attempt's nonce; in a machine's last word the nonce itself."),
});

const PLACE = z.object({
  attempt: z.int().describe('Which attempt asked.'),
  zone: text('The zone; of Cloud Run the region.'),
  machineType: text('The machine type, or the Job.'),
  provisioningModel: text('STANDARD or SPOT.'),
  code: text("The platform's code."),
  message: text("The platform's words."),
  verdict: z
    .enum(['next-zone', 'next-region', 'next-machine-type', 'wait', 'stop', 'unknown'])
    .describe('What that means for other places.'),
  cause: z.enum(['stock-out', 'quota', 'refused']).describe('The kind of refusal.'),
  mayPass: z.boolean().describe('Whether waiting may help.'),
  called: z.boolean().describe('False: not called, a quota was known to be short.'),
  tries: z.int().describe('Calls of this place, one after the other.'),
  zonesWithStock: z.array(z.string()).optional().describe('Zones that the platform named.'),
  atMs: z.number().describe('Milliseconds since 1970.'),
} satisfies Shape<Place>);

const ATTEMPT = z.object({
  attempt: z.int().min(1).describe('From 1.'),
  instance: text('The name of its machine.'),
  execution: some(z.string(), 'Of Cloud Run Jobs.'),
  region: some(z.string(), 'Where it ran.'),
  zone: some(z.string(), 'Where it ran.'),
  machineType: some(z.string(), 'What it ran on.'),
  provisioningModel: some(z.enum(['STANDARD', 'SPOT']), 'At what terms.'),
  startedAt: time().describe('When it was begun.'),
  endedAt: some(time(), 'When its end was known.'),
  status: some(z.enum(FINAL_STATES), 'How it ended.'),
  cause: some(causes, 'Why it ended.'),
  keptUntil: some(time(), 'Until when its failed machine is left for a look.'),
  costUsd: usd('What it cost, with the time that its delete takes.'),
  billedSeconds: seconds('Of it those that are billed; of several tasks together.'),
  executeSeconds: seconds('Of these those in which the container ran; of several tasks together.'),
} satisfies Shape<AttemptResult>);

const FAILED_TASK = z.object({
  index: count('From 0.'),
  status: text('As of a run.'),
  cause: text('As of a run.'),
  exitCode: some(z.int(), "The command's own code."),
});

export const RESULT = z.object({
  schema: z.literal(1).describe('The version of this shape.'),
  runId: text('The run.'),
  status: z.enum(FINAL_STATES).describe('How it ended.'),
  cause: causes.describe('Why it ended.'),
  step: some(z.enum(STEPS), 'Where it ended.'),
  exitCode: some(z.int(), "The container's own code."),
  detail: text('One sentence, or the last lines of the output.'),
  runtime: z.enum(['gce', 'cloudrun-jobs']).describe('Where it ran.'),
  labels: texts('As they stand on the machines.'),
  annotations: texts('As the request gave them.'),
  imageDigest: some(z.string(), 'sha256 of the image that ran.'),
  peakMemoryBytes: some(z.number(), 'Of the last attempt.'),
  gpuCount: some(z.int(), 'GPUs that the container saw.'),
  attempts: z.array(ATTEMPT).describe('In their order.'),
  places: z.array(PLACE).describe('The last 100 places that gave no machine.'),
  placesCount: count('All of them.'),
  phases: z
    .object({
      acceptedAt: some(time(), 'The request was stored.'),
      placedAt: some(time(), 'The platform took the order.'),
      bootedAt: some(time(), 'The machine was up.'),
      pulledAt: some(time(), 'The image was there.'),
      startedAt: some(time(), 'The container started.'),
      endedAt: some(time(), 'The run ended.'),
    } satisfies Shape<RunResult['phases']>)
    .describe('Of the last attempt, but for the first and the last.'),
  seconds: z
    .object({
      queue: seconds('Accepted to the first attempt.'),
      provision: seconds('The last attempt to its machine.'),
      boot: seconds('The machine to its startup script.'),
      pull: seconds('Boot to image.'),
      execute: seconds('Start to end of the container.'),
      total: seconds('Accepted to ended.'),
    } satisfies Shape<RunResult['seconds']>)
    .describe('How long each phase took; null: not known.'),
  costUsd: usd('Of all attempts; null: a price is not known.'),
  wasteSeconds: seconds('Billed in all attempts without a running container.'),
  traceparent: text("The publisher's trace (W3C), when there was one.").optional(),
  log: z
    .object({
      tail: some(z.string(), 'The last part of the output.'),
      query: some(z.string(), 'A filter for Cloud Logging that finds all of it.'),
    } satisfies Shape<RunResult['log']>)
    .describe('The output.'),
  outputs: z.array(OUTPUT).describe('What was copied up.'),
  tasks: z
    .object({
      count: z.int().min(1).describe('All of them.'),
      succeeded: count('Those that did.'),
      failed: z.array(FAILED_TASK).describe('The first 100.'),
    } satisfies Shape<RunResult['tasks']>)
    .describe('Of a fan-out; a run on a machine has one.'),
} satisfies Shape<RunResult>);

const FAULT = z.object({
  field: text('Its path in the request; empty: the whole message.'),
  value: text('What stood there, cut.'),
  rule: text('The rule that it breaks.'),
  accepted: text('What would be accepted.'),
} satisfies Shape<Fault>);

export const REJECTION = z.object({
  schema: z.literal(1).describe('The version of this shape.'),
  runId: some(z.string(), 'As far as it could be read.'),
  status: z.literal('REJECTED').describe('It never became a run.'),
  cause: z.enum(['invalid', 'conflict', 'budget', 'not-allowed']).describe('Why.'),
  detail: text('All faults, as sentences.'),
  errors: z.array(FAULT).describe('Every fault, at most 100.'),
  attempts: z.array(z.unknown()).max(0).describe('None.'),
  traceparent: text("The publisher's trace (W3C), when there was one.").optional(),
  rejectedAt: time().describe('When.'),
} satisfies Shape<Rejection>);

export const EVENT_ATTRIBUTES = z.object({
  'ce-specversion': z.literal('1.0').describe("CloudEvents' version."),
  'ce-id': text('<runId>/ended, or <runId or _>/rejected/<messageId>: a repeat has the same.'),
  'ce-type': z.enum(['dev.mayfly.run.ended', 'dev.mayfly.run.rejected']).describe('What happened.'),
  'ce-source': text('//mayfly/<project>/<deployment>.'),
  'ce-subject': text('The run id, or _.'),
  'ce-time': time().describe('When the run ended, or was refused.'),
  'ce-datacontenttype': z.literal('application/json').describe('Of the data.'),
  status: z.enum([...FINAL_STATES, 'REJECTED']).describe('For filters.'),
  runtime: z.enum(['gce', 'cloudrun-jobs']).optional().describe('For filters; not of a rejection.'),
  deployment: text('For filters.'),
  'ce-traceparent': text("The publisher's trace (W3C), when there was one.").optional(),
});
