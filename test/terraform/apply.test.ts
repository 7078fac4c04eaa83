// The whole way of a deployment by the real Terraform, with providers that call no cloud: first apply in
// an empty project, a second one, destroy.
import { afterAll, describe, expect, test } from 'vitest';
import { openRoot, variableWords } from '#test/terraform/terraform-root.ts';

const LIMIT_MS = 600_000;
const root = openRoot();
afterAll(() => root?.[Symbol.dispose]());

describe.skipIf(root === null)('a deployment from its first apply to its end', () => {
  const call = (verb: string, ...words: string[]) => {
    const ended = root?.run(verb, '-no-color', '-input=false', ...words, ...variableWords());
    return { status: ended?.status, said: `${ended?.stdout}${ended?.stderr}` };
  };

  test(
    'P124: one apply succeeds, grants to the agents before what needs them; a second one changes nothing',
    () => {
      const first = call('apply', '-auto-approve', '-parallelism=50');
      expect(first.status, first.said).toBe(0);
      const lines = first.said.split('\n');
      const at = (pattern: RegExp) =>
        lines.flatMap((line, index) => (pattern.test(line) ? [index] : []));
      const needs = [
        {
          right: 'google_pubsub_topic_iam_member.storage_agent',
          what: 'google_storage_notification.this',
        },
        {
          right: 'google_cloud_run_service_iam_member.push',
          what: 'google_pubsub_subscription.this',
        },
        {
          right: 'google_service_account_iam_member.push_tokens',
          what: 'google_pubsub_subscription.this',
        },
        {
          right: 'google_cloud_run_service_iam_member.push',
          what: 'google_cloud_scheduler_job.sweep',
        },
      ];
      for (const { right, what } of needs) {
        const granted = at(new RegExp(`^${right}\\[.*: Creation complete`));
        const begun = at(new RegExp(`^${what}.*: Creating`));
        expect(granted.length, right).toBeGreaterThan(0);
        expect(begun.length, what).toBeGreaterThan(0);
        expect(Math.max(...granted), `${right} before ${what}`).toBeLessThan(Math.min(...begun));
      }
      const second = call('plan', '-detailed-exitcode');
      expect(second.said).toContain('No changes.');
      expect(second.status).toBe(0);
      // Another API, and a budget: the grants of the agents' accounts stay as they are.
      const more = call('plan', '-var=budget={billing_account="0",amount=5}');
      expect(more.said).toContain('Plan: 2 to add, 0 to change, 0 to destroy.');
    },
    LIMIT_MS,
  );

  test(
    'P128: destroy takes everything that apply made, once the bucket is given up',
    () => {
      const given = call('apply', '-auto-approve', '-var=deletion_protection=false');
      expect(given.said).toContain('Resources: 0 added, 1 changed, 0 destroyed.');
      const made = root?.run('state', 'list').stdout.split('\n') ?? [];
      const resources = made.filter((line) => line !== '' && !line.startsWith('data.'));
      expect(resources.length).toBeGreaterThan(100);
      const ended = call('destroy', '-auto-approve', '-var=deletion_protection=false');
      expect(ended.status, ended.said).toBe(0);
      expect(ended.said).toContain(`Destroy complete! Resources: ${resources.length} destroyed.`);
      expect(root?.run('state', 'list').stdout).toBe('');
    },
    LIMIT_MS,
  );
});
