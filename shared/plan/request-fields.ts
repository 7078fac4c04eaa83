// Every field of a request (contract §1) with its rule, what it accepts, what stands when it is
// left out, and the runtime that cannot honour it. Reference documentation is made from this table.
import { z } from 'zod';
import type { Broken } from '#shared/plan/fault.ts';
import { field, group, mapBy, type Parsed, textBy } from '#shared/plan/field.ts';
import { brokenGsObject, brokenGsPrefix, brokenGsUri } from '#shared/plan/gs-uri.ts';
import { parseImageReference } from '#shared/plan/image-reference.ts';
import * as limits from '#shared/plan/limits.ts';
import { placeFields, resourceFields } from '#shared/plan/resource-fields.ts';
import { isRunId, RUN_ID_RULE } from '#shared/plan/run-id.ts';
import { brokenSecretVersion } from '#shared/plan/secret-version.ts';
import { isServiceAccount, SERVICE_ACCOUNT_RULE } from '#shared/plan/service-account.ts';
import { brokenFolder, brokenMountPath, brokenText } from '#shared/plan/text.ts';

const JOB_HAS_IT = 'the Job of Cloud Run fixes it';
const VM_ALONE = 'it is about a virtual machine';

const seconds = (min: number, max: number) => z.int().min(min).max(max);
const argumentsRule: Broken = {
  rule: `this is a list of at most ${limits.ARGUMENTS_MAX} texts`,
  accepted: '["--series", "a b"]',
};
const prefixesRule: Broken = {
  rule: 'this is an object from folders in the container to prefixes in Cloud Storage',
  accepted: '{"/out": "gs://my-bucket/out/"}',
};

const identity = {
  runId: field(
    textBy((text) => (isRunId(text) ? null : RUN_ID_RULE)),
    { ...RUN_ID_RULE, fallback: 'run-<message id>; a retry of the publisher is then a second run' },
  ),
  labels: field(
    mapBy(
      () => null,
      (text) => brokenText(text),
    ),
    {
      rule: 'labels are an object of texts',
      accepted: '{"team": "forecasting"}',
    },
  ),
  annotations: field(mapBy(brokenText, brokenText), {
    rule: 'annotations are an object of texts',
    accepted: '{"ticket": "any text"}',
  }),
} as const;

const container = {
  image: field(
    textBy((text) => {
      const parsed = parseImageReference(text);
      return parsed.kind === 'invalid' ? parsed : null;
    }),
    {
      rule: 'an image is a container image reference',
      accepted: 'for example europe-docker.pkg.dev/p/r/app:v1',
      fallback: 'required',
      refusedOn: { 'cloudrun-jobs': JOB_HAS_IT },
    },
  ),
  command: field(z.array(textBy(brokenText)).min(1).max(limits.ARGUMENTS_MAX), {
    ...argumentsRule,
    rule: `this is a list of 1 to ${limits.ARGUMENTS_MAX} texts`,
    fallback: "the image's entrypoint",
  }),
  args: field(z.array(textBy(brokenText)).max(limits.ARGUMENTS_MAX), {
    ...argumentsRule,
    fallback: "the image's",
  }),
  workingDir: field(textBy(brokenFolder), {
    rule: 'a working directory is an absolute path',
    accepted: '"/work"',
    fallback: "the image's",
  }),
  env: field(mapBy(brokenVariable, brokenText), {
    rule: 'env is an object from names of variables to texts',
    accepted: '{"NAME": "any text"}',
  }),
  secrets: field(mapBy(brokenSecretKey, brokenSecretVersion), {
    rule: 'secrets are an object from names of variables, or paths of files, to secret versions',
    accepted: '{"NAME": "projects/p/secrets/s/versions/3"}',
    refusedOn: { 'cloudrun-jobs': 'not yet there' },
  }),
  imageCredentials: field(textBy(brokenSecretVersion), {
    rule: 'this is a version of a secret that holds a Docker config',
    accepted: '"projects/p/secrets/s/versions/3"',
    refusedOn: { 'cloudrun-jobs': JOB_HAS_IT },
  }),
} as const;

