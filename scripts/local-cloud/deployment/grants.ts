// What each account of the local deployment may do: the same roles that Terraform gives, as grants of
// the local cloud. Workers reach their own prefixes, and the folders that runs read and write.
import {
  LOCAL_BUCKET,
  LOCAL_DEPLOYMENT,
  LOCAL_PROJECT,
  localAccount,
} from '#scripts/local-cloud/deployment/environment.ts';
import type { Grant } from '#scripts/local-cloud/iam.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';
import { MARKER_PREFIX } from '#shared/plan/objects.ts';

/** Folders of the bucket for the data of runs: inputs are read, outputs written. */
export const DATA_FOLDERS = ['data/', 'forecasts/', 'outputs/'] as const;

const OBJECTS_READ = ['storage.objects.get', 'storage.objects.list'];
const OBJECTS_WRITE = [...OBJECTS_READ, 'storage.objects.create', 'storage.objects.delete'];
const MACHINES_END = [
  ...['compute.instances.get', 'compute.instances.delete', 'compute.instances.getGuestAttributes'],
  ...['compute.zoneOperations.get', 'compute.zoneOperations.list'],
];
const MACHINES_MAKE = [
  ...['compute.instances.create', 'compute.instances.setLabels', 'compute.instances.setMetadata'],
  ...['compute.instances.setServiceAccount', 'compute.instances.setTags', 'compute.disks.create'],
  ...['compute.subnetworks.use', 'compute.subnetworks.useExternalIp'],
];
/** What every function may ask of executions: it looks, cancels, and reads how tasks ended. */
const EXECUTIONS = [
  ...['run.executions.get', 'run.executions.list', 'run.executions.cancel', 'run.tasks.list'],
];
const PLACES = ['compute.machineTypes.list', 'compute.regions.get', 'compute.projects.get'];
const LISTS = [
  'compute.instances.list',
  'compute.disks.list',
  'compute.disks.get',
  'compute.disks.delete',
];

/** `objects`: more places (`gs://bucket/prefix`) that the runs' machines may read and write. */
export function localGrants(objects: readonly string[] = []): readonly Grant[] {
  const bucket = `projects/_/buckets/${LOCAL_BUCKET}`;
  const topics = `projects/${LOCAL_PROJECT}/topics/${LOCAL_DEPLOYMENT}-`;
  const grant = (name: string, permissions: readonly string[], resourcePrefix: string): Grant => ({
    principal: localAccount(name),
    permissions,
    resourcePrefix,
  });
  const project = `projects/${LOCAL_PROJECT}`;
  const data = [...DATA_FOLDERS.map((folder) => `gs://${LOCAL_BUCKET}/${folder}`), ...objects];
  return [
    grant('submit', OBJECTS_WRITE, bucket),
    grant('submit', OBJECTS_READ, 'projects/_/buckets/'),
    grant('submit', [...MACHINES_MAKE, ...MACHINES_END, ...PLACES], project),
    grant('submit', ['iam.serviceAccounts.actAs'], project),
    grant('submit', ['run.jobs.run', 'run.jobs.runWithOverrides', ...EXECUTIONS], project),
    ...['jobs-reader', 'jobs-uploader'].map((signer) =>
      grant('submit', ['iam.serviceAccounts.signBlob'], accountPath(localAccount(signer))),
    ),
    grant('submit', ['pubsub.topics.publish'], topics),
    grant('finalize', OBJECTS_WRITE, bucket),
    grant('finalize', [...MACHINES_END, ...EXECUTIONS], project),
    grant('finalize', ['pubsub.topics.publish'], topics),
    grant('signals', OBJECTS_WRITE, bucket),
    grant('signals', [...MACHINES_END, 'compute.disks.delete', ...EXECUTIONS], project),
    grant('signals', ['pubsub.topics.publish'], topics),
    grant('sweep', OBJECTS_WRITE, bucket),
    grant('sweep', [...MACHINES_END, ...LISTS, ...EXECUTIONS, 'run.jobs.list'], project),
    grant('sweep', ['pubsub.topics.publish'], topics),
    grant('notify', OBJECTS_READ, bucket),
    grant('notify', ['pubsub.topics.publish'], topics),
    ...workerGrants(data),
    ...taskGrants(data),
  ];
}

/**
 * A task itself may read and delete its bootstrap, and nothing else: all the rest it does by what the
 * reader and the uploader have signed. Without the right to delete the uploader writes a name once.
 */
function taskGrants(data: readonly string[]): readonly Grant[] {
  const grant = (name: string, permissions: readonly string[], uri: string): Grant => ({
    principal: localAccount(name),
    permissions,
    resourcePrefix: objectPath(uri),
  });
  const bucket = `gs://${LOCAL_BUCKET}/`;
  return [
    grant(
      'jobs-task',
      ['storage.objects.get', 'storage.objects.delete'],
      `${bucket}runs/bootstrap/`,
    ),
    ...[bucket, ...data].map((uri) => grant('jobs-reader', ['storage.objects.get'], uri)),
    ...['runs/work/', MARKER_PREFIX].map((prefix) =>
      grant('jobs-uploader', ['storage.objects.create'], `${bucket}${prefix}`),
    ),
    ...data.map((uri) =>
      grant('jobs-uploader', ['storage.objects.create', 'storage.objects.delete'], uri),
    ),
  ];
}

const accountPath = (email: string) => `projects/-/serviceAccounts/${email}`;

/**
 * Deleting is what overwriting needs; machines neither get nor list machines, and read every secret of
 * the local project.
 */
function workerGrants(objects: readonly string[]): readonly Grant[] {
  const principal = localAccount('worker');
  const own = [MARKER_PREFIX, 'runs/work/'].map((prefix) => `gs://${LOCAL_BUCKET}/${prefix}`);
  const writing = [...own, ...objects].map((uri) => {
    const permissions = ['storage.objects.get', 'storage.objects.create', 'storage.objects.delete'];
    return { principal, permissions, resourcePrefix: objectPath(uri) };
  });
  return [
    ...writing,
    {
      principal,
      permissions: ['storage.objects.get'],
      resourcePrefix: objectPath(`gs://${LOCAL_BUCKET}/runs/code/`),
    },
    {
      principal,
      permissions: ['compute.instances.delete'],
      resourcePrefix: `projects/${LOCAL_PROJECT}/zones/`,
    },
    {
      principal,
      permissions: ['logging.logEntries.create'],
      resourcePrefix: `projects/${LOCAL_PROJECT}`,
    },
    {
      principal,
      permissions: ['secretmanager.versions.access'],
      resourcePrefix: `projects/${LOCAL_PROJECT}/secrets/`,
    },
  ];
}

/** `gs://bucket/name` as the resource name that IAM conditions compare. */
function objectPath(uri: string): string {
  const { bucket, object } = requireGsUri(uri);
  return `projects/_/buckets/${bucket}/objects/${object}`;
}
