// `mayfly deploy` against a program that stands where Terraform stands and writes down how it was
// called; what it prints has the shape that Terraform's documentation gives (internals/json-format).
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { callMayfly, type RunOptions } from '#test/scripts/mayfly/run-mayfly.ts';

const planned = (address: string, ...actions: string[]) => {
  const type = address.replace(/^data\./, '').split('.')[0];
  return { address, type, change: { actions } };
};
const PLAN = {
  resource_changes: [
    planned('google_storage_bucket.runs', 'create'),
    planned('google_pubsub_topic.dead', 'update'),
    planned('google_compute_network.own', 'delete', 'create'),
    planned('google_project_service.run', 'no-op'),
    planned('data.google_project.this', 'read'),
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
  console.log('You can apply this plan to save these new output values');
  console.error('╷\\n│ ' + (process.env.SAYS ?? 'Error: the quota of projects is used up') + '\\n╵');
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
  await cp('terraform/variables.tf', join(folder, 'variables.tf'));
  const calls = join(folder, 'calls');
  const environment = {
    PATH: process.env.PATH ?? '',
    MAYFLY_TERRAFORM: `${process.execPath} ${program} first`,
    XDG_STATE_HOME: join(folder, 'states'),
    CALLS: calls,
    PLAN: JSON.stringify(PLAN),
    OUTPUTS: JSON.stringify(OUTPUTS),
  };
  const project = ['--project', 'my-project-123', '--dir', folder];
  const region = ['--region', 'europe-west1'];
  return {
    folder,
    /** Without a region of its own. */
    bare: (words: readonly string[], options: RunOptions = {}) =>
      callMayfly(['deploy', ...project, ...words], {
        folder,
        ...options,
        environment: { ...environment, ...options.environment },
      }),
    deploy(words: readonly string[], options: RunOptions = {}) {
      return this.bare([...region, ...words], options);
    },
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
  const given = ['--regions', 'europe-west1,us-central1'];
  const ended = await place.deploy([...given, '--var', 'job_images={"base":"a=b"}', '--yes']);
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
  expect(planned).toContain('-var=job_images={"base":"a=b"}');
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
    state: null,
    variables: {
      region: 'europe-west1',
      regions: '["europe-west1","us-central1"]',
      job_images: '{"base":"a=b"}',
    },
  });
});

const plansOf = (calls: readonly (readonly string[])[]) =>
  calls
    .filter(([, , verb]) => verb === 'plan')
    .map((words) =>
      words.filter((word) => word.startsWith('-var=') && !/source_archive/.test(word)),
    )
    .map((words) => Object.fromEntries(words.map((word) => word.slice(5).split(/=(.*)/s))));

test('each project and deployment has a state of its own, outside the clone', async () => {
  await using place = await openPlace();
  await place.deploy(['--yes']);
  await place.deploy(['--yes', '--deployment', 'other']);
  await place.deploy(['--yes', '--project', 'your-project-123']);
  const calls = await place.calls();
  const states = calls.flatMap((words) => {
    const state = words.find((word) => word.startsWith('-state='));
    return state === undefined
      ? []
      : [`${words[2]} ${state.slice(`-state=${place.folder}`.length)}`];
  });
  const of = (path: string) =>
    ['plan', 'apply', 'output'].map((verb) => `${verb} /states/mayfly/${path}/terraform.tfstate`);
  expect(states).toEqual([
    ...of('my-project-123/mayfly'),
    ...of('my-project-123/other'),
    ...of('your-project-123/mayfly'),
  ]);
});

