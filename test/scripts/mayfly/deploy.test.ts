// `mayfly deploy` against a program that stands where Terraform stands and writes down how it was
// called; what it prints has the shape that Terraform's documentation gives (internals/json-format).
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { expect, test } from 'vitest';
import { callMayfly, type RunOptions } from '#test/scripts/mayfly/run-mayfly.ts';

const PLAN = {
  resource_changes: [
    { address: 'google_storage_bucket.runs', change: { actions: ['create'] } },
    { address: 'google_pubsub_topic.dead', change: { actions: ['update'] } },
    { address: 'google_compute_network.own', change: { actions: ['delete', 'create'] } },
    { address: 'google_project_service.run', change: { actions: ['no-op'] } },
    { address: 'data.google_project.this', change: { actions: ['read'] } },
  ],
};
const OUTPUTS = {
  project: { value: 'my-project-123' },
  region: { value: 'europe-west1' },
  regions: { value: ['europe-west1', 'us-central1'] },
  bucket: { value: 'my-bucket' },
  deployment: { value: 'mayfly' },
  worker_service_accounts: { value: ['mayfly-worker@my-project-123.iam.gserviceaccount.com'] },
};
const PROGRAM = `
import { appendFileSync, writeFileSync } from 'node:fs';
const [first, chdir, verb, ...rest] = process.argv.slice(2);
appendFileSync(process.env.CALLS, JSON.stringify([first, chdir, verb, ...rest]) + '\\n');
if (process.env.FAILS === verb) {
  console.error('Error: the quota of projects is used up');
  process.exit(1);
}
if (verb === 'plan') {
  writeFileSync(rest.find((word) => word.startsWith('-out=')).slice(5), 'a plan');
  console.log('Terraform will perform the following actions: all of them');
}
if (verb === 'show') console.log(process.env.PLAN);
if (verb === 'output') console.log(process.env.OUTPUTS);
`;

