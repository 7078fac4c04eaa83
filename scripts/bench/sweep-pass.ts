// A process that goes through a deployment once and tells what it took: `sweep` as the function does it,
// with its clients and its account; `list` fetches the same pages and reads them as JSON, nothing else.
// Started by the sweep's benchmark, so that its memory is that of one pass.
import { handleSweep } from '#functions/sweep/handler.ts';
import { labelFilter } from '#functions/sweep/listing.ts';
import { localSettings } from '#scripts/local-cloud/deployment/environment.ts';
import { createClients } from '#shared/cloud/clients.ts';
import { systemClock, systemEntropy } from '#shared/cloud/clock.ts';
import { ACTIVE_PREFIX } from '#shared/plan/objects.ts';
import { Turns } from '#shared/runs/jobs/turns.ts';

export interface PassFigures {
  readonly milliseconds: number;
  readonly peakMebibytes: number;
  /** The sweep's report; the number of pages of a bare listing. */
  readonly outcome: unknown;
}

const [what = '', baseUrl = ''] = process.argv.slice(2);
const settings = localSettings(baseUrl);
const { project, bucket, deployment } = settings.plan;

async function sweep(): Promise<unknown> {
  const { store, compute, jobs, publisher, signer } = createClients(settings);
  const turns = new Turns(settings.plan.jobs);
  // A token, and the libraries' own start: a function has both before its first pass.
  await store.read('runs/deployment');
  await compute.listOperations('us-central1-a', '1');
  return await timed(() =>
    handleSweep(
      { dryRun: false },
      {
        ...{ settings, store, compute, jobs, signer, turns, publisher },
        clock: systemClock,
        entropy: systemEntropy,
        log() {},
      },
    ),
  );
}

/** The same pages in the same order, without a token, which the local cloud does not need. */
async function list(): Promise<unknown> {
  const filter = labelFilter(deployment);
  const aggregated = `${baseUrl}/compute/v1/projects/${project}/aggregated`;
  const query = { filter, maxResults: '500', returnPartialSuccess: 'true', fields: FIELDS };
  const objects = `${baseUrl}/storage/v1/b/${bucket}/o`;
  await readPages(objects, { prefix: 'runs/deployment' });
  return await timed(
    async () =>
      (await readPages(`${aggregated}/instances`, query)) +
      (await readPages(objects, { prefix: ACTIVE_PREFIX })) +
      (await readPages(`${aggregated}/disks`, query)),
  );
}

const FIELDS =
  'nextPageToken,unreachables,warning,items/*/warning,items/*/instances(name,id,zone,status,' +
  'machineType,labels,creationTimestamp,lastStartTimestamp,scheduling),items/*/disks(name,zone,' +
  'labels,users,type,sizeGb,creationTimestamp)';

async function readPages(url: string, query: Readonly<Record<string, string>>): Promise<number> {
  let pageToken = '';
  for (let pages = 1; ; pages++) {
    const search = new URLSearchParams({ ...query, ...(pageToken && { pageToken }) });
    const reply = await fetch(`${url}?${search}`);
    if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
    const page = (await reply.json()) as { nextPageToken?: string };
    pageToken = page.nextPageToken ?? '';
    if (pageToken === '') return pages;
  }
}

async function timed(work: () => Promise<unknown>): Promise<unknown> {
  const startMs = performance.now();
  const outcome = await work();
  const figures: PassFigures = {
    milliseconds: performance.now() - startMs,
    peakMebibytes: process.resourceUsage().maxRSS / 1024,
    outcome,
  };
  process.send?.(figures);
  return outcome;
}

await (what === 'sweep' ? sweep() : list());
process.disconnect?.();
