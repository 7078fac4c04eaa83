// The rules of the settings that every name, address and identity of a machine is made of. The settings'
// parser reads by them, and no plan is made against them.
import type { Broken } from '#shared/plan/fault.ts';
import { BUCKET_NAME } from '#shared/plan/gs-uri.ts';

/** Texts of one form. */
export interface TextRule extends Broken {
  readonly pattern: RegExp;
}

export const PROJECT_RULE: TextRule = {
  pattern: /^(?:[a-z0-9.-]+:)?[a-z](?:[a-z0-9-]{0,28}[a-z0-9])?$/,
  rule: 'a project is given by its id, not its number or title',
  accepted: 'my-project-123',
};

export const BUCKET_RULE: TextRule = {
  pattern: BUCKET_NAME,
  rule: 'a bucket is given by its bare name, without gs:// and without a slash',
  accepted: 'my-project-mayfly',
};

export const DEPLOYMENT_RULE: TextRule = {
  pattern: /^[a-z][a-z0-9-]{0,15}$/,
  rule: 'it begins with a letter and has lower-case letters, digits and hyphens, 16 at most',
  accepted: 'mayfly',
};

/** Base images of Cloud Run Jobs, and what stands for one. */
export const BASE_RULE: TextRule = {
  pattern: /^[a-z](?:[a-z0-9-]{0,22}[a-z0-9])?$/,
  rule: 'a base has lower-case letters, digits and hyphens, 24 at most',
  accepted: 'base-ml',
};

export const JOB_TEMPLATE_RULE: TextRule = {
  pattern:
    /^(?=.*\{base\})(?=.*\{class\})(?:[a-z]|\{(?:deployment|base|class)\})(?:[a-z0-9-]|\{(?:deployment|base|class)\})*(?<!-)$/,
  rule: 'a template has {base} and {class}, and else lower-case letters, digits, hyphens and {deployment}',
  accepted: '{deployment}-{base}-{class}',
};

const METADATA_KEY = /^[A-Za-z0-9_-]{1,127}$/;
/** Keys that planning writes itself (contract §2), and others that a boot image would run. */
const OUR_METADATA_KEYS = new Set([
  'startup-script',
  'startup-script-url',
  'shutdown-script',
  'shutdown-script-url',
  'google-logging-enabled',
  'enable-guest-attributes',
  'user-data',
]);

/** What is wrong with a metadata key of the deployment's own. */
export function brokenMetadataKey(key: string): Broken | null {
  const accepted = 'letters, digits, - and _, 127 at most';
  if (OUR_METADATA_KEYS.has(key) || key.startsWith('mayfly-')) {
    return { rule: `${JSON.stringify(key)} is a key of our own`, accepted };
  }
  if (METADATA_KEY.test(key)) return null;
  return { rule: `${JSON.stringify(key)} is no legal metadata key`, accepted };
}
