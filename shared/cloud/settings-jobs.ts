// The settings of the second runtime, Cloud Run Jobs.
import { type Setting, setting } from '#shared/cloud/setting.ts';
import {
  flag,
  namesAndValues,
  type Parsed,
  serviceAccount,
  textOf,
  wholeNumber,
} from '#shared/cloud/settings-parse.ts';
import type { SettingsReader } from '#shared/cloud/settings-reader.ts';
import { jobKinds, jobName } from '#shared/plan/jobs-inventory.ts';
import { NAME_CHARACTERS_MAX } from '#shared/plan/limits.ts';
import type { JobsSettings } from '#shared/plan/model.ts';
import { BASE_RULE, JOB_TEMPLATE_RULE } from '#shared/plan/setting-rules.ts';

const BASE = textOf(BASE_RULE);
const TEMPLATE = '{deployment}-{base}-{class}';
/** Cloud Run takes 180 a minute of a project in a region. */
const SUBMITS_PER_MINUTE_CEILING = 180;

/** What a request may say for a base → the base. */
function bases(text: string): Parsed<Readonly<Record<string, string>>> {
  const read = namesAndValues(text);
  if (read.kind === 'broken') return read;
  for (const name of Object.entries(read.value).flat()) {
    const parsed = BASE(name);
    if (parsed.kind === 'broken') {
      return { ...parsed, rule: `${JSON.stringify(name)}: ${parsed.rule}` };
    }
  }
  return read;
}

const job = <Value>(...[name, ...rest]: Parameters<typeof setting<Value>>) =>
  setting<Value>(`JOBS_${name}`, ...rest);

export const JOBS_SETTINGS = {
  jobTemplate: job(
    'JOB_TEMPLATE',
    TEMPLATE,
    textOf(JOB_TEMPLATE_RULE),
    "The name of each Job on Cloud Run, in lower case; {base} and {class} tell a deployment's own apart.",
  ),
  pluginBases: job(
    'PLUGIN_BASES',
    '{"mmm": "base-bayes", "sci": "base-bayes", "tabular": "base-bayes", "ingest": "base-bayes", "describe": "base-bayes", "sklearn": "base-ml", "ts": "base-forecast", "causal": "base-forecast", "dl": "base-dl"}',
    bases,
    'What a request may say for a base image → the base image; its values, with the default one, are all that there are.',
  ),
  defaultBase: job(
    'DEFAULT_BASE',
    'base-bayes',
    BASE,
    'The base image of requests that name none.',
  ),
  gpuJobs: job(
    'GPU_JOBS',
    'false',
    flag,
    'Whether the class GPU is on offer: the Job of base-dl that has one L4.',
  ),
  submitsPerMinute: job(
    'SUBMITS_PER_MINUTE',
    '150',
    wholeNumber(1, SUBMITS_PER_MINUTE_CEILING),
    'How many executions the deployment starts a minute in a region; a project has 180.',
  ),
  submitBurst: job(
    'SUBMIT_BURST',
    '10',
    wholeNumber(1, SUBMITS_PER_MINUTE_CEILING),
    'How many of them may start at once.',
  ),
  max429Retries: job(
    'MAX_429_RETRIES',
    '6',
    wholeNumber(0, 100),
    'After how many answers of "too many" in a row a run waits for its turn anew.',
  ),
  backoffBaseSeconds: job(
    'BACKOFF_BASE_S',
    '1',
    wholeNumber(1, 3_600),
    'The first wait after such an answer; each further one is twice as long.',
  ),
  backoffCapSeconds: job(
    'BACKOFF_CAP_S',
    '64',
    wholeNumber(1, 3_600),
    'The longest wait after such an answer, whatever the platform asks for.',
  ),
  timeoutMarginSeconds: job(
    'TIMEOUT_MARGIN_S',
    '120',
    wholeNumber(60, 480),
    "What lies between a command's own limit and the platform's: TERM, 30 seconds, KILL, and what is still to be stored.",
  ),
  adoptLookbackSeconds: job(
    'ADOPT_LOOKBACK_S',
    '93600',
    wholeNumber(3_600, 2_592_000),
    'How old an execution may be that is looked for after a lost answer.',
  ),
  gpuTaskSecondsMax: job(
    'GPU_TASK_SECONDS_MAX',
    '3600',
    wholeNumber(600, 604_800),
    'The longest that the platform lets a task with a GPU run.',
  ),
  readerServiceAccount: job(
    'READER_SERVICE_ACCOUNT',
    '',
    serviceAccount,
    "The account that addresses to read are signed as; jobs need it. It may read the data and the deployment's bucket.",
  ),
  uploaderServiceAccount: job(
    'UPLOADER_SERVICE_ACCOUNT',
    '',
    serviceAccount,
    'The account that addresses and forms to write are signed as; jobs need it.',
  ),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

/** What is wrong only together with something else is told as well. */
export function readJobsSettings(reader: SettingsReader, deployment: string): JobsSettings {
  const settings = {
    // A stand-in that is right by itself: what is wrong is told once.
    jobTemplate: reader.needed(JOBS_SETTINGS.jobTemplate, TEMPLATE),
    pluginBases: reader.needed<Readonly<Record<string, string>>>(JOBS_SETTINGS.pluginBases, {}),
    defaultBase: reader.needed(JOBS_SETTINGS.defaultBase, ''),
    gpuJobs: reader.needed<boolean>(JOBS_SETTINGS.gpuJobs, false),
    submitsPerMinute: reader.needed(JOBS_SETTINGS.submitsPerMinute, 1),
    submitBurst: reader.needed(JOBS_SETTINGS.submitBurst, 1),
    max429Retries: reader.needed(JOBS_SETTINGS.max429Retries, 0),
    backoffBaseSeconds: reader.needed(JOBS_SETTINGS.backoffBaseSeconds, 1),
    backoffCapSeconds: reader.needed(JOBS_SETTINGS.backoffCapSeconds, 3_600),
    timeoutMarginSeconds: reader.needed(JOBS_SETTINGS.timeoutMarginSeconds, 60),
    adoptLookbackSeconds: reader.needed(JOBS_SETTINGS.adoptLookbackSeconds, 3_600),
    gpuTaskSecondsMax: reader.needed(JOBS_SETTINGS.gpuTaskSecondsMax, 600),
    readerServiceAccount: reader.optional(JOBS_SETTINGS.readerServiceAccount),
    uploaderServiceAccount: reader.optional(JOBS_SETTINGS.uploaderServiceAccount),
  };
  refuseTogether(reader, deployment, settings);
  return settings;
}

function refuseTogether(reader: SettingsReader, deployment: string, jobs: JobsSettings): void {
  if (jobs.backoffCapSeconds < jobs.backoffBaseSeconds) {
    const accepted = `${jobs.backoffBaseSeconds} or more`;
    reader.refuse(JOBS_SETTINGS.backoffCapSeconds, 'it is at least the first wait', accepted);
  }
  const names = jobKinds({ ...jobs, gpuJobs: true }).map((kind) => jobName(deployment, jobs, kind));
  const wrong = names.find((name) => name.length > NAME_CHARACTERS_MAX || name.endsWith('-'));
  if (wrong === undefined) return;
  const rule = `it makes the name ${JSON.stringify(wrong)}, which is too long or ends in a hyphen`;
  reader.refuse(JOBS_SETTINGS.jobTemplate, rule, `${NAME_CHARACTERS_MAX} characters at most`);
}
