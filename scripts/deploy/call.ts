// What one call of `mayfly deploy` is about: its root, its deployment, and the variables that hold for it.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleFunctions } from '#scripts/deploy/bundle.ts';
import { type RootFiles, readRoot } from '#scripts/deploy/root.ts';
import { type Known, type Memory, openMemory } from '#scripts/deploy/state.ts';
import { mergeVariables, readGiven, type Variables } from '#scripts/deploy/variables.ts';
import type { Call } from '#scripts/mayfly/call.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { DEPLOYMENT_DEFAULT, findTarget } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { once } from '#shared/runs/real-deps.ts';

const PROJECT_FOLDER = fileURLToPath(new URL('../../', import.meta.url));
const ARCHIVE_FOLDER = join('.local', 'deploy');

export interface Deploy {
  readonly call: Call;
  readonly terminal: Terminal;
  readonly folder: string;
  readonly files: RootFiles;
  readonly project: string;
  readonly deployment: string;
  readonly memory: Memory;
  readonly variables: Variables;
}

export async function readDeploy(call: Call, terminal: Terminal): Promise<Deploy> {
  const { project, deployment = DEPLOYMENT_DEFAULT } = await findTarget(call, terminal);
  if (project === undefined) {
    throw usageError('which project? Give --project ID, or set MAYFLY_PROJECT');
  }
  const folder = findRoot(call, terminal);
  const files = await readRoot(folder);
  if (call.text('deployment') !== null && !files.variables.has('deployment')) {
    throw usageError(`${folder} names its deployment itself: leave --deployment out`);
  }
  // A root that names its deployment itself is a deployment of its own, whatever the name.
  const root = createHash('sha256').update(folder).digest('hex').slice(0, 12);
  const memory = files.variables.has('deployment')
    ? await openMemory(terminal, project, deployment)
    : await openMemory(terminal, project, null, `root-${root}`);
  const given = readGiven(call, files.variables);
  const own = { project, deployment, source_archive: archivePath('') };
  const kept = { ...keptVariables(memory.known), ...environmentBucket(terminal) };
  const variables = mergeVariables(files.variables, { kept, given, own });
  return { call, terminal, folder, files, project, deployment, memory, variables };
}

const environmentBucket = ({ environment }: Terminal): Variables =>
  environment.MAYFLY_BUCKET ? { bucket: environment.MAYFLY_BUCKET } : {};

/** A `.mayfly.json` without variables says region and bucket at least. */
export function keptVariables(known: Known | null): Variables {
  if (known === null) return {};
  const { bucket, region, regions, variables } = known;
  if (variables !== undefined) return variables;
  return {
    ...(bucket === undefined ? {} : { bucket }),
    ...(region === undefined ? {} : { region }),
    ...(regions === undefined ? {} : { regions: JSON.stringify(regions) }),
  };
}

function findRoot(call: Call, terminal: Terminal): string {
  const given = call.text('dir');
  const folder =
    given === null ? join(PROJECT_FOLDER, 'terraform') : resolve(terminal.folder, given);
  if (existsSync(folder)) return folder;
  throw usageError(`there is no folder ${folder}: --dir names the Terraform root`);
}

const archivePath = (sha256: string) =>
  join(PROJECT_FOLDER, ARCHIVE_FOLDER, `functions-${sha256.slice(0, 16)}.zip`);

/** Sources do not change while the command runs. */
const bundle = once(bundleFunctions);

export async function writeArchive(): Promise<string> {
  const { zip, sha256 } = await bundle();
  const path = archivePath(sha256);
  await mkdir(join(PROJECT_FOLDER, ARCHIVE_FOLDER), { recursive: true });
  await writeFile(path, zip);
  return path;
}
