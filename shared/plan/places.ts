// Where a run may be: its zones in the order asked, or all zones of its regions, each with the
// region's subnetwork. A region without a known subnetwork is no candidate.
import { fault } from '#shared/plan/fault.ts';
import type { Fault, Offers, PlanSettings, RunRequest } from '#shared/plan/model.ts';
import { isKnownZone, regionOf, zonesOfRegion } from '#shared/plan/zones.ts';

export interface Place {
  readonly region: string;
  readonly zone: string;
  readonly subnetwork: string;
}

export interface Places {
  readonly places: readonly Place[];
  /** The zones were named one by one: tables of what is on offer where do not outrank them. */
  readonly named: boolean;
  readonly warnings: readonly string[];
  readonly faults: readonly Fault[];
}

export function placesOf({ place }: RunRequest, settings: PlanSettings, offers: Offers): Places {
  const warnings: string[] = [];
  const zones = place.zones ?? zonesOfRegions(place.regions ?? settings.regions, offers, warnings);
  if (place.zones !== null) warnings.push(...unknownZones(place.zones));
  const without = new Set<string>();
  const places = zones.flatMap((zone) => {
    const region = regionOf(zone);
    const subnetwork = place.subnetworks[region] ?? settings.subnetworks[region];
    if (subnetwork === undefined) without.add(region);
    return subnetwork === undefined ? [] : [{ region, zone, subnetwork }];
  });
  for (const region of without) {
    warnings.push(`region ${region} has no known subnetwork and is left out`);
  }
  const faults = places.length > 0 ? [] : [noPlace([...without], settings.project)];
  return { places, named: place.zones !== null, warnings, faults };
}

/** A region that nobody knows the zones of is tried in the one that nearly every region has. */
function zonesOfRegions(
  regions: readonly string[],
  offers: Offers,
  warnings: string[],
): readonly string[] {
  const offered = new Set(Object.values(offers).flat());
  return regions.flatMap((region) => {
    const told = [...offered].filter((zone) => regionOf(zone) === region);
    const zones = [...new Set([...(zonesOfRegion(region) ?? []), ...told])].sort();
    if (zones.length > 0) return zones;
    warnings.push(`region ${region} stands in no table here: ${region}-a is tried`);
    return [`${region}-a`];
  });
}

function unknownZones(zones: readonly string[]): string[] {
  const unknown = zones.filter((zone) => !isKnownZone(zone));
  return unknown.map((zone) => `zone ${zone} stands in no table here: it is tried all the same`);
}

function noPlace(regions: readonly string[], project: string): Fault {
  const region = regions[0] ?? 'REGION';
  return fault('place.subnetworks', regions, {
    rule: 'a machine is placed in a region whose subnetwork is known',
    accepted: `{"${region}": "projects/${project}/regions/${region}/subnetworks/NAME"}, or the setting MAYFLY_SUBNETWORKS`,
  });
}
