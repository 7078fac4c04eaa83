// The accounts, and what each may do: every line of the table that Terraform makes its roles from.
import { GRANT_ROWS, type GrantRow } from '#scripts/local-cloud/deployment/grants.ts';
import { FUNCTION_NAMES, JOBS_ACCOUNTS } from '#scripts/local-cloud/deployment/inventory.ts';
import { type Access, checkAccess } from '#scripts/mayfly/doctor/access.ts';
import { accountOf, type Deployed } from '#scripts/mayfly/doctor/deployed.ts';
import { type Finding, fault, ok } from '#scripts/mayfly/doctor/finding.ts';
import { eachOf, judgeAnswer } from '#scripts/mayfly/doctor/reader.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';

export function checkAccounts(deployed: Deployed): Promise<Finding[]> {
  const { reader, project } = deployed;
  const emails = new Set([
    ...[...FUNCTION_NAMES, 'push', ...jobsAccounts(deployed)].map((name) =>
      accountOf(deployed, name),
    ),
    ...workersOf(deployed),
  ]);
  return eachOf([...emails], async (email) => {
    const check = `account ${email}`;
    const home = /@([^.]+)\.iam\.gserviceaccount\.com$/.exec(email)?.[1] ?? project;
    const answer = await reader.get('IAM', `v1/projects/${home}/serviceAccounts/${email}`);
    return judgeAnswer(check, answer, {
      missing: 'mayfly deploy',
      judge: ({ disabled }) =>
        disabled === true
          ? fault(check, 'is disabled', `gcloud iam service-accounts enable ${email}`)
          : ok(check, 'there'),
    });
  });
}

const workersOf = (deployed: Deployed) =>
  deployed.settings?.plan.workerServiceAccounts ?? [accountOf(deployed, 'worker')];

/** Without signers there is no second runtime. */
const jobsAccounts = ({ settings }: Deployed) =>
  settings?.plan.jobs.readerServiceAccount == null ? [] : JOBS_ACCOUNTS;

/** `missing`: emails and topics that are not there; what they lack is no finding of its own. */
export async function checkPermissions(
  deployed: Deployed,
  missing: ReadonlySet<string>,
): Promise<Finding[]> {
  const questions = new Map<string, Access[]>();
  for (const grant of GRANT_ROWS) {
    if (JOBS_ACCOUNTS.includes(grant.account) && jobsAccounts(deployed).length === 0) continue;
    for (const permission of grant.permissions) {
      const check = `permission ${grant.account}: ${permission}`;
      const asked = accessesOf(deployed, grant, missing).map((one) => ({ ...one, permission }));
      questions.set(check, [...(questions.get(check) ?? []), ...asked]);
    }
  }
  const pull = 'artifactregistry.repositories.downloadArtifacts';
  const pulls = workersOf(deployed).filter((principal) => !missing.has(principal));
  questions.set(
    `permission worker: ${pull}`,
    pulls.flatMap((principal) =>
      repositoriesOf(deployed).map((resource) => ({ principal, permission: pull, resource })),
    ),
  );
  const findings = await eachOf([...questions], ([check, asked]) => ask(deployed, check, asked));
  return findings.flat();
}

/** The worst answer of all places where the account needs the permission. */
async function ask(deployed: Deployed, check: string, asked: readonly Access[]) {
  const findings = await eachOf(asked, (access) =>
    checkAccess(deployed.reader, check, access, fixOf(access)),
  );
  const worst = ['fault', 'unknown', 'ok']
    .map((state) => findings.find((finding) => finding.state === state))
    .find((finding) => finding !== undefined);
  return worst === undefined ? [] : [worst];
}

function fixOf({ permission, principal, resource }: Access): string {
  if (!permission.startsWith('artifactregistry.')) {
    return `mayfly deploy (gives ${permission} to ${principal})`;
  }
  const member = `--member=serviceAccount:${principal} --role=roles/artifactregistry.reader`;
  const [, home, location, repository] =
    /projects\/(.+)\/locations\/(.+)\/repositories\/(.+)$/.exec(resource) ?? [];
  return `gcloud artifacts repositories add-iam-policy-binding ${repository} --project=${home} --location=${location} ${member}`;
}

/** The right is a repository's, so without images there is nothing to ask for. */
function repositoriesOf({ used }: Deployed): readonly string[] {
  return used.images.map((image) => {
    const [, location, home, repository] =
      /^([a-z0-9-]+)-docker\.pkg\.dev\/([^/]+)\/([^/]+)\//.exec(image) ?? [];
    if (location === undefined) {
      throw usageError(`--image ${image} is not LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/NAME`);
    }
    const place = `projects/${home}/locations/${location}/repositories/${repository}`;
    return `//artifactregistry.googleapis.com/${place}`;
  });
}

const projectName = (project: string) =>
  `//cloudresourcemanager.googleapis.com/projects/${project}`;

type Place = Omit<Access, 'permission' | 'principal'>;

function accessesOf(deployed: Deployed, grant: GrantRow, missing: ReadonlySet<string>) {
  const principals =
    grant.account === 'worker' ? workersOf(deployed) : [accountOf(deployed, grant.account)];
  return principals
    .filter((principal) => !missing.has(principal))
    .flatMap((principal) =>
      placesOf(deployed, grant, missing).map((place) => ({ ...place, principal })),
    );
}

/** Buckets of runs' data and secrets are variables of Terraform: those that the caller names. */
function placesOf(deployed: Deployed, grant: GrantRow, missing: ReadonlySet<string>): Place[] {
  const { project, bucket, deployment, settings, used } = deployed;
  switch (grant.on) {
    case 'project':
      return [{ resource: projectName(project) }];
    case 'bucket':
      return (grant.prefixes ?? ['']).map((prefix) => objectPlace(bucket, prefix));
    case 'topics':
      return (grant.names ?? [])
        .map((name) => `projects/${project}/topics/${deployment}-${name}`)
        .filter((name) => !missing.has(name))
        .map((name) => ({ resource: `//pubsub.googleapis.com/${name}` }));
    case 'accounts':
      return (grant.names ?? [])
        .flatMap((name) => (name === 'worker' ? workersOf(deployed) : [accountOf(deployed, name)]))
        .filter((email) => !missing.has(email))
        .map((email) => ({
          resource: `//iam.googleapis.com/projects/${project}/serviceAccounts/${email}`,
        }));
    case 'instances':
      return [instancePlace(project, `${settings?.plan.regions[0]}-b`, `${deployment}-doctor`)];
    case 'data':
      return used.data.map((uri) => {
        const { bucket: other, object } = requireGsUri(uri);
        return objectPlace(other, object);
      });
    case 'secrets':
      return used.secrets.map((name) => ({ resource: `//secretmanager.googleapis.com/${name}` }));
    default:
      throw new Error(`terraform/grants.json: ${grant.on} is no kind of resource`);
  }
}

function objectPlace(bucket: string, prefix: string): Place {
  const resource = `//storage.googleapis.com/projects/_/buckets/${bucket}`;
  const name = `projects/_/buckets/${bucket}/objects/${prefix}doctor`;
  const type = 'storage.googleapis.com/Object';
  return { resource, named: { service: 'storage.googleapis.com', type, name } };
}

function instancePlace(project: string, zone: string, instance: string): Place {
  const name = `projects/${project}/zones/${zone}/instances/${instance}`;
  const type = 'compute.googleapis.com/Instance';
  return {
    resource: projectName(project),
    named: { service: 'compute.googleapis.com', type, name },
  };
}