test('what was given is kept, shown, and changed only by what is given anew', async () => {
  await using place = await openPlace();
  const first = ['--var', 'data_buckets=my-data,my-models', '--var', 'retention_days=60'];
  await place.deploy([...first, '--bucket', 'my-bucket', '--yes']);
  const second = await place.bare(['--yes', '--var', 'retention_days=90']);
  await rm(join(place.folder, 'states'), { recursive: true }); // another computer, same .mayfly.json
  await place.bare(['--dry-run', '--var', 'data_buckets=']);
  await place.deploy(['--dry-run', '--deployment', 'other']);
  const base = { project: 'my-project-123', deployment: 'mayfly' };
  const places = { region: 'europe-west1', regions: '["europe-west1"]' };
  const all = { ...base, ...places, bucket: 'my-bucket' };
  const buckets = '["my-data","my-models"]';
  expect(plansOf(await place.calls())).toEqual([
    { ...all, data_buckets: buckets, retention_days: '60' },
    { ...all, data_buckets: buckets, retention_days: '90' },
    { ...all, retention_days: '90' },
    { ...base, ...places, deployment: 'other' },
  ]);
  expect(second.stderr).toContain(`  data_buckets = ${buckets} (as before)\n`);
  expect(second.stderr).toContain('  retention_days = 90\n');
});

test('an apply that fails half-way is repeated with the same variables', async () => {
  await using place = await openPlace();
  await place.deploy(['--yes', '--var', 'secrets=hf'], { environment: { FAILS: 'apply' } });
  await place.bare(['--dry-run']);
  const [first, second] = plansOf(await place.calls());
  expect(second).toEqual(first);
  expect(second).toMatchObject({ secrets: '["hf"]', region: 'europe-west1' });
});

test.each([
  { words: ['--regions', 'europe-west1,us-central1'], region: 'europe-west1' },
  { words: ['--region', 'us-central1'], regions: '["us-central1"]' },
  { words: ['--region', 'us-central1', '--regions', 'europe-west1'], region: 'us-central1' },
])('$words: of region and regions, each stands for the other', async ({ words, ...wanted }) => {
  await using place = await openPlace();
  const ended = await place.bare([...words, '--dry-run']);
  expect(ended.code, ended.stderr).toBe(0);
  expect(plansOf(await place.calls())).toMatchObject([wanted]);
});

describe('a plan that would take data along', () => {
  const plan = (...actions: string[]) => ({
    PLAN: JSON.stringify({
      resource_changes: [
        planned('google_storage_bucket.this', ...actions),
        planned('google_pubsub_subscription.this', 'delete'),
        planned('google_pubsub_topic.dead', 'create'),
      ],
    }),
  });

  test.each([
    { what: 'replaces the bucket', actions: ['delete', 'create'] },
    { what: 'deletes the bucket', actions: ['delete'] },
  ])('is refused when it $what, and says so in a dry run', async ({ actions }) => {
    await using place = await openPlace();
    const environment = plan(...actions);
    const ended = await place.deploy(['--yes'], { environment });
    expect(ended.code).toBe(3);
    expect(ended.stderr).toContain('this plan deletes google_storage_bucket.this');
    expect(verbsOf(await place.calls())).not.toContain('apply');
    const dry = await place.deploy(['--dry-run', '--quiet'], { environment });
    expect(dry.code).toBe(0);
    const verb = actions.length === 2 ? 'replaces' : 'deletes';
    expect(dry.stdout).toContain(`  ${verb} google_storage_bucket.this: EVERY OBJECT`);
    expect(dry.stdout).toContain('  deletes google_pubsub_subscription.this: messages');
    expect(dry.stdout).toMatch(/^ {2}\+1 {7}google_pubsub_topic$/m);
  });

  test('is applied where a flag says so', async () => {
    await using place = await openPlace();
    const environment = plan('delete', 'create');
    const ended = await place.deploy(['--yes', '--replace-bucket'], { environment });
    expect(ended.code, ended.stderr).toBe(0);
    expect(verbsOf(await place.calls())).toContain('apply');
  });

  test('is what --destroy is for: it plans that, and forgets the deployment', async () => {
    await using place = await openPlace();
    await place.deploy(['--yes']);
    const ended = await place.bare(['--destroy', '--yes'], { environment: plan('delete') });
    expect(ended.code, ended.stderr).toBe(0);
    const calls = await place.calls();
    expect(verbsOf(calls).slice(5)).toEqual(['init', 'plan', 'show', 'apply']);
    expect(calls[6]).toContain('-destroy');
    expect(existsSync(join(place.folder, '.mayfly.json'))).toBe(false);
    expect((await place.bare(['--dry-run'])).stderr).toContain('deploy needs --region');
  });
});

