// What no plan can be made without, whatever the request: the settings that every name, address and
// identity of a machine is made of. The settings' own parser names faults first; this is the guard.
import { fault } from '#shared/plan/fault.ts';
import { isBucketName } from '#shared/plan/gs-uri.ts';
import { METADATA_TOTAL_BYTES_MAX, METADATA_VALUE_BYTES_MAX } from '#shared/plan/limits.ts';
import { settingsMetadataBytes } from '#shared/plan/metadata-size.ts';
import type { Fault, PlanSettings } from '#shared/plan/model.ts';
import { isServiceAccount, SERVICE_ACCOUNT_RULE } from '#shared/plan/service-account.ts';

const DEPLOYMENT = /^[a-z][a-z0-9-]{0,15}$/;
const PROJECT = /^(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{0,62}$/;
const METADATA_KEY = /^[A-Za-z0-9_-]{1,127}$/;
const OUR_KEYS = new Set([
  'startup-script',
  'startup-script-url',
  'shutdown-script',
  'shutdown-script-url',
  'google-logging-enabled',
  'enable-guest-attributes',
  'mayfly-attempt',
  'mayfly-nonce',
]);

/** Faults of the settings, named as their variables are. */
export function settingsFaults(settings: PlanSettings): Fault[] {
  const faults: Fault[] = [];
  const need = (name: string, value: string, right: boolean, rule: string, accepted: string) => {
    if (!right) faults.push(fault(`MAYFLY_${name}`, value, { rule, accepted }));
  };
  const { deployment, project, bucket } = settings;
  need(
    'DEPLOYMENT',
    deployment,
    DEPLOYMENT.test(deployment),
    'a deployment has 1 to 16 lower-case letters, digits or "-"',
    'mayfly',
  );
  need('PROJECT', project, PROJECT.test(project), 'a project is given by its id', 'my-project');
  need(
    'BUCKET',
    bucket,
    isBucketName(bucket),
    'a deployment has a bucket: without it no run could report',
    'my-bucket',
  );
  for (const key of Object.keys(settings.instanceMetadata)) {
    const free = METADATA_KEY.test(key) && !OUR_KEYS.has(key);
    need(
      'INSTANCE_METADATA',
      key,
      free,
      "a metadata key has letters, digits, '_' and '-', and is none of Mayfly's",
      'another key',
    );
  }
  for (const account of settings.workerServiceAccounts) {
    if (isServiceAccount(account)) continue;
    faults.push(fault('MAYFLY_WORKER_SERVICE_ACCOUNTS', account, SERVICE_ACCOUNT_RULE));
  }
  const bytes = settingsMetadataBytes(settings);
  const room = METADATA_TOTAL_BYTES_MAX - METADATA_VALUE_BYTES_MAX - 16 * 1024;
  need(
    'INSTANCE_METADATA',
    `${bytes} bytes`,
    bytes <= room,
    'the metadata leaves room for the scripts',
    `${room} bytes`,
  );
  return faults;
}
