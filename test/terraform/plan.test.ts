// The plan of a first apply in an empty project, by the real Terraform; it is skipped where no Terraform
// works offline. `MAYFLY_TERRAFORM` is the command.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { isRequired } from '#test/required.ts';

interface Values {
  readonly type: string;
  readonly name: string;
  readonly index?: string;
  readonly values: Readonly<Record<string, unknown>>;
}
interface Configured {
  readonly address: string;
  readonly depends_on?: readonly string[];
  readonly expressions: Readonly<Record<string, { readonly references?: readonly string[] }>>;
}
interface Shown {
  readonly planned_values: { readonly root_module: { readonly resources: readonly Values[] } };
  readonly configuration: {
    readonly root_module: { readonly resources: readonly Configured[] };
    readonly provider_config: Readonly<Record<string, { readonly version_constraint?: string }>>;
  };
}

const COMMAND = (process.env.MAYFLY_TERRAFORM?.trim() || 'terraform').split(/\s+/);
const ROOT = fileURLToPath(new URL('../../terraform', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'terraform-'));
cpSync(ROOT, folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function terraform(...words: string[]) {
  const [program = '', ...first] = COMMAND;
  const given = [...first, `-chdir=${folder}`, ...words];
  return spawnSync(program, given, { encoding: 'utf8', maxBuffer: 1 << 28, timeout: 120_000 });
}

// Only a command of its own can be offline: the plain program would download its providers.
const named = process.env.MAYFLY_TERRAFORM !== undefined;
const usable = named && terraform('init', '-backend=false', '-input=false').status === 0;
if (!usable && isRequired('terraform')) throw new Error(`${COMMAND.join(' ')} init does not work`);

function makePlan(): Shown {
  const variables = {
    project: 'sample-project',
    region: 'europe-west1',
    regions: '["europe-west1"]',
    source_archive: 'tests/functions.zip',
    job_images: '{"base-ml":"europe-docker.pkg.dev/p/r/base-ml:1"}',
  };
  const words = Object.entries(variables).map(([name, value]) => `-var=${name}=${value}`);
  const planned = terraform('plan', '-input=false', '-no-color', '-out=plan', ...words);
  if (planned.status !== 0) throw new Error(planned.stderr);
  return JSON.parse(terraform('show', '-json', 'plan').stdout) as Shown;
}

describe.skipIf(!usable)('the plan of an empty project', () => {
  const plan = usable ? makePlan() : ({} as Shown);
  const of = (type: string, name?: string) =>
    plan.planned_values.root_module.resources.filter(
      (one) => one.type === type && (name === undefined || one.name === name),
    );
  const configured = (address: string) =>
    plan.configuration.root_module.resources.find((one) => one.address === address);
  const references = (address: string, field: string) =>
    configured(address)?.expressions[field]?.references ?? [];

  test('validate and test have nothing to say', () => {
    for (const words of [['validate'], ['test']]) {
      const said = terraform(...words, '-no-color');
      expect(said.status, said.stdout + said.stderr).toBe(0);
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

  test('P128: nothing blocks a destroy unless it is asked for, and the majors of providers are bounded', () => {
    const jobs = of('google_cloud_run_v2_job');
    expect(jobs.map(({ values }) => values.name).toSorted()).toEqual(
      ['l', 'm', 's'].map((size) => `mayfly-base-ml-${size}`),
    );
    for (const { values } of jobs) expect(values.deletion_protection).toBe(false);
    for (const provider of ['google', 'google-beta']) {
      const bound = plan.configuration.provider_config[provider]?.version_constraint;
      expect(bound).toMatch(/<|~>/);
    }
  });
});
