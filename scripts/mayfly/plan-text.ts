// A preview in words: what would be made, where, until when, for how much. Pure.
import type { Preview } from '#scripts/mayfly/preview.ts';
import { attemptsAllowed } from '#shared/plan/cost.ts';
import type { RetryPolicy } from '#shared/plan/model.ts';

const CANDIDATES_SHOWN_MAX = 12;

export function describePreview(preview: Preview, retry: RetryPolicy): readonly string[] {
  const { candidates, estimate } = preview;
  const tries = attemptsAllowed(retry);
  const one = usd(estimate.attemptUsd, 'USD for one try');
  const costs =
    tries === 1
      ? `${one}, and there is no second`
      : `${one}, ${usd(estimate.totalUsd, `USD with all ${tries} tries`)}`;
  const rows = candidates
    .slice(0, CANDIDATES_SHOWN_MAX)
    .map(
      ({ machineType, provisioningModel, zone, usdPerHour }, index) =>
        `  ${String(index + 1).padStart(3)}  ${machineType.padEnd(20)} ${provisioningModel.padEnd(9)} ` +
        `${zone.padEnd(20)} ${usd(usdPerHour, 'USD an hour')}`,
    );
  const more = candidates.length - rows.length;
  return [
    `run       ${preview.runId}`,
    ...madeLines(preview),
    `gone by   ${preview.deadline}, whatever happens`,
    `at most   ${costs}`,
    `places    ${candidates.length}, tried in this order:`,
    ...rows,
    ...(more > 0 ? [`       and ${more} more (--json shows all)`] : []),
  ];
}

function madeLines({ instanceName, execution }: Preview): readonly string[] {
  if (execution === null) return [`machine   ${instanceName}`];
  const { job, region, overrides } = execution;
  return [
    `execution of the Job ${job} in ${region}, known as ${instanceName}`,
    `overrides ${JSON.stringify(overrides)}`,
  ];
}

function usd(amount: number | null, unit: string): string {
  return amount === null ? `unknown ${unit}` : `${amount.toFixed(4)} ${unit}`;
}
