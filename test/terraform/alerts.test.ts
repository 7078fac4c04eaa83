// What a person hears of, as the real Terraform plans it: metrics from log lines, and the policies about them.
import { afterAll, describe, expect, test } from 'vitest';
import { openRoot, type Shown } from '#test/terraform/terraform-root.ts';

const root = openRoot();
afterAll(() => root?.[Symbol.dispose]());

/** Of the condition of a policy, what the tests here look at. */
interface Condition {
  readonly condition_absent: readonly unknown[];
  readonly condition_threshold: readonly {
    readonly filter: string;
    readonly threshold_value: number;
    readonly duration: string;
    readonly aggregations: readonly {
      readonly alignment_period: string;
      readonly group_by_fields: readonly string[] | null;
    }[];
  }[];
  readonly condition_prometheus_query_language: readonly {
    readonly query: string;
    readonly duration: string;
    readonly disable_metric_validation: boolean;
  }[];
}

describe.skipIf(root === null)('alerts of an empty project', () => {
  const plan = root?.show({ budget: '{billing_account="0",amount=5}' }) ?? ({} as Shown);
  const of = (type: string) =>
    plan.planned_values.root_module.resources.filter((one) => one.type === type);
  const configured = (address: string) =>
    plan.configuration.root_module.resources.find((one) => one.address === address);
  const conditions = new Map(
    of('google_monitoring_alert_policy').flatMap(({ values }) =>
      (values.conditions as (Condition & { readonly display_name: string })[]).map(
        (condition) => [condition.display_name, condition] as const,
      ),
    ),
  );
  const threshold = (title: string) => conditions.get(title)?.condition_threshold[0];
  const query = (title: string) => conditions.get(title)?.condition_prometheus_query_language[0];
  const counter = (name: string) =>
    of('google_logging_metric').find(({ values }) => values.name === `mayfly.${name}`)?.values;

  test('a sweep that has never ended a pass is heard of, as is one that no longer does', () => {
    // A condition of absence begins with a first value (cloud.google.com/monitoring/alerts/metric-absence).
    for (const { condition_absent: absent } of conditions.values()) expect(absent).toEqual([]);
    // The name by cloud.google.com/monitoring/promql/promql-mapping, from logging.googleapis.com/user/mayfly.sweep.done.
    const metric = 'logging_googleapis_com:user_mayfly_sweep_done';
    expect(query('Sweep silent')).toMatchObject({
      query: `(sum(increase(${metric}{monitored_resource="cloud_run_revision"}[5m])) or vector(0)) < 1`,
      duration: '600s',
      disable_metric_validation: true,
    });
    expect(query('Spend')?.query).toContain('logging_googleapis_com:user_mayfly_run_cost_sum{');
  });

  test('every metric of something that is wrong has its alert', () => {
    const told = [...conditions.values()].map((condition) => JSON.stringify(condition));
    const silent = of('google_logging_metric')
      .filter(({ name }) => name === 'counters')
      .map(({ values }) => String(values.name))
      .filter((name) => {
        const inQuery = name.replaceAll('.', '_');
        return !told.some(
          (text) => text.includes(`user/${name}\\"`) || text.includes(`user_${inQuery}{`),
        );
      });
    // Ends of runs, and what a publisher did wrong: no fault of the deployment's.
    expect(silent.toSorted()).toEqual(['mayfly.request.rejected', 'mayfly.run.ended']);
  });

  test('passes that see nothing are heard of when it lasts, and so are faults that come again', () => {
    expect(threshold('Runs unknown')).toMatchObject({ threshold_value: 0, duration: '900s' });
    expect(counter('run.unknown')?.filter).toContain('"run-unknown"');
    expect(threshold('Requests failing')).toMatchObject({
      threshold_value: 3,
      aggregations: [{ alignment_period: '900s' }],
    });
    expect(counter('request.failed')?.filter).toContain('"request-failed"');
    expect(threshold('Functions not starting')).toMatchObject({
      threshold_value: 0,
      duration: '0s',
    });
  });

  test('a message that waits is heard of, whichever subscription it waits in', () => {
    const { filter = '', threshold_value: seconds, aggregations } = threshold('Old requests') ?? {};
    const names = [...filter.matchAll(/"mayfly-([a-z]+)"/g)].map(([, name]) => name);
    expect(names.toSorted()).toEqual(['dead', 'finalize', 'notify', 'signals', 'submit']);
    expect(filter).toContain('resource.labels.subscription_id=one_of(');
    expect(seconds).toBe(900);
    expect(aggregations?.[0]?.group_by_fields).toEqual(['resource.label.subscription_id']);
  });

  test('callers that Cloud Run refuses before they reach a function are counted', () => {
    const filter = String(counter('push.unauthenticated')?.filter);
    expect(filter).toContain('httpRequest.status=(401 OR 403)');
    expect(filter).toContain('resource.labels.service_name="mayfly-submit"');
  });

  test('policies wait until Monitoring knows their metrics', () => {
    // "If a metric was created recently, it could take up to 10 minutes to become available."
    const wait = of('time_sleep').find(({ name }) => name === 'metrics')?.values;
    expect(wait?.create_duration).toBe('600s');
    expect(configured('time_sleep.metrics')?.depends_on?.toSorted()).toEqual([
      'google_logging_metric.counters',
      'google_logging_metric.distributions',
    ]);
    const policies = plan.configuration.root_module.resources.filter(({ address }) =>
      address.startsWith('google_monitoring_alert_policy.'),
    );
    expect(policies.length).toBe(3);
    for (const { depends_on } of policies) expect(depends_on).toContain('time_sleep.metrics');
    // A metric more is waited for as well.
    const names = of('google_logging_metric').map(({ values }) => String(values.name).slice(7));
    const { triggers } = wait as { readonly triggers: { readonly metrics: string } };
    expect(triggers.metrics.split(' ')).toEqual(names.toSorted());
  });

  test('units are of UCUM, what it does not know as an annotation', () => {
    const units = of('google_logging_metric').map(
      ({ values }) => (values.metric_descriptor as { readonly unit: string }[])[0]?.unit,
    );
    for (const unit of units) expect(unit).toMatch(/^(?:s|1|\{[A-Za-z]+\})$/);
  });

  test('a budget is in whatever currency the billing account has', () => {
    expect(of('google_billing_budget')).toHaveLength(1);
    const amount = JSON.stringify(configured('google_billing_budget.this')?.expressions.amount);
    expect(amount).toContain('var.budget.amount');
    expect(amount).not.toContain('currency');
  });
});
