// Where a deployment's Terraform state is, and what earlier deploys of it were given. Both lie in the home
// folder, one folder a deployment: no clone that is cleaned takes them along, and no two deployments can
// come upon one state. A state in a bucket is pushed there once and then remembered.
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Terraform } from '#scripts/deploy/terraform.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

export const TARGET_FILE = '.mayfly.json';
const BACKEND_FILE = 'backend_override.tf';
/** Beside the state. */
export const MEMORY_FILE = 'deploy.json';
const STATE_FILE = 'terraform.tfstate';
const MARK = '# written by mayfly deploy, process ';

/** Also the content of `.mayfly.json`, where the other verbs find their deployment. */
const knownSchema = z.object({
  project: z.string(),
  deployment: z.string(),
  bucket: z.string().optional(),
  region: z.string().optional(),
  regions: z.array(z.string()).optional(),
  workerServiceAccounts: z.array(z.string()).optional(),
  /** `gs://bucket/prefix`; null: a file beside this one, or the root's own backend. */
  state: z.string().nullable().default(null),
  variables: z.record(z.string(), z.string()).optional(),
});
export type Known = z.infer<typeof knownSchema>;

export interface Memory {
  /** Of this deployment alone, absolute. */
  readonly folder: string;
  readonly known: Known | null;
}

/**
 * `.mayfly.json` of the caller's folder may come from another computer, and is believed where it is about
 * this deployment; `name` stands for the deployment of a root that is asked for no such name.
 */
export async function openMemory(
  terminal: Terminal,
  project: string,
  deployment: string | null,
  name = deployment ?? '',
): Promise<Memory> {
  const { XDG_STATE_HOME: given, HOME: home } = terminal.environment;
  const states = given || (home ? join(home, '.local', 'state') : join(terminal.folder, '.local'));
  const folder = join(states, 'mayfly', project, name);
  const known = await readKnown(join(folder, MEMORY_FILE));
  if (known !== null) return { folder, known };
  const here = await readKnown(join(terminal.folder, TARGET_FILE));
  const same = here?.project === project && here.deployment === deployment;
  return { folder, known: same ? here : null };
}

async function readKnown(path: string): Promise<Known | null> {
  if (!existsSync(path)) return null;
  return knownSchema.safeParse(JSON.parse(await readFile(path, 'utf8'))).data ?? null;
}

/** Before an apply: one that fails half-way is repeated with the same words. */
export async function remember({ folder }: Memory, known: Known): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, MEMORY_FILE), textOf(known), { mode: 0o600 });
}

export const textOf = (known: Known) => `${JSON.stringify(known, null, 2)}\n`;

/** After the last resource went; an empty state stays, and does no harm. */
export async function forget({ folder }: Memory, terminal: Terminal): Promise<void> {
  const gone = await readKnown(join(folder, MEMORY_FILE));
  await rm(join(folder, MEMORY_FILE), { force: true });
  const here = join(terminal.folder, TARGET_FILE);
  const shown = await readKnown(here);
  if (shown?.project === gone?.project && shown?.deployment === gone?.deployment) {
    await rm(here, { force: true });
  }
}

export interface State {
  /** For people. */
  readonly place: string;
  /** Words for `plan`, `apply` and `output`. */
  readonly words: readonly string[];
  /** The text of the backend, where Terraform is to use another than the root's. */
  readonly backend: string | null;
}

export function stateAt({ folder }: Memory, uri: string | null, hasBackend: boolean): State {
  if (uri !== null) return { place: uri, words: [], backend: backendFor(uri) };
  if (hasBackend) return { place: 'the root’s own backend', words: [], backend: null };
  const place = join(folder, STATE_FILE);
  return { place, words: [`-state=${place}`], backend: null };
}

export function backendFor(uri: string): string {
  const [, bucket, prefix] = /^gs:\/\/([a-z0-9._-]+)\/([\w./-]+)$/.exec(uri) ?? [];
  if (bucket === undefined)
    throw usageError(`--state ${JSON.stringify(uri)} is not gs://BUCKET/PREFIX`);
  return `terraform {\n  backend "gcs" {\n    bucket = "${bucket}"\n    prefix = "${prefix}"\n  }\n}\n`;
}

/**
 * A backend stands in a file of the root and nowhere else, so it is there while a command runs, and no
 * longer. What a killed command left is taken away; another's deploy at this moment is not disturbed.
 */
export async function holdBackend(root: string, text: string | null): Promise<AsyncDisposable> {
  const path = join(root, BACKEND_FILE);
  const found = existsSync(path) ? await readFile(path, 'utf8') : '';
  const owner = found.startsWith(MARK) ? Number.parseInt(found.slice(MARK.length), 10) : null;
  if (owner !== null && isAlive(owner)) {
    throw usageError(`another mayfly deploy (process ${owner}) is at work in ${root}`);
  }
  if (owner !== null) await rm(path);
  if (text === null) return { [Symbol.asyncDispose]: async () => {} };
  if (owner === null && found !== '') {
    throw usageError(`${path} is not mayfly's own: take it away, or leave --state out`);
  }
  await writeFile(path, `${MARK}${process.pid}\n${text}`, { flag: 'wx' });
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}

/** `terraform` has been initialised at the new place. Terraform refuses to push over another state. */
export async function pushState({ folder }: Memory, terraform: Terraform): Promise<void> {
  const path = join(folder, STATE_FILE);
  await terraform.run(['state', 'push', path]);
  await rename(path, `${path}.moved`);
}

/** Whether a file of ours holds resources. */
export async function hasLocalState({ folder }: Memory): Promise<boolean> {
  const path = join(folder, STATE_FILE);
  if (!existsSync(path)) return false;
  const { resources } = JSON.parse(await readFile(path, 'utf8')) as { resources?: unknown[] };
  return (resources?.length ?? 0) > 0;
}