async function openPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-deploy-'));
  const program = join(folder, 'terraform.mjs');
  await writeFile(program, PROGRAM);
  const calls = join(folder, 'calls');
  const environment = {
    PATH: process.env.PATH ?? '',
    MAYFLY_TERRAFORM: `${process.execPath} ${program} first`,
    CALLS: calls,
    PLAN: JSON.stringify(PLAN),
    OUTPUTS: JSON.stringify(OUTPUTS),
  };
  const project = ['--project', 'my-project-123', '--dir', folder];
  return {
    folder,
    deploy: (words: readonly string[], options: RunOptions = {}) =>
      callMayfly(['deploy', ...project, ...words], {
        folder,
        ...options,
        environment: { ...environment, ...options.environment },
      }),
    calls: async (): Promise<readonly (readonly string[])[]> => {
      const text = await readFile(calls, 'utf8').catch(() => '');
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const verbsOf = (calls: readonly (readonly string[])[]) => calls.map(([, , verb]) => verb);

test('--dry-run plans, says what would change, and applies nothing', async () => {
  await using place = await openPlace();
  const ended = await place.deploy(['--dry-run', '--json', '--yes']);
  expect(ended.code).toBe(0);
  expect(verbsOf(await place.calls())).toEqual(['init', 'plan', 'show']);
  const report = JSON.parse(ended.stdout);
  expect(report).toMatchObject({ add: 2, change: 1, destroy: 1, applied: false });
  expect(report.resources.map((one: { address: string }) => one.address)).toEqual([
    'google_storage_bucket.runs',
    'google_pubsub_topic.dead',
    'google_compute_network.own',
  ]);
  const files = unzipSync(new Uint8Array(await readFile(report.archive)));
  expect(Object.keys(files)).toContain('server.js');
  expect(existsSync(join(place.folder, '.mayfly.json'))).toBe(false);
});

test('--yes applies the very plan that was shown and writes .mayfly.json', async () => {
  await using place = await openPlace();
  const given = ['--region', 'europe-west1', '--regions', 'europe-west1,us-central1'];
  const ended = await place.deploy([...given, '--var', 'alerts={"mail":"a=b"}', '--yes']);
  expect(ended.code).toBe(0);
  expect(ended.stdout).toContain('Terraform will perform the following actions: all of them');
  const calls = await place.calls();
  expect(verbsOf(calls)).toEqual(['init', 'plan', 'show', 'apply', 'output']);
  for (const call of calls) expect(call.slice(0, 2)).toEqual(['first', `-chdir=${place.folder}`]);
  const planned = calls[1] ?? [];
  expect(planned).toContain('-var=project=my-project-123');
  expect(planned).toContain('-var=deployment=mayfly');
  expect(planned).toContain('-var=region=europe-west1');
  expect(planned).toContain('-var=regions=["europe-west1","us-central1"]');
  expect(planned).toContain('-var=alerts={"mail":"a=b"}');
  const plan = planned.find((word) => word.startsWith('-out='))?.slice(5);
  expect(calls[3]?.at(-1)).toBe(plan);
  expect(existsSync(plan ?? '')).toBe(false);
  const file = JSON.parse(await readFile(join(place.folder, '.mayfly.json'), 'utf8'));
  expect(file).toEqual({
    project: 'my-project-123',
    bucket: 'my-bucket',
    deployment: 'mayfly',
    region: 'europe-west1',
    regions: ['europe-west1', 'us-central1'],
    workerServiceAccounts: ['mayfly-worker@my-project-123.iam.gserviceaccount.com'],
  });
});

test('a second deploy keeps region and bucket; another deployment takes neither', async () => {
  await using place = await openPlace();
  await place.deploy(['--yes']);
  await place.deploy(['--dry-run']);
  await place.deploy(['--dry-run', '--deployment', 'other']);
  const plans = (await place.calls()).filter(([, , verb]) => verb === 'plan');
  expect(plans[1]).toContain('-var=bucket=my-bucket');
  expect(plans[1]).toContain('-var=regions=["europe-west1","us-central1"]');
  expect(plans[2]).toContain('-var=deployment=other');
  expect(plans[2]?.filter((word) => /^-var=(bucket|region)/.test(word))).toEqual([]);
});

test.each([
  { name: 'a person who says yes', answer: 'yes', code: 0, applies: true },
  { name: 'a person who says y', answer: 'y', code: 0, applies: false },
  { name: 'nobody', answer: undefined, code: 2, applies: false },
])('without --yes $name is asked', async ({ answer, code, applies }) => {
  await using place = await openPlace();
  const ended = await place.deploy([], answer === undefined ? {} : { answer });
  expect(ended.code).toBe(code);
  expect(verbsOf(await place.calls()).includes('apply')).toBe(applies);
});

test.each(['init', 'plan', 'apply'])('when %s fails its own last lines are shown', async (verb) => {
  await using place = await openPlace();
  const ended = await place.deploy(['--yes'], { environment: { FAILS: verb } });
  expect(ended.code).toBe(3);
  expect(ended.stderr).toContain(`terraform ${verb} failed`);
  expect(ended.stderr).toContain('Error: the quota of projects is used up');
  expect(verbsOf(await place.calls()).at(-1)).toBe(verb);
  expect(existsSync(join(place.folder, '.mayfly.json'))).toBe(false);
});

test('without the program it says what to install or to set', async () => {
  await using place = await openPlace();
  const environment = { MAYFLY_TERRAFORM: '/nonexistent/terraform' };
  const ended = await place.deploy(['--dry-run'], { environment });
  expect(ended.code).toBe(3);
  expect(ended.stderr).toContain('/nonexistent/terraform');
  expect(ended.stderr).toContain('MAYFLY_TERRAFORM');
});

test('--state writes the backend before init', async () => {
  await using place = await openPlace();
  await place.deploy(['--dry-run', '--state', 'gs://my-states/mayfly/prod']);
  const backend = await readFile(join(place.folder, 'backend_override.tf'), 'utf8');
  expect(backend).toBe(
    'terraform {\n  backend "gcs" {\n    bucket = "my-states"\n    prefix = "mayfly/prod"\n  }\n}\n',
  );
});

test.each([
  { name: 'no project', words: ['deploy', '--dry-run'], says: '--project' },
  { name: 'a folder that is not there', words: ['--dir', 'gone'], says: '--dir' },
  {
    name: 'a state that is no bucket',
    words: ['--state', 'my-states'],
    says: 'gs://BUCKET/PREFIX',
  },
  { name: 'a variable without a value', words: ['--var', 'alerts'], says: 'NAME=VALUE' },
])('$name is refused before anything is called', async ({ words, says }) => {
  await using place = await openPlace();
  const bare = words[0] === 'deploy';
  const ended = await (bare ? callMayfly(words, { folder: place.folder }) : place.deploy(words));
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain(says);
  expect(await place.calls()).toEqual([]);
});
