// Every field of a request (contract §1) with its rule, what it accepts, what stands when it is
// left out, and the runtime that cannot honour it. Reference documentation is made from this table.
import * as z from 'zod';
import { allowanceFields } from '#shared/plan/allowance-fields.ts';
import type { Broken } from '#shared/plan/fault.ts';
import { field, group, mapBy, type Parsed, textBy } from '#shared/plan/field.ts';
import { brokenGsObject, brokenGsPrefix, brokenGsUri } from '#shared/plan/gs-uri.ts';
import { IMAGE_FORM, parseImageReference } from '#shared/plan/image-reference.ts';
import * as limits from '#shared/plan/limits.ts';
import { placeFields, resourceFields } from '#shared/plan/resource-fields.ts';
import { isRunId, RUN_ID, RUN_ID_RULE } from '#shared/plan/run-id.ts';
import { brokenSecretVersion, SECRET_VERSION } from '#shared/plan/secret-version.ts';
import { brokenFolder, brokenMountPath, brokenText } from '#shared/plan/text.ts';
import * as form from '#shared/plan/text-form.ts';
import { formOf } from '#shared/plan/text-form.ts';

const JOB_HAS_IT = 'the Job of Cloud Run fixes it';

const argumentsRule: Broken = {
  rule: `this is a list of at most ${limits.ARGUMENTS_MAX} texts`,
  accepted: '["--series", "a b"]',
};
const prefixesRule: Broken = {
  rule: 'this is an object from folders in the container to prefixes in Cloud Storage',
  accepted: '{"/out": "gs://my-bucket/out/"}',
};

const texts = { key: form.ANY_TEXT, value: form.ANY_TEXT };
const prefixes = { key: form.MOUNT_PATH, value: form.GS_PREFIX };

const identity = {
  runId: field(
    textBy((text) => (isRunId(text) ? null : RUN_ID_RULE), formOf(RUN_ID)),
    { ...RUN_ID_RULE, fallback: 'run-<message id>; a retry of the publisher is then a second run' },
  ),
  labels: field(
    mapBy(
      () => null,
      (text) => brokenText(text),
      { key: {}, value: form.ANY_TEXT },
    ),
    {
      rule: 'labels are an object of texts',
      accepted: '{"team": "forecasting"}',
    },
  ),
  annotations: field(mapBy(brokenText, brokenText, texts), {
    rule: 'annotations are an object of texts',
    accepted: '{"ticket": "any text"}',
  }),
} as const;

const container = {
  image: field(
    textBy((text) => {
      const parsed = parseImageReference(text);
      return parsed.kind === 'invalid' ? parsed : null;
    }, formOf(IMAGE_FORM)),
    {
      rule: 'an image is a container image reference',
      accepted: 'for example europe-docker.pkg.dev/p/r/app:v1',
      fallback: 'required',
      refusedOn: { 'cloudrun-jobs': JOB_HAS_IT },
    },
  ),
  command: field(z.array(textBy(brokenText, form.ANY_TEXT)).min(1).max(limits.ARGUMENTS_MAX), {
    ...argumentsRule,
    rule: `this is a list of 1 to ${limits.ARGUMENTS_MAX} texts`,
    fallback: "the image's entrypoint; required on cloudrun-jobs",
  }),
  args: field(z.array(textBy(brokenText, form.ANY_TEXT)).max(limits.ARGUMENTS_MAX), {
    ...argumentsRule,
    fallback: "the image's",
  }),
  workingDir: field(textBy(brokenFolder, form.FOLDER), {
    rule: 'a working directory is an absolute path',
    accepted: '"/work"',
    fallback: "the image's",
  }),
  env: field(mapBy(brokenVariable, brokenText, { key: form.VARIABLE, value: form.ANY_TEXT }), {
    rule: 'env is an object from names of variables to texts',
    accepted: '{"NAME": "any text"}',
  }),
  secrets: field(
    mapBy(brokenSecretKey, brokenSecretVersion, {
      key: form.SECRET_KEY,
      value: formOf(SECRET_VERSION),
    }),
    {
      rule: 'secrets are an object from names of variables, or paths of files, to secret versions',
      accepted: '{"NAME": "projects/p/secrets/s/versions/3"}',
      refusedOn: { 'cloudrun-jobs': 'not yet there' },
    },
  ),
  imageCredentials: field(textBy(brokenSecretVersion, formOf(SECRET_VERSION)), {
    rule: 'this is a version of a secret that holds a Docker config',
    accepted: '"projects/p/secrets/s/versions/3"',
    refusedOn: { 'cloudrun-jobs': JOB_HAS_IT },
  }),
} as const;

const data = {
  package: group({
    uri: field(
      textBy((text) => brokenGsObject(text, '.tar.gz'), form.GS_PACKAGE),
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
  inputs: field(mapBy(brokenMountPath, brokenGsUri, { key: form.MOUNT_PATH, value: form.GS_URI }), {
    rule: 'inputs are an object from paths in the container to objects or prefixes',
    accepted: '{"/data/in.csv": "gs://my-bucket/in.csv"}',
  }),
  outputs: field(mapBy(brokenMountPath, brokenGsPrefix, prefixes), prefixesRule),
  checkpoint: field(mapBy(brokenMountPath, brokenGsPrefix, prefixes), {
    ...prefixesRule,
    refusedOn: { gce: 'not yet there' },
  }),
} as const;

/** The whole request. */
export const requestFields = {
  ...identity,
  ...container,
  ...data,
  resources: group(resourceFields),
  place: group(placeFields),
  ...allowanceFields,
} as const;

export type ParsedRequest = Parsed<typeof requestFields>;

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
