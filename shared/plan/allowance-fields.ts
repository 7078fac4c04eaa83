// The fields of a request that say what it may do, and how long, how often and for how much.
import * as z from 'zod';
import type { Broken } from '#shared/plan/fault.ts';
import { field, group, textBy } from '#shared/plan/field.ts';
import * as limits from '#shared/plan/limits.ts';
import {
  isServiceAccount,
  SERVICE_ACCOUNT,
  SERVICE_ACCOUNT_RULE,
} from '#shared/plan/service-account.ts';
import { formOf } from '#shared/plan/text-form.ts';

const JOB_HAS_IT = 'the Job of Cloud Run fixes it';
const VM_ALONE = 'it is about a virtual machine';

const seconds = (min: number, max: number) => z.int().min(min).max(max);

const rightFields = {
  runtime: field(z.enum(['gce', 'cloudrun-jobs']), {
    rule: 'a runtime is gce or cloudrun-jobs',
    accepted: 'gce, cloudrun-jobs',
    fallback: 'the setting MAYFLY_DEFAULT_RUNTIME',
  }),
  provisioning: field(
    textBy((text) => brokenProvisioning(text), {}).pipe(
      z.enum(['standard', 'spot', 'spot-then-standard']),
    ),
    {
      rule: 'provisioning is standard, spot or spot-then-standard',
      accepted: 'standard, spot, spot-then-standard',
      fallback: 'standard',
      refusedOn: { 'cloudrun-jobs': VM_ALONE },
    },
  ),
  serviceAccount: field(
    textBy(
      (text) => (isServiceAccount(text) ? null : SERVICE_ACCOUNT_RULE),
      formOf(SERVICE_ACCOUNT),
    ),
    {
      ...SERVICE_ACCOUNT_RULE,
      fallback: 'the first of MAYFLY_WORKER_SERVICE_ACCOUNTS',
      refusedOn: { 'cloudrun-jobs': JOB_HAS_IT },
    },
  ),
  metadataAccess: field(z.boolean(), {
    rule: 'metadataAccess is true or false',
    accepted: 'true, false',
    fallback: 'the setting MAYFLY_METADATA_ACCESS_DEFAULT',
    refusedOn: { 'cloudrun-jobs': VM_ALONE },
  }),
  capabilities: field(z.array(z.string().regex(/^[A-Z][A-Z_]{1,31}$/)).max(41), {
    rule: 'capabilities are a list of Linux capabilities in capitals, without CAP_',
    accepted: '["SYS_PTRACE"]',
    refusedOn: { 'cloudrun-jobs': VM_ALONE },
  }),
} as const;

const retries = z
  .int()
  .min(0)
  .max(limits.ATTEMPTS_MAX - 1);
const retriesRule: Broken = {
  rule: `this is how often a cause is tried again, 0 to ${limits.ATTEMPTS_MAX - 1}`,
  accepted: `a whole number from 0 to ${limits.ATTEMPTS_MAX - 1}`,
};

const boundFields = {
  ttlSeconds: field(seconds(limits.TTL_SECONDS_MIN, limits.TTL_SECONDS_CEILING), {
    rule: `a machine lives ${limits.TTL_SECONDS_MIN} seconds at least, and the setting MAYFLY_TTL_SECONDS_MAX at most`,
    accepted: `a whole number from ${limits.TTL_SECONDS_MIN} to ${limits.TTL_SECONDS_CEILING}, as far as the setting allows`,
    fallback: String(limits.TTL_SECONDS_DEFAULT),
  }),
  timeoutSeconds: field(seconds(1, limits.TTL_SECONDS_CEILING), {
    rule: `the container's limit is at most ttlSeconds − ${limits.TIMEOUT_RESERVE_SECONDS}`,
    accepted: `a whole number from 1 to ${limits.TTL_SECONDS_CEILING - limits.TIMEOUT_RESERVE_SECONDS}`,
    fallback: `ttlSeconds − ${limits.TIMEOUT_RESERVE_DEFAULT_SECONDS}; on cloudrun-jobs no more than the platform allows, less MAYFLY_JOBS_TIMEOUT_MARGIN_S`,
  }),
  retry: group({
    preempted: field(retries, { ...retriesRule, fallback: '3' }),
    infrastructure: field(retries, { ...retriesRule, fallback: '2' }),
    outOfMemory: field(retries, { ...retriesRule, fallback: '1' }),
    failed: field(retries, { ...retriesRule, fallback: '0' }),
  }),
  waitForCapacitySeconds: field(seconds(0, limits.WAIT_SECONDS_MAX), {
    rule: `an attempt waits for capacity 0 to ${limits.WAIT_SECONDS_MAX} seconds`,
    accepted: `a whole number from 0 to ${limits.WAIT_SECONDS_MAX}`,
    fallback: String(limits.WAIT_SECONDS_DEFAULT),
  }),
  keepOnFailureSeconds: field(seconds(0, limits.TTL_SECONDS_CEILING), {
    rule: 'a failed machine is kept for a whole number of seconds, at most its TTL',
    accepted: `a whole number from 0 to ${limits.TTL_SECONDS_CEILING}`,
    fallback: '0',
    refusedOn: { 'cloudrun-jobs': VM_ALONE },
  }),
  gpuIdleSeconds: field(seconds(0, limits.TTL_SECONDS_CEILING), {
    rule: 'a run ends after a whole number of seconds without work on any GPU; 0 is off',
    accepted: `a whole number from 0 to ${limits.TTL_SECONDS_CEILING}`,
    fallback: '0',
    refusedOn: { 'cloudrun-jobs': VM_ALONE },
  }),
  budgetUsd: field(z.number().positive().max(limits.BUDGET_USD_CEILING), {
    rule: 'a budget is an amount of US dollars above 0',
    accepted: `for example 20; ${limits.BUDGET_USD_CEILING} at most`,
  }),
  tasks: field(z.int().min(1).max(limits.TASKS_MAX), {
    rule: `a run has 1 to ${limits.TASKS_MAX} tasks`,
    accepted: `a whole number from 1 to ${limits.TASKS_MAX}; runtime gce takes 1`,
    fallback: '1',
  }),
  service: field(z.never(), {
    rule: 'servers with a port are not yet there',
    accepted: 'leave it out',
  }),
} as const;

export const allowanceFields = { ...rightFields, ...boundFields } as const;

function brokenProvisioning(word: string): Broken | null {
  if (word !== 'flex-start' && word !== 'reservation') return null;
  return {
    rule: `${word} is a word kept for later: not yet`,
    accepted: 'standard, spot, spot-then-standard',
  };
}
