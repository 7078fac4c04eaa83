// A run's end in words: the result, or why the request was refused. Pure.
import { faultLines } from '#scripts/mayfly/fault-lines.ts';
import { elapsed } from '#scripts/mayfly/progress.ts';
import type { StoredResult } from '#scripts/mayfly/stored-result.ts';
import { oneLine } from '#scripts/mayfly/visible.ts';

const LOG_LINES_MAX = 12;

/** The lines that a person reads at the end of a run; unknown figures are left out. */
export function describeResult(result: StoredResult): readonly string[] {
  if (result.status === 'REJECTED') return describeRejection(result);
  const code = result.exitCode === null ? '' : `, exit code ${result.exitCode}`;
  const step = result.step === null || result.cause === 'exit' ? '' : ` at step ${result.step}`;
  return [
    `${result.runId ?? ''}: ${result.status} (${result.cause}${step}${code})`,
    ...(result.detail === '' || result.status === 'SUCCEEDED'
      ? []
      : [`  ${oneLine(result.detail)}`]),
    ...field('machine', machines(result)),
    ...field('kept', kept(result)),
    ...field('time', times(result)),
    ...field('price', result.costUsd === null ? '' : `${result.costUsd.toFixed(4)} USD (estimate)`),
    ...result.outputs.map((output) => `  output    ${output.uri} (${output.bytes} bytes)`),
    ...logTail(result),
  ];
}

function describeRejection(result: StoredResult): readonly string[] {
  const errors = faultLines(result.errors);
  const head = oneLine(`${result.runId ?? 'a request without an id'}: REJECTED (${result.cause})`);
  return [head, ...(errors.length === 0 ? [`  ${oneLine(result.detail)}`] : errors)];
}

function machines(result: StoredResult): string {
  const last = result.attempts.at(-1);
  if (last === undefined || last.machineType === null) return '';
  const count = result.attempts.length > 1 ? `, attempt ${result.attempts.length}` : '';
  if (last.execution) {
    return `execution ${last.execution} of ${last.machineType} in ${last.region}${count}`;
  }
  // An execution has a Job and a region, and neither a zone nor a choice of models.
  if (result.runtime === 'cloudrun-jobs') {
    return `Job ${last.machineType} in ${last.region ?? 'an unknown region'}${count}`;
  }
  const model = last.provisioningModel ?? '';
  return `${last.machineType} (${model}) in ${last.zone ?? 'an unknown zone'}${count}`;
}

/** Only where the request asked for it and the run failed. */
function kept(result: StoredResult): string {
  const last = result.attempts.at(-1);
  if (!last?.keptUntil) return '';
  return `${last.instance} in ${last.zone} stays for a look until ${last.keptUntil}`;
}

function times(result: StoredResult): string {
  return Object.entries(result.seconds)
    .filter((entry): entry is [string, number] => entry[1] !== null)
    .map(([phase, seconds]) => `${phase} ${elapsed(seconds * 1000)}`)
    .join(', ');
}

function logTail(result: StoredResult): readonly string[] {
  const tail = result.log?.tail?.trimEnd() ?? null;
  if (tail === '' && result.cause === 'exit' && result.status !== 'SUCCEEDED')
    return ['  it printed nothing'];
  if (tail === null || tail === '') return [];
  const lines = tail.split('\n').slice(-LOG_LINES_MAX);
  return ['  last lines of its output:', ...lines.map((line) => `    ${line}`)];
}

function field(name: string, text: string): readonly string[] {
  return text === '' ? [] : [`  ${name.padEnd(9)} ${text}`];
}
