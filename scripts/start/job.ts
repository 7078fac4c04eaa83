// The job that `npm start` runs: the example with its data, or the user's own request.
import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LocalDeployment, putObject } from '#scripts/local-cloud/deployment/layout.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { packFolder } from '#scripts/mayfly/package.ts';
import { parseFields } from '#scripts/mayfly/request-file.ts';
import { makeRunId } from '#scripts/mayfly/run-id.ts';
import { systemClock, systemEntropy } from '#shared/cloud/clock.ts';

const EXAMPLES = new URL('../examples/', import.meta.url);

export interface Job {
  readonly runId: string;
  /** The message for the requests topic. */
  readonly text: string;
  /** `gs://…` places of its inputs and outputs, which its machine may then reach. */
  readonly objects: readonly string[];
}

/** Reads FILE, from the caller's folder, or the example; a request without an id gets one. */
export async function readJob(file: string | null, folder: string): Promise<Job> {
  const path = file === null ? new URL('backtest.json', EXAMPLES) : resolve(folder, file);
  const bytes = await readFile(path).catch((error: Error) => {
    throw usageError(`${file ?? path} cannot be read: ${error.message}`);
  });
  const fields = parseFields(String(file ?? path), bytes);
  const runId =
    typeof fields.runId === 'string' ? fields.runId : makeRunId(systemClock, systemEntropy);
  const text = JSON.stringify({ runId, ...fields });
  return { runId, text, objects: [...urisOf(fields.inputs), ...urisOf(fields.outputs)] };
}

/** Our own objects are no data: a request that names them gets no right to them here either. */
function urisOf(places: unknown): readonly string[] {
  if (typeof places !== 'object' || places === null) return [];
  return Object.values(places).filter(
    (uri): uri is string => typeof uri === 'string' && /^gs:\/\/[^/]+\/(?!runs\/|$)/.test(uri),
  );
}

/** The examples' program as a package, where the request that asks for it says. */
async function uploadExamplePackage(deployment: LocalDeployment): Promise<void> {
  const folder = fileURLToPath(new URL('images/backtest/', EXAMPLES));
  const { sha256, bytes } = await packFolder(folder, (path) => path.endsWith('.mjs'));
  await putObject(deployment, `runs/code/backtest-${sha256}.tar.gz`, bytes);
}

/** Stores the examples' data under `data/`, and their package; gives the names of the data. */
export async function uploadExampleData(deployment: LocalDeployment): Promise<readonly string[]> {
  const folder = new URL('data/', EXAMPLES);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.csv'));
  for (const name of files) {
    await putObject(deployment, `data/${name}`, await readFile(new URL(name, folder)));
  }
  await uploadExamplePackage(deployment);
  return files.map((name) => `gs://${deployment.bucket}/data/${name}`);
}