test('--quiet prints a summary alone, --dry-run the full plan before it', async () => {
  await using place = await openPlace();
  const quiet = await place.deploy(['--dry-run', '--quiet']);
  expect(quiet.stdout).toContain('plan: 2 to add, 1 to change, 1 to destroy\n');
  expect(quiet.stdout).toContain('  replaces google_compute_network.own\n');
  expect(quiet.stdout).not.toContain('Terraform will perform');
  const full = await place.deploy(['--dry-run']);
  expect(full.stdout).toBe('Terraform will perform the following actions: all of them\n');
  expect(full.stderr).toContain('plan: 2 to add, 1 to change, 1 to destroy\n');
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

test.each([
  {
    name: 'an API that is off',
    says: 'Error: googleapi: Error 403: Service Usage API has not been used in project 123 before',
    fix: 'gcloud services enable cloudresourcemanager.googleapis.com serviceusage.googleapis.com --project=my-project-123',
  },
  {
    name: 'no credentials',
    says: 'Error: Attempted to load application default credentials: google: could not find default credentials.',
    fix: 'gcloud auth application-default login',
  },
  {
    name: 'a metric that is too new',
    says: 'Error: Error creating AlertPolicy: googleapi: Error 404: Cannot find metric(s) that match type = "x"',
    fix: 'once more: mayfly deploy',
  },
  {
    name: 'a project that is not there',
    says: 'Error: googleapi: Error 403: The caller does not have permission (or it may not exist)',
    fix: 'gcloud projects describe my-project-123',
  },
  {
    name: 'names that another state holds',
    says: 'Error: googleapi: Error 409: The bucket you tried to create already exists, and you already own it., conflict',
    fix: 'Give the same --state',
  },
])('$name is said in our words first, Terraform’s error after them', async ({ says, fix }) => {
  await using place = await openPlace();
  const ended = await place.deploy(['--yes'], { environment: { FAILS: 'plan', SAYS: says } });
  expect(ended.code).toBe(3);
  expect(ended.stderr).toContain(fix);
  expect(ended.stderr.indexOf(fix)).toBeLessThan(ended.stderr.indexOf(says));
  expect(ended.stderr).not.toContain('You can apply this plan');
  expect(ended.stderr).not.toContain('│');
});

describe('--state', () => {
  const STATE = ['--state', 'gs://my-states/mayfly/prod'];
  const BACKEND =
    'terraform {\n  backend "gcs" {\n    bucket = "my-states"\n    prefix = "mayfly/prod"\n  }\n}\n';
  /** The backend that each call saw. */
  const WATCHING = PROGRAM.replace(
    'appendFileSync(process.env.CALLS, JSON.stringify([',
    `import { existsSync, readFileSync } from 'node:fs';
const path = chdir.slice(7) + '/backend_override.tf';
const seen = existsSync(path) ? readFileSync(path, 'utf8').replace(/^#.*\\n/, '') : null;
appendFileSync(process.env.CALLS, JSON.stringify([seen, `,
  )
    .replace('const [first, chdir, verb, ...rest]', 'const [, chdir, verb, ...rest]')
    .replace('first, chdir, verb, ...rest]) +', 'chdir, verb, ...rest]) +');

  async function openWatched() {
    const place = await openPlace();
    await writeFile(join(place.folder, 'terraform.mjs'), WATCHING);
    const left = async () => (await readdir(place.folder)).includes('backend_override.tf');
    return { ...place, left };
  }

  test('is in the root while the command runs, is kept for the next one, and leaves nothing', async () => {
    await using place = await openWatched();
    await place.deploy([...STATE, '--yes']);
    expect(await place.left()).toBe(false);
    await place.bare(['--yes']);
    const calls = await place.calls();
    expect(calls).toHaveLength(10);
    expect(new Set(calls.map(([seen]) => seen))).toEqual(new Set([BACKEND]));
    expect(calls.flat().filter((word) => word?.startsWith('-state='))).toEqual([]);
  });

  test.each([
    { name: 'a dry run', words: ['--dry-run'], environment: {} },
    { name: 'an init that fails', words: ['--yes'], environment: { FAILS: 'init' } },
  ])(
    '$name leaves nothing behind, and the next deploy has the state that it had',
    async ({ words, environment }) => {
      await using place = await openWatched();
      await place.deploy([...STATE, ...words], { environment });
      expect(await place.left()).toBe(false);
      await place.deploy(['--dry-run']);
      expect((await place.calls()).at(-1)?.[0]).toBe(null);
    },
  );

  test('what a killed deploy left is taken away; a file of somebody else is not', async () => {
    await using place = await openWatched();
    const path = join(place.folder, 'backend_override.tf');
    // Linux gives no process a number above 2^22.
    await writeFile(path, '# written by mayfly deploy, process 4194305\nterraform {}\n');
    expect((await place.deploy(['--dry-run'])).code).toBe(0);
    expect(await place.left()).toBe(false);
    await writeFile(path, `# written by mayfly deploy, process ${process.pid}\nterraform {}\n`);
    expect((await place.deploy(['--dry-run'])).stderr).toContain('another mayfly deploy');
    await writeFile(path, 'terraform {}\n');
    expect((await place.deploy([...STATE, '--dry-run'])).stderr).toContain("not mayfly's own");
    expect(await readFile(path, 'utf8')).toBe('terraform {}\n');
  });

  test('given later, the state moves there once, after which the file is not used again', async () => {
    await using place = await openWatched();
    await place.deploy(['--yes']);
    const folder = join(place.folder, 'states', 'mayfly', 'my-project-123', 'mayfly');
    await writeFile(join(folder, 'terraform.tfstate'), '{"resources":[{}]}');
    const dry = await place.deploy([...STATE, '--dry-run']);
    expect(dry.stderr).toContain('the state would move to gs://my-states/mayfly/prod');
    const moved = await place.deploy([...STATE, '--yes']);
    expect(moved.stderr).toContain('the state has moved to gs://my-states/mayfly/prod');
    await place.bare(['--yes']);
    const calls = (await place.calls()).map(([seen, , verb]) => `${verb} ${seen === BACKEND}`);
    expect(calls.slice(5, 8)).toEqual(['init false', 'plan false', 'show false']);
    const rest = ['init true', 'plan true', 'show true', 'apply true', 'output true'];
    expect(calls.slice(8)).toEqual([rest[0], 'state true', ...rest.slice(1), ...rest]);
    const names = await readdir(folder);
    expect(names).toContain('terraform.tfstate.moved');
    expect(names).not.toContain('terraform.tfstate');
    const other = await place.deploy(['--state', 'gs://else/where', '--dry-run']);
    expect(other.stderr).toContain('the state is at gs://my-states/mayfly/prod');
  });
});

test.each([
  { name: 'no project', words: ['deploy', '--dry-run'], says: '--project' },
  { name: 'a folder that is not there', words: ['--dir', 'gone'], says: '--dir' },
  {
    name: 'a state that is no bucket',
    words: ['--state', 'my-states', '--region', 'europe-west1'],
    says: 'gs://BUCKET/PREFIX',
  },
  { name: 'a variable without a value', words: ['--var', 'secrets'], says: 'NAME=VALUE' },
  { name: 'a variable that is not there', words: ['--var', 'alert=1'], says: 'no variable alert' },
  {
    name: 'another deployment as a variable',
    words: ['--var', 'deployment=b'],
    says: '--deployment',
  },
  {
    name: 'no region',
    words: [],
    says: 'deploy needs --region REGION, for example europe-west1\n',
  },
])('$name is refused before anything is called', async ({ words, says }) => {
  await using place = await openPlace();
  const bare = words[0] === 'deploy';
  const ended = await (bare ? callMayfly(words, { folder: place.folder }) : place.bare(words));
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain(says);
  expect(await place.calls()).toEqual([]);
});
