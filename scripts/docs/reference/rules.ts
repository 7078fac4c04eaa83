// The part about rules that JSON Schema cannot say: requests that the schema takes and the code refuses.
import { code, oneLine, plain, table } from '#scripts/docs/reference/markdown.ts';
import { type Environment, refusalsOf, unreadable } from '#scripts/docs/reference/refusals.ts';
import { takes } from '#scripts/docs/reference/taken.ts';
import { JSON_DEPTH_MAX, LABELS_MAX, MESSAGE_BYTES_MAX } from '#shared/plan/limits.ts';

const TEXT_CHARACTERS_SHOWN = 100;
const ENTRIES_SHOWN = 10;

/** Fields beside an image; `request` where there is to be none. */
export interface RefusedCase {
  readonly fields?: object;
  readonly request?: object;
  readonly environment?: Environment;
}

const image = 'alpine:3.20';
const jobs = { runtime: 'cloudrun-jobs', command: ['fit'] };
const onJobs = (fields: object): RefusedCase => ({ request: { ...jobs, ...fields } });
const version = 'projects/p/secrets/s/versions/3';
const sha256 = (digit: string) => digit.repeat(64);
const on = (machineType: string, more: object = {}) => ({
  fields: { resources: { machineType, ...more } },
});

export const REFUSED: Readonly<Record<string, readonly RefusedCase[]>> = {
  'Texts and their sizes': [
    { fields: { args: ['\ud800'] } },
    { fields: { inputs: { '/in': `gs://my-data/${'é'.repeat(513)}` } } },
    { request: { image: `ghcr.io/${'a'.repeat(256)}` } },
    { request: { image: sha256('a') } },
    { fields: { annotations: { note: 'a'.repeat(8189) } } },
    { fields: { args: ['a'.repeat(131_072)] } },
    { fields: { args: Array.from({ length: 3 }, () => 'a'.repeat(100_000)) } },
  ],
  Labels: [
    { fields: { labels: { '#': 'a' } } },
    { fields: { labels: { Deployment: 'a' } } },
    { fields: { labels: { team: 'a', Team: 'b' } } },
    {
      fields: {
        labels: Object.fromEntries(
          Array.from({ length: LABELS_MAX + 1 }, (_, index) => [`k${index}`, '']),
        ),
      },
    },
  ],
  'Names that have to be known': [
    { fields: { resources: { gpu: { type: 'H400' } } } },
    { fields: { resources: { gpu: { type: 'P100' } } } },
    { fields: { place: { subnetworks: { 'europe-west1': 'a/b' } } } },
    {
      fields: { place: { subnetworks: { 'europe-west1': 'regions/us-east1/subnetworks/s' } } },
    },
    on('a4x-highgpu-4g'),
    onJobs({ resources: { base: 'base-unknown' } }),
  ],
  'One field beside another': [
    { fields: { package: { uri: 'gs://my-code/app.tar.gz' } } },
    {
      fields: {
        package: { uri: `gs://my-code/app-${sha256('a')}.tar.gz`, sha256: sha256('b') },
      },
    },
    { fields: { secrets: { PATH: version } } },
    { fields: { env: { TOKEN: 'x' }, secrets: { TOKEN: version } } },
    { fields: { inputs: { '/data': 'gs://my-data/a/' }, outputs: { '/data/out': 'gs://b-b/' } } },
    on('n2-standard-8', { cpus: 4 }),
    on('n2-standard-8', { machineTypes: ['n2-standard-8'] }),
    { fields: { place: { regions: ['europe-west1'], zones: ['us-east1-b'] } } },
    { fields: { ttlSeconds: 3600, timeoutSeconds: 3500 } },
    { fields: { ttlSeconds: 3600, keepOnFailureSeconds: 7200 } },
    { fields: { gpuIdleSeconds: 600 } },
    {
      ...onJobs({ resources: { class: 'GPU', base: 'base-ml' } }),
      environment: { MAYFLY_JOBS_GPU_JOBS: 'true' },
    },
    onJobs({ ttlSeconds: 43_200 }),
    { fields: { outputs: { '/out': 'gs://my-project-mayfly/runs/gce-status/' } } },
  ],
  'What machines there are': [
    on('t2a-standard-4'),
    on('n2-standard-8', { diskType: 'hyperdisk-extreme' }),
    on('n2-standard-8', { localSsdCount: 3 }),
    on('n2-standard-8', { gpu: { type: 'L4' } }),
    on('g2-standard-4', { gpu: { type: 'L4', count: 2 } }),
    on('n1-standard-96', { gpu: { type: 'T4', count: 1 } }),
    on('a3-highgpu-1g'),
    { fields: { resources: { machineType: 'h3-standard-88' }, provisioning: 'spot' } },
    {
      fields: {
        resources: { machineType: 'a2-ultragpu-1g' },
        place: { regions: ['europe-west1'] },
      },
    },
    { fields: { resources: { cpus: 1000, memoryGiB: 40_000 } } },
    { fields: { resources: { machineType: 'e2-standard-4' }, budgetUsd: 0.01 } },
  ],
  "The deployment's settings": [
    { fields: { serviceAccount: 'other@my-project.iam.gserviceaccount.com' } },
    { fields: { capabilities: ['SYS_PTRACE'] } },
    { fields: { ttlSeconds: 100_000 } },
    { fields: { budgetUsd: 20 }, environment: { MAYFLY_BUDGET_USD_MAX: '5' } },
    { fields: { place: { regions: ['us-east1'] } } },
    onJobs({ place: { regions: ['us-east1'] } }),
    onJobs({ resources: { class: 'GPU' } }),
  ],
  'When the request names no runtime': [
    { request: {} },
    { fields: { tasks: 2 } },
    { fields: { resources: { class: 'M' } } },
    { fields: {}, environment: { MAYFLY_DEFAULT_RUNTIME: 'cloudrun-jobs' } },
    { request: {}, environment: { MAYFLY_DEFAULT_RUNTIME: 'cloudrun-jobs' } },
  ],
};

