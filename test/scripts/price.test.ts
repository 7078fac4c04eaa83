// The price of the control plane: counted operations by hand calculation × the list.
import { expect, test } from 'vitest';
import { beyond, countOperations, priceOf, sourceLines } from '#scripts/bench/price.ts';
import { CONTROLLERS, LIST_PRICES } from '#scripts/bench/price-list.ts';
import { machineUsdPerHour } from '#shared/plan/cost.ts';

test('prices by hand calculation', () => {
  const price = priceOf({
    ...{ classA: 1_000, classB: 10_000, pubsubBytes: 2 ** 40, logBytes: 2 ** 30 },
    ...{ pushes: 1_000_000, passes: 0 },
  });
  expect(price['storage class A']).toBeCloseTo(0.005, 9);
  expect(price['storage class B']).toBeCloseTo(0.004, 9);
  expect(price['Pub/Sub']).toBeCloseTo(40, 9);
  expect(price.logging).toBeCloseTo(0.5, 9);
  // A million seconds of 1 vCPU (24 USD) and half a GiB (1.25 USD), and a million requests (0.40 USD).
  expect(price.functions).toBeCloseTo(25.65, 6);
});

test('what runs take comes on top of rest, and grows with them alone', async () => {
  const rest = await countOperations(0);
  const one = beyond(await countOperations(1), rest, 1);
  const three = beyond(await countOperations(3), rest, 1);
  // request, active entry, record (PLACING, PROVISIONING, RUNNING, end), three markers, claim, log, result,
  // ended index: a dozen writes at least; and the request, three markers and the result make five pushes.
  expect(one.classA).toBeGreaterThanOrEqual(12);
  expect(one.pushes).toBeGreaterThanOrEqual(5);
  expect(one.passes).toBe(0);
  expect(one.logBytes).toBeGreaterThan(500);
  expect(three.classA / one.classA).toBeGreaterThan(2);
  expect(three.classA / one.classA).toBeLessThan(4);
  // At rest the sweep lists what is active, each pass anew.
  expect(rest.pushes).toBe(0);
  expect(rest.classA).toBeGreaterThanOrEqual(rest.passes - 1);
});

test('the controllers have the price that the catalogue makes of vCPUs and memory', () => {
  for (const [type, usd] of Object.entries(CONTROLLERS)) {
    expect(machineUsdPerHour(type, false)).toBeCloseTo(usd, 5);
  }
});

test('every price has its page, and it is told of which the day is not known', () => {
  const lines = sourceLines();
  for (const name of [...Object.keys(LIST_PRICES), ...Object.keys(CONTROLLERS)]) {
    const [line = '', ...more] = lines.filter((one) => one.split(':')[0]?.includes(name));
    expect(more).toEqual([]);
    expect(line).toMatch(/: cloud\.google\.com\/.+, (read on 2026-\d\d-\d\d|day .* not known)/);
  }
  expect(lines).toContain(
    'price of vcpuSecond, gibSecond, invocation: cloud.google.com/run/pricing, day of reading not known, to be checked',
  );
});
