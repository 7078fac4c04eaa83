// Which credentials the calls are made with, and what to type when they are not enough.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError, EXIT_REFUSED } from '#scripts/mayfly/exit-codes.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

const FILE_NAME = 'application_default_credentials.json';

/** Where Google's libraries look, in their order; the metadata server is what is left. */
function placeOf(environment: Terminal['environment']): string {
  const { GOOGLE_APPLICATION_CREDENTIALS: named, CLOUDSDK_CONFIG: folder, HOME = '' } = environment;
  return named || join(folder || join(HOME, '.config', 'gcloud'), FILE_NAME);
}

async function describe(environment: Terminal['environment']): Promise<string> {
  const path = placeOf(environment);
  try {
    const { type, quota_project_id: quota } = JSON.parse(await readFile(path, 'utf8')) as Record<
      string,
      unknown
    >;
    const project = typeof quota === 'string' ? `quota project ${quota}` : 'no quota project';
    return `credentials of type ${type} with ${project}, in ${path}`;
  } catch {
    return `no credentials that can be read in ${path}`;
  }
}

/** User credentials need a project on which their calls are counted: the one command that names it. */
export async function quotaProjectError(
  project: string,
  environment: Terminal['environment'],
): Promise<CommandError> {
  return new CommandError(
    EXIT_REFUSED,
    `Google refused: these calls need a quota project. Found: ${await describe(environment)}\n` +
      `  gcloud auth application-default set-quota-project ${project}`,
  );
}
