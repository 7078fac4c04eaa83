// Doctor against a laid out deployment: nothing is wrong with a right one, and of each planted fault it
// finds that very one and names the fix.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  LOCAL_PROJECT,
  LOCAL_REGION,
  localAccount,
} from '#scripts/local-cloud/deployment/environment.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import type { Finding } from '#scripts/mayfly/doctor/finding.ts';
import { FAULTS } from '#test/scripts/mayfly/doctor-faults.ts';
import { HARMLESS } from '#test/scripts/mayfly/doctor-lifetime-faults.ts';
import {
  policy,
  push,
  removed,
  type Send,
  sink,
  subscription,
} from '#test/scripts/mayfly/doctor-plants.ts';
import { layOut as layOutAt } from '#test/scripts/mayfly/laid-out.ts';
import { callMayfly, runMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

/** A deployment without processes behind its functions: doctor never calls them. */
async function layOut(aheadMs = 0) {
  const laidOut = await layOutAt(() => Date.now() + aheadMs);
  onTestFinished(() => laidOut[Symbol.asyncDispose]());
  const { cloud, environment } = laidOut;
  const send: Send = async (verb, path, body) => {
    const reply = await fetch(`${cloud.baseUrl}${path}`, {
      method: verb,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${verb} ${path} answered ${reply.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as JsonObject);
  };
  return { cloud, send, environment };
}

async function examine(
  environment: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
) {
  const ended = await callMayfly(['doctor', '--json', ...flags], { environment });
  const report = JSON.parse(ended.stdout) as { ok: boolean; findings: readonly Finding[] };
  const wrong = report.findings.filter(({ state }) => state !== 'ok');
  return { ...report, code: ended.code, wrong };
}

test('P126: a right set-up has no finding: 0 false alarms, exit 0', async () => {
  const { environment } = await layOut();
  const { code, ok, findings, wrong } = await examine(environment);
  expect(wrong).toEqual([]);
  expect({ code, ok }).toEqual({ code: 0, ok: true });
  expect(findings.length).toBeGreaterThan(100);
  const names = findings.map(({ check }) => check);
  expect(new Set(names).size).toBe(names.length);
});

test('what Terraform makes and no table tells is no finding: rights on repositories alone, addresses that can be told before a service is there', async () => {
  const { environment, send } = await layOut();
  await policy(`/v3/projects/${LOCAL_PROJECT}`)(send);
  // The project's number is the local cloud's; the service is listed under another address.
  const address = `https://mayfly-finalize-100000000001.${LOCAL_REGION}.run.app/`;
  await subscription(
    'finalize',
    push((config) => ({ ...config, pushEndpoint: address })),
  )(send);
  expect((await examine(environment)).wrong).toEqual([]);
});

test('P126: a deployment as Terraform makes it without images of Jobs has no finding either', async () => {
  const { environment, send } = await layOut();
  for (const region of ['europe-west1', 'us-central1']) {
    const list = `/v2/projects/${LOCAL_PROJECT}/locations/${region}/jobs`;
    const { jobs } = (await send('GET', list)) as { jobs?: { name: string }[] };
    for (const { name } of jobs ?? []) await send('DELETE', `/v2/${name}`);
  }
  const { code, wrong } = await examine(environment);
  expect({ code, wrong }).toEqual({ code: 0, wrong: [] });
});

test('P126: no alarm about a sink whose exclusion is switched off', async () => {
  const { environment, send } = await layOut();
  const exclusions = [{ name: 'off', filter: 'resource.type="gce_instance"', disabled: true }];
  await sink('mayfly-signals', (old) => ({ ...old, exclusions }))(send);
  expect((await examine(environment)).wrong).toEqual([]);
});

test('an account that is missing, and its rights with it, is found once', async () => {
  const { cloud, environment, send } = await layOut();
  const worker = localAccount('worker');
  await removed(`/v1/projects/${LOCAL_PROJECT}/serviceAccounts/${worker}`)(send);
  cloud.world.iam.grants =
    cloud.world.iam.grants?.filter(({ principal }) => principal !== worker) ?? null;
  const { wrong } = await examine(environment);
  expect(wrong.map(({ check }) => check)).toEqual([`account ${worker}`]);
});

test.each(HARMLESS)('P126: no alarm about a bucket that deletes %s', async (_, plant) => {
  const { environment, send } = await layOut();
  await plant(send);
  expect((await examine(environment)).wrong).toEqual([]);
});

test('a secret that is not named in full is refused', async () => {
  const ended = await callMayfly(['doctor', '--secret', 'nope']);
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain('--secret "nope" is not projects/PROJECT/secrets/SECRET');
});

test.each([
  { name: 'is not there', content: null },
  { name: 'is no JSON', content: 'key' },
  {
    name: 'holds a key that cannot be used',
    content: JSON.stringify({
      ...{ type: 'service_account', client_email: 'a@b.iam.gserviceaccount.com' },
      private_key: 'no key',
    }),
  },
])('a key file that $name is said once, with what to do', async ({ content }) => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'key.json');
  if (content !== null) await writeFile(path, content);
  const target = ['--project', 'my-project', '--bucket', 'b', '--region', 'europe-west1'];
  const ended = await runMayfly(['doctor', ...target], {
    environment: { GOOGLE_APPLICATION_CREDENTIALS: path },
  });
  expect(ended, ended.stderr).toMatchObject({ code: 3, stdout: '' });
  expect(ended.stderr.match(/gcloud auth application-default login/g)).toHaveLength(1);
  expect(ended.stderr).not.toContain('may pass');
});

test('there are at least 25 planted faults, each with a name of its own', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
  expect(FAULTS.length).toBeGreaterThanOrEqual(25);
});

