// The bucket: its settings, lifecycle rules by prefix, the object that names its deployment, and the
// notifications that start everything after a machine.
import { createHash } from 'node:crypto';
import { NOTIFICATIONS } from '#scripts/local-cloud/deployment/inventory.ts';
import { lifetimesOf } from '#scripts/local-cloud/deployment/lifetimes.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  type JsonObject,
} from '#scripts/local-cloud/json.ts';
import type { Deployed } from '#scripts/mayfly/doctor/deployed.ts';
import { type Finding, fault, firstBroken, ok } from '#scripts/mayfly/doctor/finding.ts';
import { judgeAnswer, unreadable } from '#scripts/mayfly/doctor/reader.ts';
import { ACTIVE_PREFIX, DEPLOYMENT_OBJECT } from '#shared/plan/objects.ts';

export async function checkBucket(deployed: Deployed): Promise<Finding[]> {
  const { reader, bucket } = deployed;
  const answer = await reader.get('STORAGE', `storage/v1/b/${bucket}`);
  const check = `bucket ${bucket}`;
  if (answer.kind === 'gone') return [fault(check, 'is missing', 'mayfly deploy')];
  if (answer.kind === 'unknown') return [unreadable(check, answer.error)];
  return [
    ok(check, 'there'),
    ...settingsOf(bucket, answer.body),
    checkLifecycle(deployed, answer.body),
    await checkName(deployed),
    ...(await checkNotifications(deployed)),
  ];
}

function settingsOf(bucket: string, body: JsonObject): Finding[] {
  const update = (flag: string) => `gcloud storage buckets update gs://${bucket} ${flag}`;
  const uniform = asObject(asObject(body.iamConfiguration).uniformBucketLevelAccess).enabled;
  const softDelete = asNumber(asObject(body.softDeletePolicy).retentionDurationSeconds) ?? 0;
  const versioned = asObject(body.versioning).enabled === true;
  return [
    firstBroken('bucket soft delete', [
      [
        softDelete === 0,
        `keeps and bills what is overwritten for ${softDelete} s: every heartbeat is`,
        update('--clear-soft-delete'),
      ],
    ]),
    firstBroken('bucket versioning', [
      [
        !versioned,
        'keeps and bills every version: heartbeats are versions',
        update('--no-versioning'),
      ],
    ]),
    firstBroken('bucket retention', [
      [
        body.retentionPolicy === undefined,
        'a retention policy refuses to overwrite or delete objects: no state can be written twice',
        update('--clear-retention-period'),
      ],
      [
        body.defaultEventBasedHold !== true,
        'new objects get a hold, which refuses to overwrite them: no state can be written twice',
        update('--no-default-event-based-hold'),
      ],
    ]),
    firstBroken('bucket uniform access', [
      [
        uniform === true,
        'object ACLs count, and the conditions on prefixes do not hold alone',
        update('--uniform-bucket-level-access'),
      ],
    ]),
  ];
}

interface DeleteRule {
  readonly age: number;
  readonly prefixes: readonly string[];
  /** Other conditions besides: it takes some of the objects alone. */
  readonly narrow: boolean;
}

/** Conditions that no live object meets. */
const OF_OLD_VERSIONS = ['daysSinceNoncurrentTime', 'noncurrentTimeBefore', 'numNewerVersions'];

function deleteRules(body: JsonObject): DeleteRule[] {
  const spares = (condition: JsonObject) =>
    condition.isLive === false || OF_OLD_VERSIONS.some((name) => name in condition);
  return asArray(asObject(body.lifecycle).rule)
    .map(asObject)
    .filter(({ action, condition }) => {
      return asObject(action).type === 'Delete' && !spares(asObject(condition));
    })
    .map(({ condition }) => {
      const { age, matchesPrefix, ...more } = asObject(condition);
      const prefixes = matchesPrefix === undefined ? [''] : asArray(matchesPrefix).map(String);
      return { age: asNumber(age) ?? 0, prefixes, narrow: Object.keys(more).length > 0 };
    });
}

