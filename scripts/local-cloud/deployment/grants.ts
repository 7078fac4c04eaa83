// What each account of the local deployment may do: the table that Terraform makes its roles and bindings
// from, as grants of the local cloud.
import {
  LOCAL_BUCKET,
  LOCAL_DEPLOYMENT,
  LOCAL_PROJECT,
  localAccount,
} from '#scripts/local-cloud/deployment/environment.ts';
import type { Grant } from '#scripts/local-cloud/iam.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';
import table from '../../../terraform/grants.json' with { type: 'json' };

/** Folders of the bucket for the data of runs: inputs are read, outputs written. */
export const DATA_FOLDERS = ['data/', 'forecasts/', 'outputs/'] as const;

export interface GrantRow {
  readonly account: string;
  readonly on: string;
  readonly permissions: readonly string[];
  /** Of `topics` and `accounts`. */
  readonly names?: readonly string[];
  /** Of `bucket`: only objects whose names begin so. */
  readonly prefixes?: readonly string[];
}

export const GRANT_ROWS: readonly GrantRow[] = table;

export interface GrantPlace {
  readonly project: string;
  readonly bucket: string;
  readonly deployment: string;
  readonly emailOf: (account: string) => string;
  /** `gs://bucket/prefix`: what runs read and write. */
  readonly data: readonly string[];
}

/** `objects`: more places (`gs://bucket/prefix`) that the runs' machines may read and write. */
export function localGrants(objects: readonly string[] = []): readonly Grant[] {
  const data = [...DATA_FOLDERS.map((folder) => `gs://${LOCAL_BUCKET}/${folder}`), ...objects];
  const place: GrantPlace = {
    project: LOCAL_PROJECT,
    bucket: LOCAL_BUCKET,
    deployment: LOCAL_DEPLOYMENT,
    emailOf: localAccount,
    data,
  };
  return GRANT_ROWS.flatMap((row) => grantsOf(row, place));
}

/** One row of the table as grants: one for each beginning of names. */
export function grantsOf(row: GrantRow, place: GrantPlace): readonly Grant[] {
  return resourcesOf(row, place).map((resourcePrefix) => ({
    principal: place.emailOf(row.account),
    permissions: row.permissions,
    resourcePrefix,
  }));
}

function resourcesOf({ on, names = [], prefixes }: GrantRow, place: GrantPlace): readonly string[] {
  const { project, bucket, deployment } = place;
  switch (on) {
    case 'bucket':
      return prefixes === undefined
        ? [`projects/_/buckets/${bucket}`]
        : prefixes.map((prefix) => `projects/_/buckets/${bucket}/objects/${prefix}`);
    case 'data':
      return place.data.map(objectPath);
    case 'topics':
      return names.map((name) => `projects/${project}/topics/${deployment}-${name}`);
    case 'accounts':
      return names.map((name) => `projects/-/serviceAccounts/${place.emailOf(name)}`);
    case 'instances':
      return [`projects/${project}/zones/*/instances/${deployment}-`];
    case 'secrets':
      return [`projects/${project}/secrets/`];
    case 'project':
      return [`projects/${project}`];
    default:
      throw new Error(`terraform/grants.json: ${on} is no kind of resource`);
  }
}

/** `gs://bucket/name` as the resource name that IAM conditions compare. */
function objectPath(uri: string): string {
  const { bucket, object } = requireGsUri(uri);
  return `projects/_/buckets/${bucket}/objects/${object}`;
}