test.each(FAULTS.map((fault) => [fault.name, fault] as const))('%s', async (_, planted) => {
  const { plant, flags = [], check, fix, what = '', state = 'fault' } = planted;
  const { environment, send } = await layOut();
  await plant(send);
  const { code, wrong } = await examine(environment, flags);
  expect(wrong.map((finding) => finding.check)).toEqual([check]);
  expect(wrong[0]).toMatchObject({ state, fix: expect.stringContaining(fix) });
  expect(wrong[0]?.what).toContain(what);
  expect(wrong[0]?.fix).not.toContain('\n');
  expect(code).toBe(state === 'fault' ? 3 : 0);
});

interface TableLine {
  readonly account: string;
  readonly on: string;
  readonly permissions: readonly string[];
}

const readTable = async () =>
  JSON.parse(await readFile('terraform/grants.json', 'utf8')) as readonly TableLine[];
const linesOf = ({ account, permissions }: TableLine) =>
  permissions.map((permission) => `permission ${account}: ${permission}`);

test('without any rights of its accounts, each line of the table of grants is found', async () => {
  const { cloud, environment } = await layOut();
  cloud.world.iam.grants = [];
  const { wrong } = await examine(environment);
  // Buckets of data and secrets are asked for by flags alone.
  const asked = (await readTable()).filter(({ on }) => on !== 'data' && on !== 'secrets');
  const lines = asked.flatMap(linesOf);
  expect(wrong.map(({ check }) => check).sort()).toEqual([...new Set(lines)].sort());
  expect(wrong.every(({ state }) => state === 'fault')).toBe(true);
});

test('data, secrets and images that are named are asked for too', async () => {
  const { environment } = await layOut();
  const secret = `projects/${LOCAL_PROJECT}/secrets/key`;
  const flags = [
    ...['--data', 'gs://elsewhere/in/', '--data', 'gs://local-bucket/data/', '--secret', secret],
    ...['--image', 'europe-docker.pkg.dev/other/team/app:1'],
  ];
  const { code, wrong } = await examine(environment, flags);
  const lines = (await readTable()).filter(({ on }) => on === 'data').flatMap(linesOf);
  const pull = 'permission worker: artifactregistry.repositories.downloadArtifacts';
  expect(wrong.map(({ check }) => check).sort()).toEqual([...new Set([...lines, pull])].sort());
  const where = wrong.map(({ what }) => what.replace(/^.* on /, ''));
  expect([...new Set(where)].sort()).toEqual([
    '//artifactregistry.googleapis.com/projects/other/locations/europe/repositories/team',
    'projects/_/buckets/elsewhere/objects/in/doctor',
  ]);
  expect(wrong.at(-1)?.fix).toContain(
    'gcloud artifacts repositories add-iam-policy-binding team --project=other --location=europe ',
  );
  expect(code).toBe(3);
});

test('the bucket is missing: found once, with what rests on it silent', async () => {
  const { environment, send } = await layOut();
  await send('DELETE', '/storage/v1/b/local-bucket/o/runs%2Fdeployment');
  await send('DELETE', '/storage/v1/b/local-bucket');
  const { code, wrong } = await examine(environment);
  expect(wrong.map(({ check, fix }) => [check, fix])).toEqual([
    ['bucket local-bucket', 'mayfly deploy'],
  ]);
  expect(code).toBe(3);
});

test.each([
  [600_000, 'fault', /^is (?:59|60)\d s behind /, 3],
  [-20_000, 'warning', /^is (?:19|2\d) s ahead of /, 0],
] as const)('a clock that is %d ms off is a %s', async (aheadMs, state, what, exit) => {
  const { environment } = await layOut(aheadMs);
  const { code, wrong } = await examine(environment);
  const fix = 'sudo timedatectl set-ntp true';
  expect(wrong).toEqual([{ check: 'clock', state, what: expect.stringMatching(what), fix }]);
  expect(code).toBe(exit);
});

test('what cannot be read is unknown, not all right', async () => {
  const { cloud, environment } = await layOut();
  const match = { method: 'cloudscheduler.jobs.get' };
  cloud.call(
    'local.faults.plant',
    {},
    { match, effect: 'before', kind: 'status', status: 403, times: 'always' },
  );
  const { code, ok, wrong } = await examine(environment);
  expect(wrong).toMatchObject([{ check: 'scheduler mayfly-sweep', state: 'unknown' }]);
  expect(wrong[0]?.fix).toContain('roles/viewer');
  expect({ code, ok }).toEqual({ code: 3, ok: false });
});

test('P118: user credentials without a quota project: named, with the one command, exit 3', async () => {
  const { cloud, environment } = await layOut();
  const message =
    'Your application is authenticating by using local Application Default Credentials. The serviceusage.googleapis.com API requires a quota project, which is not set by default.';
  const fault = { effect: 'before', kind: 'status', status: 403, times: 'always', message };
  cloud.call(
    'local.faults.plant',
    {},
    { match: { method: 'serviceusage.services.list' }, ...fault },
  );
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'application_default_credentials.json');
  await writeFile(
    path,
    JSON.stringify({ type: 'authorized_user', client_id: 'c', refresh_token: 'r' }),
  );
  const ended = await runMayfly(['doctor'], {
    environment: { ...environment, CLOUDSDK_CONFIG: folder },
  });
  expect(ended, ended.stderr).toMatchObject({ code: 3, stdout: '' });
  expect(ended.stderr).toContain(
    `credentials of type authorized_user with no quota project, in ${path}`,
  );
  expect(ended.stderr.match(/gcloud /g)).toHaveLength(1);
  expect(ended.stderr).toContain(
    'gcloud auth application-default set-quota-project local-project\n',
  );
  expect(ended.stderr).not.toMatch(/^\s+at /m);
});
