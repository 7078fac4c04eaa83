// Which deployment a verb talks to: flags, else `MAYFLY_*` variables, else `.mayfly.json` of the
// caller's folder, else (the project alone) GOOGLE_CLOUD_PROJECT.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Call } from '#scripts/mayfly/call.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

export const DEPLOYMENT_DEFAULT = 'mayfly';
const FILE_NAME = '.mayfly.json';

export interface Target {
  readonly project: string;
  readonly bucket: string;
  readonly deployment: string;
}

const fileSchema = z.object({
  project: z.string().optional(),
  bucket: z.string().optional(),
  deployment: z.string().optional(),
  region: z.string().optional(),
});

type Names = z.infer<typeof fileSchema>;

/** What is known of the target, gaps included; `plan` needs no more. */
export async function findTarget(call: Call, terminal: Terminal): Promise<Partial<Target>> {
  const { environment } = terminal;
  const file = await readTargetFile(terminal.folder);
  const pick = (key: keyof Names, ...more: readonly (string | undefined)[]) =>
    [
      call.text(key) ?? undefined,
      environment[`MAYFLY_${key.toUpperCase()}`],
      file[key],
      ...more,
    ].find((value) => value !== undefined && value !== '');
  const project = pick('project', environment.GOOGLE_CLOUD_PROJECT);
  const bucket = pick('bucket');
  const deployment = pick('deployment');
  return {
    ...(project === undefined ? {} : { project }),
    ...(bucket === undefined ? {} : { bucket }),
    ...(deployment === undefined ? {} : { deployment }),
  };
}

/** The whole target; throws a usage error that names everything that is missing at once. */
export async function requireTarget(call: Call, terminal: Terminal): Promise<Target> {
  const { project, bucket, deployment = DEPLOYMENT_DEFAULT } = await findTarget(call, terminal);
  if (project !== undefined && bucket !== undefined) return { project, bucket, deployment };
  const missing = [
    ...(project === undefined ? ['the project (--project or MAYFLY_PROJECT)'] : []),
    ...(bucket === undefined ? ['the bucket (--bucket or MAYFLY_BUCKET)'] : []),
  ];
  throw usageError(
    `which deployment is meant? Missing: ${missing.join(' and ')}, or both in ${FILE_NAME}; ` +
      '`mayfly local` prints these lines for the local cloud',
  );
}

/** Where the functions, the bucket and the scheduler job are; left out, the first of the regions. */
export async function requireRegion(call: Call, terminal: Terminal): Promise<string> {
  const { environment } = terminal;
  const { region } = await readTargetFile(terminal.folder);
  const [first] = (environment.MAYFLY_REGIONS ?? '').split(',');
  const found = call.text('region') || environment.MAYFLY_REGION || region || first;
  if (found) return found.trim();
  throw usageError(
    `which region is meant? Missing: --region, MAYFLY_REGION, or region in ${FILE_NAME}`,
  );
}

async function readTargetFile(folder: string): Promise<Names> {
  const path = join(folder, FILE_NAME);
  const text = await readFile(path, 'utf8').catch((error: { code?: string }) => {
    if (error.code === 'ENOENT') return '{}';
    throw error;
  });
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw usageError(
      `${path} is not a JSON object with texts for project, bucket, deployment: ${reason}`,
    );
  }
}