const data = {
  package: group({
    uri: field(
      textBy((text) => brokenGsObject(text, '.tar.gz')),
      {
        rule: 'this is the address of a package',
        accepted: '"gs://b/runs/code/app-<sha256>.tar.gz"',
      },
    ),
    sha256: field(z.string().regex(/^[0-9a-f]{64}$/), {
      rule: 'a sha256 is 64 lower-case hexadecimal digits',
      accepted: 'the output of sha256sum',
      fallback: 'taken from a name that ends in it',
    }),
  }),
  inputs: field(mapBy(brokenMountPath, brokenGsUri), {
    rule: 'inputs are an object from paths in the container to objects or prefixes',
    accepted: '{"/data/in.csv": "gs://my-bucket/in.csv"}',
  }),
  outputs: field(mapBy(brokenMountPath, brokenGsPrefix), prefixesRule),
  checkpoint: field(mapBy(brokenMountPath, brokenGsPrefix), {
    ...prefixesRule,
    refusedOn: { gce: 'not yet there' },
  }),
} as const;

const rights = {
  runtime: field(z.enum(['gce', 'cloudrun-jobs']), {
    rule: 'a runtime is gce or cloudrun-jobs',
    accepted: 'gce, cloudrun-jobs',
    fallback: 'the setting DEFAULT_RUNTIME',
  }),
  provisioning: field(
    textBy((text) => brokenProvisioning(text)).pipe(
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
    textBy((text) => (isServiceAccount(text) ? null : SERVICE_ACCOUNT_RULE)),
    {
      ...SERVICE_ACCOUNT_RULE,
      fallback: 'the first of WORKER_SERVICE_ACCOUNTS',
      refusedOn: { 'cloudrun-jobs': JOB_HAS_IT },
    },
  ),
  metadataAccess: field(z.boolean(), {
    rule: 'metadataAccess is true or false',
    accepted: 'true, false',
    fallback: 'the setting METADATA_ACCESS_DEFAULT',
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

const bounds = {
  ttlSeconds: field(seconds(limits.TTL_SECONDS_MIN, limits.TTL_SECONDS_CEILING), {
    rule: `a machine lives ${limits.TTL_SECONDS_MIN} seconds at least, and the setting TTL_SECONDS_MAX at most`,
    accepted: `a whole number from ${limits.TTL_SECONDS_MIN}`,
    fallback: String(limits.TTL_SECONDS_DEFAULT),
  }),
  timeoutSeconds: field(seconds(1, limits.TTL_SECONDS_CEILING), {
    rule: `the container's limit is at most ttlSeconds − ${limits.TIMEOUT_RESERVE_SECONDS}`,
    accepted: 'a whole number from 1',
    fallback: `ttlSeconds − ${limits.TIMEOUT_RESERVE_DEFAULT_SECONDS}`,
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
    accepted: 'a whole number from 0',
    fallback: '0',
    refusedOn: { 'cloudrun-jobs': VM_ALONE },
  }),
  gpuIdleSeconds: field(seconds(0, limits.TTL_SECONDS_CEILING), {
    rule: 'a run ends after a whole number of seconds without work on any GPU; 0 is off',
    accepted: 'a whole number from 0',
    fallback: '0',
    refusedOn: { 'cloudrun-jobs': VM_ALONE },
  }),
  budgetUsd: field(z.number().positive().max(1_000_000), {
    rule: 'a budget is an amount of US dollars above 0',
    accepted: 'for example 20',
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

/** The whole request. */
export const requestFields = {
  ...identity,
  ...container,
  ...data,
  resources: group(resourceFields),
  place: group(placeFields),
  ...rights,
  ...bounds,
} as const;

export type ParsedRequest = Parsed<typeof requestFields>;

function brokenProvisioning(word: string): Broken | null {
  if (word !== 'flex-start' && word !== 'reservation') return null;
  return {
    rule: `${word} is a word kept for later: not yet`,
    accepted: 'standard, spot, spot-then-standard',
  };
}

/** Names that reach a container's environment; ours are ours. */
function brokenVariable(name: string): Broken | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return {
      rule: 'the name of a variable has letters, digits and "_", and begins with no digit',
      accepted: 'for example MODEL_NAME',
    };
  }
  if (!name.startsWith('MAYFLY_')) return null;
  return {
    rule: 'variables that begin with MAYFLY_ are set by Mayfly alone',
    accepted: 'another name',
  };
}

/** A secret reaches the container as a variable, or as the file at an absolute path. */
function brokenSecretKey(key: string): Broken | null {
  return key.startsWith('/') ? brokenMountPath(key) : brokenVariable(key);
}
