// The plan of a first apply in an empty project, by the real Terraform.
import { afterAll, describe, expect, test } from 'vitest';
import { openRoot, type Shown } from '#test/terraform/terraform-root.ts';

/** Each call of Terraform takes seconds on an idle machine. */
const LIMIT_MS = 600_000;
const root = openRoot();
afterAll(() => root?.[Symbol.dispose]());

describe.skipIf(root === null)('the plan of an empty project', () => {
  const plan = root?.show() ?? ({} as Shown);
  const of = (type: string, name?: string) =>
    plan.planned_values.root_module.resources.filter(
      (one) => one.type === type && (name === undefined || one.name === name),
    );
  const configured = (address: string) =>
    plan.configuration.root_module.resources.find((one) => one.address === address);
  const references = (address: string, field: string) =>
    configured(address)?.expressions[field]?.references ?? [];

  test('validate and test have nothing to say', { timeout: LIMIT_MS }, () => {
    for (const words of [['validate'], ['test']]) {
      const said = root?.run(...words, '-no-color');
      expect(said?.status, `${said?.stdout}${said?.stderr}`).toBe(0);
    }
  });

  test("P123: Pub/Sub's agent may publish dead letters, take them from their source and sign pushes, and the dead topic has its subscription", () => {
    const topic = 'google_pubsub_topic_iam_member.dead_letters';
    const source = 'google_pubsub_subscription_iam_member.dead_letters';
    expect(of('google_pubsub_topic_iam_member', 'dead_letters')[0]?.values.role).toBe(
      'roles/pubsub.publisher',
    );
    expect(references(topic, 'topic')).toContain('google_pubsub_topic.this["dead"]');
    const sources = of('google_pubsub_subscription')
      .filter(({ values }) => (values.dead_letter_policy as unknown[]).length > 0)
      .map(({ index }) => index);
    expect(sources).toEqual(['submit']);
    const rights = of('google_pubsub_subscription_iam_member', 'dead_letters');
    expect(rights.map(({ index, values }) => [index, values.role])).toEqual([
      ['submit', 'roles/pubsub.subscriber'],
    ]);
    for (const address of [topic, source]) {
      expect(references(address, 'member')).toContain('local.agents.pubsub');
    }
    const tokens = of('google_service_account_iam_member', 'push_tokens');
    expect(tokens.map(({ index, values }) => [index, values.role])).toContainEqual([
      'pubsub',
      'roles/iam.serviceAccountTokenCreator',
    ]);
    expect(
      of('google_pubsub_subscription').filter(({ values }) => values.name === 'mayfly-dead'),
    ).toHaveLength(1);
  });

  test("P124: the bucket's notifications wait for the storage agent's right on their topics", () => {
    const notification = configured('google_storage_notification.this');
    expect(notification?.depends_on).toContain('google_pubsub_topic_iam_member.storage_agent');
    expect(references('google_pubsub_topic_iam_member.storage_agent', 'member')).toContain(
      'local.agents.storage',
    );
    const rights = of('google_pubsub_topic_iam_member', 'storage_agent');
    expect(rights.map(({ index }) => index).toSorted()).toEqual(['run-results', 'run-status']);
    const prefixes = of('google_storage_notification').map((one) => one.values.object_name_prefix);
    expect(prefixes.toSorted()).toEqual(['runs/gce-status/', 'runs/rejected/', 'runs/results/']);
  });

  test('P125: every delivery has a subscription of ours with 600 s, back-off and no expiry, and there is no trigger', () => {
    const all = of('google_pubsub_subscription');
    expect(all).toHaveLength(5);
    for (const { values } of all) {
      expect(values).toMatchObject({
        ack_deadline_seconds: 600,
        expiration_policy: [{ ttl: '' }],
        retry_policy: [{ minimum_backoff: '10s', maximum_backoff: '600s' }],
      });
      const long = ['mayfly-submit', 'mayfly-notify', 'mayfly-dead'].includes(String(values.name));
      expect(values.message_retention_duration).toBe(long ? '2678400s' : '86400s');
    }
    const attempts = all.find(({ index }) => index === 'submit')?.values.dead_letter_policy;
    expect(attempts).toMatchObject([{ max_delivery_attempts: 100 }]);
    expect(of('google_eventarc_trigger')).toEqual([]);
    const functions = of('google_cloudfunctions2_function');
    expect(functions).toHaveLength(5);
    for (const { values } of functions) expect(values.event_trigger).toEqual([]);
  });

  test('P126: the push account alone may call, by a right on each service', () => {
    expect(of('google_cloudfunctions2_function_iam_member')).toEqual([]);
    const rights = of('google_cloud_run_service_iam_member');
    expect(rights.map(({ values }) => [values.service, values.role]).toSorted()).toEqual(
      ['finalize', 'notify', 'signals', 'submit', 'sweep'].map((name) => [
        `mayfly-${name}`,
        'roles/run.invoker',
      ]),
    );
    expect(references('google_cloud_run_service_iam_member.push', 'member')).toContain(
      'local.members["push"]',
    );
  });

  test('P128: what a new major of the provider may protect by default is set: Jobs can always go, the bucket with its objects when it is told so', () => {
    if (root === null) return;
    const schema = JSON.parse(root.run('providers', 'schema', '-json').stdout) as Schema;
    const protectable = Object.entries(schema.provider_schemas)
      .filter(([provider]) => provider.endsWith('/google'))
      .flatMap(([, { resource_schemas }]) => Object.entries(resource_schemas))
      .filter(([, { block }]) => 'deletion_protection' in (block.attributes ?? {}))
      .map(([type]) => type);
    expect(protectable).toContain('google_cloud_run_v2_job');
    const guarded = plan.planned_values.root_module.resources
      .filter(({ type }) => protectable.includes(type))
      .map(({ values }) => values.deletion_protection);
    expect(guarded).toEqual([false, false, false]);
    expect(of('google_storage_bucket')[0]?.values.force_destroy).toBe(false);
    const given = root.show({ deletion_protection: 'false' });
    const bucket = given.planned_values.root_module.resources.find(
      ({ type }) => type === 'google_storage_bucket',
    );
    expect(bucket?.values.force_destroy).toBe(true);
  });

  test('P128: a destroy leaves the APIs of the project on, and the majors of providers are bounded from 6 to 7', () => {
    const services = of('google_project_service');
    expect(services.length).toBeGreaterThan(10);
    for (const { values } of services) expect(values.disable_on_destroy).toBe(false);
    for (const provider of ['google', 'google-beta']) {
      const bound = plan.configuration.provider_config[provider]?.version_constraint;
      expect(bound).toMatch(/^>= 6\.\d+(\.\d+)?, < 8\.0(\.0)?$/);
    }
    for (const [, { version_constraint: bound }] of Object.entries(
      plan.configuration.provider_config,
    )) {
      expect(bound).toMatch(/^>= \d+(\.\d+)*, < \d+(\.\d+)*$/);
    }
  });

  test('the APIs that Terraform itself calls are enabled first, each once, and what is read of the project waits for them alone', () => {
    const first = of('google_project_service', 'first').map(({ index }) => index);
    // Both are called by the provider for every project: data.google_project, google_project_iam_member
    // (Resource Manager), google_project_service (Service Usage).
    expect(first).toEqual(
      expect.arrayContaining([
        'cloudresourcemanager.googleapis.com',
        'serviceusage.googleapis.com',
      ]),
    );
    const all = of('google_project_service').map(({ index }) => index);
    expect(new Set(all).size).toBe(all.length);
    expect(configured('google_project_service.this')?.depends_on).toEqual([
      'google_project_service.first',
    ]);
    const read = plan.configuration.root_module.resources.filter(({ mode }) => mode === 'data');
    expect(read.map(({ address }) => address).toSorted()).toEqual([
      'data.google_project.this',
      'data.google_storage_project_service_account.this',
    ]);
    for (const { depends_on } of read) expect(depends_on).toEqual(['google_project_service.first']);
  });

  test('no rule of the bucket takes an object of a run that may still be alive', () => {
    const rules = of('google_storage_bucket')[0]?.values.lifecycle_rule as LifecycleRule[];
    const longest = rules
      .flatMap(({ condition }) => condition)
      .filter(({ matches_prefix: names }) => !names.includes('runs/turns/'));
    expect(longest.flatMap((condition) => condition.matches_prefix)).toEqual(
      expect.arrayContaining(['runs/state/', 'runs/work/']),
    );
    // A request may ask for 10 tries in all, each with 604800 s of waiting and 604800 s of life.
    const runDays = (10 * (604_800 + 604_800)) / 86_400;
    for (const { age } of longest) expect(age).toBeGreaterThan(30 + runDays);
  });

  test('a role of the project is granted in the project alone: elsewhere accounts get predefined ones', () => {
    const shown = root?.show({
      data_buckets: '["own"]',
      data_buckets_elsewhere: '["elsewhere"]',
      worker_accounts:
        '["a@sample-project.iam.gserviceaccount.com","a@another.iam.gserviceaccount.com","1-compute@developer.gserviceaccount.com"]',
    });
    const planned = shown?.planned_values.root_module.resources ?? [];
    const roles = (type: string, name: string) =>
      planned.filter((one) => one.type === type && one.name === name);
    const data = roles('google_storage_bucket_iam_member', 'data').map(({ index, values }) => [
      index?.replace(/^(\w[\w-]*)_data\//, '$1 '),
      values.role,
    ]);
    // The names of the project's own roles are known after the apply.
    expect(Object.fromEntries(data)).toMatchObject({
      'submit submit/elsewhere': 'roles/storage.objectViewer',
      'submit submit/own': undefined,
      'worker worker/elsewhere': 'roles/storage.objectUser',
      'worker worker/own': undefined,
      'jobs-reader jobs-reader/elsewhere': 'roles/storage.objectViewer',
      'jobs-uploader jobs-uploader/elsewhere': 'roles/storage.objectUser',
    });
    expect(
      roles('google_service_account_iam_member', 'worker_users').map(({ index, values }) => [
        index,
        values.role,
      ]),
    ).toEqual([
      ['1-compute@developer.gserviceaccount.com', 'roles/iam.serviceAccountUser'],
      ['a@another.iam.gserviceaccount.com', 'roles/iam.serviceAccountUser'],
      ['a@sample-project.iam.gserviceaccount.com', undefined],
    ]);
  });

  test('functions are built when the right to build has had time to be known', () => {
    expect(configured('google_cloudfunctions2_function.this')?.depends_on).toContain(
      'time_sleep.build',
    );
    expect(references('time_sleep.build', 'triggers')).toContain(
      'google_project_iam_member.build.id',
    );
    expect(of('time_sleep', 'build')[0]?.values.create_duration).toBe('120s');
  });
});

interface LifecycleRule {
  readonly condition: readonly {
    readonly age: number;
    readonly matches_prefix: readonly string[];
  }[];
}

interface Schema {
  readonly provider_schemas: Readonly<
    Record<
      string,
      {
        readonly resource_schemas: Readonly<
          Record<string, { readonly block: { readonly attributes?: object } }>
        >;
      }
    >
  >;
}
