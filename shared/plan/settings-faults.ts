// What no plan can be made without, whatever the request: the settings that every name, address and
// identity of a machine is made of. The settings' own parser names faults first; this is the guard.
import { fault } from '#shared/plan/fault.ts';
import { METADATA_TOTAL_BYTES_MAX, METADATA_VALUE_BYTES_MAX } from '#shared/plan/limits.ts';
import { settingsMetadataBytes } from '#shared/plan/metadata-size.ts';
import type { Fault, PlanSettings } from '#shared/plan/model.ts';
import { isServiceAccount, SERVICE_ACCOUNT_RULE } from '#shared/plan/service-account.ts';
import {
  BUCKET_RULE,
  brokenMetadataKey,
  DEPLOYMENT_RULE,
  PROJECT_RULE,
  type TextRule,
} from '#shared/plan/setting-rules.ts';

/** What the two scripts and our own keys leave of the machine's metadata. */
const METADATA_ROOM_BYTES = METADATA_TOTAL_BYTES_MAX - METADATA_VALUE_BYTES_MAX - 16 * 1024;

/** Faults of the settings, named as their variables are. */
export function settingsFaults(settings: PlanSettings): Fault[] {
  return [
    ...textFaults('MAYFLY_DEPLOYMENT', settings.deployment, DEPLOYMENT_RULE),
    ...textFaults('MAYFLY_PROJECT', settings.project, PROJECT_RULE),
    ...textFaults('MAYFLY_BUCKET', settings.bucket, BUCKET_RULE),
    ...metadataFaults(settings),
    ...settings.workerServiceAccounts
      .filter((account) => !isServiceAccount(account))
      .map((account) => fault('MAYFLY_WORKER_SERVICE_ACCOUNTS', account, SERVICE_ACCOUNT_RULE)),
  ];
}

function textFaults(name: string, value: string, rule: TextRule): Fault[] {
  return rule.pattern.test(value) ? [] : [fault(name, value, rule)];
}

function metadataFaults(settings: PlanSettings): Fault[] {
  const name = 'MAYFLY_INSTANCE_METADATA';
  const faults = Object.keys(settings.instanceMetadata).flatMap((key) => {
    const broken = brokenMetadataKey(key);
    return broken === null ? [] : [fault(name, key, broken)];
  });
  const bytes = settingsMetadataBytes(settings);
  if (bytes <= METADATA_ROOM_BYTES) return faults;
  const rule = 'the metadata leaves room for the scripts';
  const accepted = `${METADATA_ROOM_BYTES} bytes`;
  return [...faults, fault(name, `${bytes} bytes`, { rule, accepted })];
}