/** What runs leave goes by age, never from under a run that is alive; what is active never goes. */
function checkLifecycle({ settings }: Deployed, body: JsonObject): Finding {
  const rules = deleteRules(body);
  const emptied = (name: string) =>
    rules.some(({ prefixes, narrow }) => !narrow && prefixes.some((one) => name.startsWith(one)));
  /** Of the rule that takes the first object there; infinite when none does. */
  const daysOf = (name: string) => {
    const touches = (one: string) => name.startsWith(one) || one.startsWith(name);
    return Math.min(
      ...rules.filter(({ prefixes }) => prefixes.some(touches)).map(({ age }) => age),
      Number.POSITIVE_INFINITY,
    );
  };
  const wanted = lifetimesOf(settings?.retentionDays ?? 0).flatMap(({ days, prefixes }) =>
    prefixes.map((name) => ({ name, days })),
  );
  const without = wanted.map(({ name }) => name).filter((name) => !emptied(name));
  const lost = [ACTIVE_PREFIX, DEPLOYMENT_OBJECT].filter((name) => Number.isFinite(daysOf(name)));
  const early = wanted
    .filter(({ name, days }) => daysOf(name) < days)
    .map(({ name, days }) => `${name} after ${daysOf(name)} days, not ${days}`);
  return firstBroken('bucket lifecycle', [
    [lost.length === 0, `a rule deletes ${lost.join(', ')}, which must stay`, 'mayfly deploy'],
    [
      early.length === 0,
      `a rule may delete objects of a run that is alive or kept: ${early.join('; ')}`,
      'mayfly deploy',
    ],
    [without.length === 0, `nothing deletes old ${without.join(', ')}`, 'mayfly deploy'],
  ]);
}

/** By its checksum: the name itself is the whole content. */
async function checkName({ reader, bucket, deployment }: Deployed): Promise<Finding> {
  const check = `object ${DEPLOYMENT_OBJECT}`;
  const path = `storage/v1/b/${bucket}/o/${encodeURIComponent(DEPLOYMENT_OBJECT)}`;
  const sums = [deployment, `${deployment}\n`].map((text) =>
    createHash('md5').update(text).digest('base64'),
  );
  return judgeAnswer(check, await reader.get('STORAGE', path), {
    missing: 'mayfly deploy',
    judge: ({ md5Hash }) =>
      sums.includes(String(md5Hash))
        ? ok(check, `says ${deployment}`)
        : fault(
            check,
            `does not say ${deployment}: every function refuses to work`,
            'one bucket serves one deployment: set --bucket or --deployment to the right one',
          ),
  });
}

async function checkNotifications({ reader, bucket, project, deployment }: Deployed) {
  const answer = await reader.get('STORAGE', `storage/v1/b/${bucket}/notificationConfigs`);
  return NOTIFICATIONS.map(({ prefix, topic }): Finding => {
    const check = `notification ${prefix}`;
    if (answer.kind === 'unknown') return unreadable(check, answer.error);
    const items = answer.kind === 'gone' ? [] : asArray(answer.body.items).map(asObject);
    const name = `${deployment}-${topic}`;
    const found = items.find(
      (item) =>
        item.object_name_prefix === prefix &&
        asString(item.topic) === `//pubsub.googleapis.com/projects/${project}/topics/${name}` &&
        item.payload_format === 'JSON_API_V1' &&
        asArray(item.event_types).includes('OBJECT_FINALIZE'),
    );
    if (found !== undefined) return ok(check, `to ${name}`);
    const fix = `gcloud storage buckets notifications create gs://${bucket} --topic=${name} --payload-format=json --event-types=OBJECT_FINALIZE --object-prefix=${prefix}`;
    return fault(check, `new objects there are not announced on ${name}`, fix);
  });
}
