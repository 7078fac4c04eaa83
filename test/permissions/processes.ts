// Real machines' scripts and real tasks' supervisors in a whole local deployment: the calls of the accounts
// that they run as, and the signatures that are made for them.
import { readFile } from 'node:fs/promises';
import { vi } from 'vitest';
import { LOCAL_BUCKET } from '#scripts/local-cloud/deployment/environment.ts';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import { publish, putObject } from '#scripts/local-cloud/deployment/layout.ts';
import { uploadExampleData } from '#scripts/start/job.ts';

const END_MS = 120_000;
const POLL_MS = 50;
const EXAMPLES = new URL('../../scripts/examples/', import.meta.url);
const SECRETS = { TOKEN: 'projects/local-project/secrets/token/versions/1' };

export const openDeployment = (): Promise<Installation> =>
  openInstallation({
    port: 0,
    environment: process.env,
    objects: [],
    secrets: { token: 'not for every eye' },
    onLog: () => {},
  });

/** A machine and an execution, each with package and inputs, and with outputs that overwrite others. */
export async function runExamples(installation: Installation): Promise<readonly string[]> {
  const { deployment } = installation;
  await uploadExampleData(deployment);
  const jobs = await readRequest('forecast-jobs.json');
  const machine = await readRequest('backtest.json');
  const requests = { machine: { ...machine, package: jobs.package, secrets: SECRETS }, jobs };
  const runs = Object.entries(requests).map(async ([runId, request]) => {
    const [out = ''] = Object.values(request.outputs);
    const old = `${out.slice(`gs://${LOCAL_BUCKET}/`.length)}forecasts.csv`;
    await putObject(deployment, old, Buffer.from('of another day'));
    await publish(deployment, JSON.stringify({ ...request, runId }));
    return `${runId} ${await endOf(installation, runId)}`;
  });
  return await Promise.all(runs);
}

interface ExampleRequest {
  readonly package: object;
  readonly outputs: Readonly<Record<string, string>>;
}

async function readRequest(name: string): Promise<ExampleRequest> {
  return JSON.parse(await readFile(new URL(name, EXAMPLES), 'utf8'));
}

async function endOf({ cloud }: Installation, runId: string): Promise<string> {
  const find = () => {
    const objects = cloud.world.storage.buckets.get(LOCAL_BUCKET)?.objects;
    const result = objects?.get(`runs/results/${runId}.json`);
    if (result === undefined) throw new Error(`${runId} has no result`);
    return JSON.parse(Buffer.from(result.bytes).toString());
  };
  const { status } = await vi.waitFor(find, { timeout: END_MS, interval: POLL_MS });
  return status;
}
