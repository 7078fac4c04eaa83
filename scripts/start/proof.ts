// The proof that nothing is left: machines, disks, running executions and active entries, really counted in the cloud that
// they would be in, whatever their labels.
import { ACTIVE_PREFIX } from '#shared/plan/objects.ts';

const CALL_TIMEOUT_MS = 10_000;

export interface Left {
  readonly machines: number;
  readonly disks: number;
  /** Of Cloud Run Jobs, those that run. */
  readonly executions: number;
  readonly activeEntries: number;
}

/** Counts everything in the project and in the bucket, page by page. */
export async function countLeft(cloud: {
  readonly baseUrl: string;
  readonly project: string;
  readonly bucket: string;
}): Promise<Left> {
  const { baseUrl, project, bucket } = cloud;
  const aggregated = `${baseUrl}/compute/v1/projects/${project}/aggregated`;
  const namespace = `${baseUrl}/apis/run.googleapis.com/v1/namespaces/${project}`;
  const [machines, disks, executions, activeEntries] = await Promise.all([
    countPages(`${aggregated}/instances`, (page) => countScopes(page, 'instances')),
    countPages(`${aggregated}/disks`, (page) => countScopes(page, 'disks')),
    countPages(`${namespace}/executions`, countRunning),
    countPages(`${baseUrl}/storage/v1/b/${bucket}/o?prefix=${ACTIVE_PREFIX}`, countItems),
  ]);
  return { machines, disks, executions, activeEntries };
}

export function isNothing(left: Left): boolean {
  return Object.values(left).every((count) => count === 0);
}

export function describeLeft(left: Left): string {
  const { machines, disks, executions, activeEntries } = left;
  return `${machines} machines, ${disks} disks, ${executions} executions, ${activeEntries} active entries left`;
}

interface Page {
  readonly items?: unknown;
  readonly nextPageToken?: string;
}

async function countPages(url: string, count: (page: Page) => number): Promise<number> {
  let total = 0;
  let token: string | undefined;
  do {
    const next = new URL(url);
    if (token !== undefined) next.searchParams.set('pageToken', token);
    const reply = await fetch(next, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
    if (!reply.ok) throw new Error(`GET ${next} answered ${reply.status}: nothing is proved`);
    const page = (await reply.json()) as Page;
    total += count(page);
    token = page.nextPageToken;
  } while (token !== undefined && token !== '');
  return total;
}

function countScopes(page: Page, kind: 'instances' | 'disks'): number {
  const scopes = Object.values((page.items ?? {}) as Record<string, Record<string, unknown>>);
  return scopes.reduce((sum, scope) => sum + lengthOf(scope[kind]), 0);
}

function countRunning({ items }: Page): number {
  const all = Array.isArray(items) ? items : [];
  return all.filter(({ status }) => status?.completionTime === undefined).length;
}

function countItems(page: Page): number {
  return lengthOf(page.items);
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}
