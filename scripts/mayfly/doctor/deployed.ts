// What the checks are about: the names of one deployment, its functions as the platform lists them, and
// the settings that those functions were given, from which all the rest follows.
import { FUNCTION_NAMES, type FunctionName } from '#scripts/local-cloud/deployment/inventory.ts';
import { asObject, asString, asStringMap } from '#scripts/local-cloud/json.ts';
import { type Finding, fault, ok } from '#scripts/mayfly/doctor/finding.ts';
import { judgeAnswer, type Reader } from '#scripts/mayfly/doctor/reader.ts';
import type { Target } from '#scripts/mayfly/target.ts';
import { readSettings, type Settings } from '#shared/cloud/config.ts';
import { SettingsError } from '#shared/cloud/settings-reader.ts';

export interface Names extends Target {
  /** Of functions, bucket and scheduler job. */
  readonly region: string;
  /** What runs use that the deployment does not know of itself, to be looked at too. */
  readonly used: {
    /** `gs://bucket/prefix`. */
    readonly data: readonly string[];
    /** `projects/P/secrets/S`. */
    readonly secrets: readonly string[];
    /** In Artifact Registry. */
    readonly images: readonly string[];
  };
}

export interface Deployed extends Names {
  readonly reader: Reader;
  /** The project's number, which Google's agents are named after; null when it cannot be read. */
  readonly number: string | null;
  /** Where each function answers; one that is not there has none. */
  readonly urls: ReadonlyMap<FunctionName, readonly string[]>;
  /** What the tokens of each function's calls have to be for, as its own settings say. */
  readonly audiences: ReadonlyMap<FunctionName, string>;
  /** As the functions have them; null when none can be read. */
  readonly settings: Settings | null;
}

export const accountOf = ({ deployment, project }: Target, name: string) =>
  `${deployment}-${name}@${project}.iam.gserviceaccount.com`;

/** The API whose reads say the project's number, in passing. */
export async function readServices({ project }: Names, reader: Reader) {
  const enabled = new Set<string>();
  let number: string | null = null;
  let pageToken = '';
  for (let page = 0; page < 20; page += 1) {
    const answer = await reader.get('SERVICEUSAGE', `v1/projects/${project}/services`, {
      filter: 'state:ENABLED',
      pageSize: '200',
      ...(pageToken === '' ? {} : { pageToken }),
    });
    if (answer.kind !== 'there') return { answer, enabled, number };
    const { services, nextPageToken } = answer.body;
    for (const service of Array.isArray(services) ? services.map(asObject) : []) {
      enabled.add(asString(asObject(service.config).name) ?? '');
      number ??= /^projects\/(\d+)/.exec(asString(service.parent) ?? '')?.[1] ?? null;
    }
    pageToken = asString(nextPageToken) ?? '';
    if (pageToken === '') return { answer, enabled, number };
  }
  throw new Error('services.list does not end');
}

/** Looks at the functions first: their settings say what all the other checks compare with. */
export async function readFunctions(names: Names, reader: Reader, number: string | null) {
  const findings: Finding[] = [];
  const urls = new Map<FunctionName, readonly string[]>();
  const audiences = new Map<FunctionName, string>();
  let settings: Settings | null = null;
  for (const name of FUNCTION_NAMES) {
    const check = `function ${names.deployment}-${name}`;
    const path = `v2/projects/${names.project}/locations/${names.region}/functions/${names.deployment}-${name}`;
    const answer = await reader.get('CLOUDFUNCTIONS', path);
    const missing = 'mayfly deploy';
    const finding = judgeAnswer(check, answer, {
      missing,
      judge: (body) => {
        const { state, stateMessages, url } = body;
        const config = asObject(body.serviceConfig);
        const texts = [config.uri, url].filter((text) => typeof text === 'string' && text !== '');
        urls.set(name, [...(texts as string[]), ...predictableUrls(names, name, number)]);
        const read = tryRead(asStringMap(config.environmentVariables));
        if (typeof read === 'string') return fault(`${check} settings`, read, missing);
        settings ??= read;
        audiences.set(name, read.push.audience);
        const account = asString(config.serviceAccountEmail);
        if (account !== accountOf(names, name)) {
          return fault(check, `runs as ${account}, not as ${accountOf(names, name)}`, missing);
        }
        const why = JSON.stringify(stateMessages ?? []).slice(0, 200);
        return state === 'ACTIVE'
          ? ok(check, 'ACTIVE')
          : fault(check, `is ${state}, not ACTIVE: ${why}`, missing);
      },
    });
    findings.push(finding);
  }
  return { findings, urls, audiences, settings: settings as Settings | null };
}

/** Every service has this address beside the one that is listed, and pushes go there (functions.tf). */
const predictableUrls = ({ deployment, region }: Names, name: string, number: string | null) =>
  number === null ? [] : [`https://${deployment}-${name}-${number}.${region}.run.app`];

function tryRead(variables: Readonly<Record<string, string>>): Settings | string {
  try {
    return readSettings(variables);
  } catch (error) {
    if (error instanceof SettingsError) return error.message.replaceAll('\n', ' ');
    throw error;
  }
}
