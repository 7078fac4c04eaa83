// The part about requests: every field from the table that validates it, and examples that are planned.
import {
  block,
  code,
  codeOrWords,
  compactJson,
  plain,
  table,
} from '#scripts/docs/reference/markdown.ts';
import { refusalsOf } from '#scripts/docs/reference/refusals.ts';
import { taken } from '#scripts/docs/reference/taken.ts';
import type { Field, FieldTable } from '#shared/plan/field.ts';
import type { Runtime } from '#shared/plan/model.ts';
import { requestFields } from '#shared/plan/request-fields.ts';

const SHA256 = '0123456789abcdef'.repeat(4);

/** What each table is about, and the fields or groups that it has. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  'Which run': ['runId', 'labels', 'annotations'],
  'What runs': ['image', 'command', 'args', 'workingDir', 'env', 'secrets', 'imageCredentials'],
  'Its data': ['package', 'inputs', 'outputs', 'checkpoint'],
  'On what': ['runtime', 'provisioning', 'resources'],
  Where: ['place'],
  'As whom': ['serviceAccount', 'metadataAccess', 'capabilities'],
  'How long, how often, for how much': [
    ...['ttlSeconds', 'timeoutSeconds', 'retry', 'waitForCapacitySeconds', 'keepOnFailureSeconds'],
    ...['gpuIdleSeconds', 'budgetUsd', 'tasks', 'service'],
  ],
};

const HEAD = ['field', 'rule', 'accepted', 'when left out', 'refused on'];

const EXAMPLES: Readonly<Record<string, object>> = {
  'A job on a processor, in the machine types that it names:': {
    runId: 'forecast-2026-12-01.eu',
    image: `europe-docker.pkg.dev/my-project/jobs/forecast@sha256:${SHA256}`,
    args: ['--series', 'αβ "x" $y'],
    inputs: { '/data/sales.csv': 'gs://my-data/sales.csv' },
    outputs: { '/out': 'gs://my-data/forecasts/1/' },
    resources: { machineTypes: ['n2-standard-8', 'n2d-standard-8'] },
    timeoutSeconds: 3600,
  },
  'Training on a GPU:': {
    runId: 'train-17',
    image: 'europe-docker.pkg.dev/my-project/ml/train:v3',
    resources: { gpu: { type: 'L4', count: 1 }, memoryGiB: 32 },
    provisioning: 'spot-then-standard',
    ttlSeconds: 43_200,
    outputs: { '/out': 'gs://my-models/train-17/' },
    budgetUsd: 20,
  },
  'Eight tasks on Cloud Run Jobs:': {
    runId: 'fit-9',
    runtime: 'cloudrun-jobs',
    resources: { class: 'M', base: 'base-ml' },
    package: { uri: `gs://my-code/app-${SHA256}.tar.gz` },
    command: ['python', 'fit.py'],
    tasks: 8,
    outputs: { '/out': 'gs://my-models/fit-9/' },
  },
};

export function requestPart(): string {
  const named = Object.values(TABLES).flat();
  const missing = Object.keys(requestFields).filter((name) => !named.includes(name));
  if (missing.length > 0) throw new Error(`the reference has no place for ${missing.join(', ')}`);
  const tables = Object.entries(TABLES).map(([title, names]) => {
    const fields = Object.fromEntries(names.map((name) => [name, fieldNamed(name)]));
    const rows = rowsOf(fields, '');
    return `### ${title}\n\n${table(HEAD, rows)}`;
  });
  return [...tables, '### Examples\n', ...examples()].join('\n');
}

function fieldNamed(name: string) {
  const found = (requestFields as FieldTable)[name];
  if (found === undefined) throw new Error(`there is no field ${name}`);
  return found;
}

function rowsOf(fields: FieldTable, path: string): string[][] {
  return Object.entries(fields).flatMap(([name, entry]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    if (entry.kind === 'group') return rowsOf(entry.fields, inner);
    const { rule, accepted, fallback } = entry;
    return [[code(inner), plain(rule), codeOrWords(accepted), plain(fallback), refusedOn(entry)]];
  });
}

function refusedOn({ refusedOn: refused }: Field<unknown>): string {
  const runtimes = Object.entries(refused) as [Runtime, string][];
  return runtimes.map(([runtime, why]) => `${code(runtime)}: ${why}`).join('; ');
}

function examples(): string[] {
  return Object.entries(EXAMPLES).map(([title, example]) => {
    const request = JSON.parse(JSON.stringify(example)) as object;
    const [refusal] = refusalsOf(request);
    if (refusal !== undefined) throw new Error(`${title} ${JSON.stringify(refusal)}`);
    return `${title}\n\n${block('json', compactJson(taken('request', request)))}`;
  });
}
