// What a project may have where: its quotas, and the zones that offer a machine type. Hints before a
// placement: what cannot be read is null, never an error.
import * as z from 'zod';
import { lastPart, parseAggregatedPage } from '#shared/cloud/compute-replies.ts';
import { asCloudError, type Rest } from '#shared/cloud/rest.ts';
import { ALL_REGIONS, type Quota } from '#shared/plan/quota.ts';

const TYPE_PAGES_MAX = 20;

/** Quotas that could not be fetched are reported as a warning, with a list that means nothing. */
const quotasSchema = z.object({
  quotas: z
    .array(z.object({ metric: z.string(), limit: z.number(), usage: z.number() }))
    .default([]),
  quotaStatusWarning: z.unknown().optional(),
});

export async function getQuotas(rest: Rest, scope: string): Promise<readonly Quota[] | null> {
  const ofProject = scope === ALL_REGIONS;
  const body = await orNull(
    rest.read(ofProject ? 'compute.projects.get' : 'compute.regions.get', {
      path: ofProject ? [] : ['regions', scope],
    }),
  );
  const parsed = quotasSchema.safeParse(body);
  return parsed.success && parsed.data.quotaStatusWarning === undefined ? parsed.data.quotas : null;
}

export async function zonesOffering(
  rest: Rest,
  machineType: string,
): Promise<readonly string[] | null> {
  const zones: string[] = [];
  let pageToken: string | null = null;
  for (let page = 1; page <= TYPE_PAGES_MAX; page += 1) {
    const body = await orNull(
      rest.read('compute.machineTypes.aggregatedList', {
        path: ['aggregated', 'machineTypes'],
        query: {
          filter: `name=${machineType}`,
          maxResults: '500',
          ...(pageToken === null ? {} : { pageToken }),
        },
      }),
    );
    const listed = parseAggregatedPage(body, 'machineTypes', zoneOfType);
    if (listed === null || listed.unknownZones.length > 0) return null;
    zones.push(...listed.items);
    pageToken = listed.nextPageToken;
    if (pageToken === null) return zones.sort();
  }
  return null;
}

const typeSchema = z.object({ name: z.string(), zone: lastPart });

function zoneOfType(item: unknown): string | null {
  const parsed = typeSchema.safeParse(item);
  return parsed.success ? parsed.data.zone : null;
}

async function orNull(read: Promise<unknown>): Promise<unknown> {
  try {
    return await read;
  } catch (error) {
    asCloudError(error);
    return null;
  }
}