const bytes = (text: string, encoding: BufferEncoding = 'utf8') => Buffer.from(text, encoding);

const UNREADABLE: Readonly<Record<string, Uint8Array>> = {
  'more bytes than Mayfly takes': bytes(JSON.stringify('a'.repeat(MESSAGE_BYTES_MAX))),
  'lists in lists in lists': bytes(
    `${'['.repeat(JSON_DEPTH_MAX + 1)}${']'.repeat(JSON_DEPTH_MAX + 1)}`,
  ),
  'text in UTF-16': bytes(`{"image": "${image}"}`, 'utf16le'),
  'text in Latin-1': bytes('{"args": ["é"]}', 'latin1'),
  'no data': bytes(''),
  'what a shell leaves of quotes': bytes(`{image: ${image}}`),
};

/** The whole request of a case. */
export const requestOf = ({ fields, request }: RefusedCase): object =>
  request ?? { image, ...fields };

export function rulesPart(refused = REFUSED): string {
  const parts = Object.entries(refused).map(
    ([title, cases]) => `### ${title}\n\n${table(['given', 'refused'], cases.map(rowOf))}`,
  );
  const unread = Object.entries(UNREADABLE).map(([title, data]) => {
    const reason = unreadable(data);
    if (reason === null) throw new Error(`${title}: this is read`);
    return [title, plain(reason)];
  });
  return [...parts, `### The message itself\n\n${table(['given', 'dead letter'], unread)}`].join(
    '\n',
  );
}

function rowOf(given: RefusedCase): string[] {
  const { environment = {} } = given;
  const request = requestOf(given);
  const text = shown(request);
  const refusals = refusalsOf(request, environment);
  if (!takes('request', request)) throw new Error(`${text}: the schema says this by itself`);
  if (refusals.length === 0) throw new Error(`${text}: this is not refused`);
  const settings = Object.entries(environment).map(([name, value]) => code(`${name}=${value}`));
  const told = refusals.map(
    ({ field, rule, accepted }) => `${code(field)}: ${plain(rule)}; accepted: ${plain(accepted)}`,
  );
  return [[code(text), ...settings].join(' with '), told.join('. ')];
}

/** As JSON, with long texts and long objects cut. */
function shown(value: unknown): string {
  const cut = (_: string, inner: unknown) => {
    if (typeof inner === 'string' && inner.length > TEXT_CHARACTERS_SHOWN) {
      return `${inner.slice(0, 24)}… (${inner.length} characters)`;
    }
    const count = typeof inner === 'object' && inner !== null ? Object.keys(inner).length : 0;
    if (count <= ENTRIES_SHOWN) return inner;
    const first = Object.entries(inner as object).slice(0, 2);
    return { ...Object.fromEntries(first), '…': `${count} in all` };
  };
  return oneLine(JSON.parse(JSON.stringify(value, cut)));
}
