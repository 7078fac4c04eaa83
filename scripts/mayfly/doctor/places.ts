// APIs, quotas, the Jobs of the second runtime, and this computer's clock.
import { SERVICES } from '#scripts/local-cloud/deployment/inventory.ts';
import { asArray, asNumber, asObject, asString, lastPart } from '#scripts/local-cloud/json.ts';
import type { Deployed } from '#scripts/mayfly/doctor/deployed.ts';
import { type Finding, fault, ok, unknown, warning } from '#scripts/mayfly/doctor/finding.ts';
import { type Answer, type Reader, unreadable } from '#scripts/mayfly/doctor/reader.ts';
import { diffInventory, jobKinds, jobName } from '#shared/plan/jobs-inventory.ts';

export function checkServices(
  project: string,
  { answer, enabled }: { readonly answer: Answer; readonly enabled: ReadonlySet<string> },
): Finding[] {
  if (answer.kind === 'unknown') return [unreadable('apis', answer.error)];
  return SERVICES.map((name) =>
    enabled.has(name)
      ? ok(`api ${name}`, 'enabled')
      : fault(
          `api ${name}`,
          'is not enabled',
          `gcloud services enable ${name} --project=${project}`,
        ),
  );
}

const PAGE = 'https://console.cloud.google.com/iam-admin/quotas';

/** A limit of 0 is a place where nothing can start; of GPUs only those who ask for them mind. */
export async function checkQuotas({ reader, project, settings }: Deployed): Promise<Finding[]> {
  const regions = settings?.plan.regions ?? [];
  const scopes = ['project', ...regions];
  const findings = await Promise.all(
    scopes.map(async (scope) => {
      const path = `compute/v1/projects/${project}${scope === 'project' ? '' : `/regions/${scope}`}`;
      const answer = await reader.get('COMPUTE', path);
      if (answer.kind === 'unknown') return [unreadable(`quota ${scope}`, answer.error)];
      if (answer.kind === 'gone') {
        return [fault(`quota ${scope}`, 'there is no such region', 'correct MAYFLY_REGIONS')];
      }
      return asArray(answer.body.quotas)
        .map(asObject)
        .map(({ metric, limit }) => judgeQuota(scope, String(metric), asNumber(limit), project));
    }),
  );
  return findings.flat();
}

function judgeQuota(scope: string, metric: string, limit = 0, project = ''): Finding {
  const check = `quota ${scope} ${metric}`;
  const gpus = /GPUS/.test(metric);
  if (
    limit > 0 ||
    !(gpus || /^(CPUS|CPUS_ALL_REGIONS|INSTANCES|SSD_TOTAL_GB|DISKS_TOTAL_GB)$/.test(metric))
  ) {
    return ok(check, `${limit}`);
  }
  const fix = `ask for more: ${PAGE}?project=${project}`;
  const what = `is 0: nothing ${gpus ? 'with such a GPU ' : ''}can start there`;
  return (gpus ? warning : fault)(check, what, fix);
}

/** A base without any Job has no image, and nothing of it is missing: Terraform makes none then. */
export async function checkJobs({ reader, project, settings }: Deployed): Promise<Finding[]> {
  if (settings === null || settings.plan.jobs.readerServiceAccount == null) return [];
  const { plan } = settings;
  const listed = await Promise.all(
    plan.regions.map(async (region) => {
      const jobs = await listJobs(reader, `v2/projects/${project}/locations/${region}/jobs`);
      return { region, jobs };
    }),
  );
  const names = new Set(listed.flatMap(({ jobs }) => ('kind' in jobs ? [] : jobs)));
  const kinds = jobKinds(plan.jobs).map((kind) => {
    return { ...kind, name: jobName(plan.deployment, plan.jobs, kind) };
  });
  const made = new Set(kinds.filter(({ name }) => names.has(name)).map(({ base }) => base));
  const imageless = kinds.filter(({ base }) => !made.has(base)).map(({ name }) => name);
  return listed.map(({ region, jobs }): Finding => {
    const check = `jobs ${region}`;
    if ('kind' in jobs) {
      return jobs.kind === 'unknown'
        ? unreadable(check, jobs.error)
        : fault(check, 'there is no such region', 'correct MAYFLY_REGIONS');
    }
    const difference = diffInventory(
      plan,
      region,
      jobs.map((name) => ({ name, region })),
    );
    const missing = difference.missing.filter((name) => !imageless.includes(name));
    const { surplus } = difference;
    if (missing.length + surplus.length === 0) {
      return ok(check, `${jobs.length} there; bases without an image have none`);
    }
    const words = [
      ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
      ...(surplus.length > 0 ? [`not in the inventory: ${surplus.join(', ')}`] : []),
    ];
    return fault(check, words.join('; '), 'mayfly deploy');
  });
}

async function listJobs(reader: Reader, path: string) {
  const names: string[] = [];
  let pageToken = '';
  do {
    const query = { pageSize: '500', ...(pageToken === '' ? {} : { pageToken }) };
    const answer = await reader.get('RUN', path, query);
    if (answer.kind !== 'there') return answer;
    names.push(...asArray(answer.body.jobs).map((job) => lastPart(String(asObject(job).name))));
    pageToken = asString(answer.body.nextPageToken) ?? '';
  } while (pageToken !== '');
  return names;
}

const SKEW_SECONDS_NOTED = 5;
const SKEW_SECONDS_MAX = 60;
const CLOCK_TIMEOUT_MS = 10_000;

/** Replies are dated to the second: what is within a few of them is no difference. */
export async function checkClock(reader: Reader, nowMs: () => number): Promise<Finding> {
  const fix = 'sudo timedatectl set-ntp true';
  const startMs = nowMs();
  const signal = AbortSignal.timeout(CLOCK_TIMEOUT_MS);
  const reply = await fetch(`${reader.baseOf('STORAGE')}/`, {
    method: 'HEAD',
    redirect: 'manual',
    signal,
  }).catch(() => null);
  const theirs = Date.parse(reply?.headers.get('date') ?? '');
  if (Number.isNaN(theirs)) return unknown('clock', 'Cloud Storage sent no date', fix);
  const seconds = Math.round((theirs + 500 - (startMs + nowMs()) / 2) / 1000);
  const what = `is ${Math.abs(seconds)} s ${seconds > 0 ? 'behind' : 'ahead of'} Google's`;
  if (Math.abs(seconds) > SKEW_SECONDS_MAX) return fault('clock', what, fix);
  return Math.abs(seconds) > SKEW_SECONDS_NOTED
    ? warning('clock', what, fix)
    : ok('clock', `within ${SKEW_SECONDS_NOTED} s`);
}
