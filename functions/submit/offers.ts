// Where the platform offers the machine types that a request may get: asked once a day a type, kept in
// the bucket. A type that cannot be asked after is placed by the built-in tables.
import type { SubmitDeps } from '#functions/submit/deps.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { machineTypesOf } from '#shared/plan/machine-choice.ts';
import { machineFacts } from '#shared/plan/machines/catalogue.ts';
import type { Offers, RunRequest } from '#shared/plan/model.ts';
import { offersObject } from '#shared/plan/objects.ts';

const KEPT_MS = 24 * 3_600_000;

interface Kept {
  readonly zones: readonly string[];
  readonly atMs: number;
}

export async function offersOf(deps: SubmitDeps, request: RunRequest): Promise<Offers> {
  // Zones that are named are tried as they are.
  if (request.runtime !== 'gce' || request.place.zones !== null) return {};
  const types = machineTypesOf(request);
  const known = await Promise.all(types.map(async (type) => [type, await zonesOf(deps, type)]));
  return Object.fromEntries(known.filter(([, zones]) => zones !== null));
}

async function zonesOf(deps: SubmitDeps, machineType: string): Promise<readonly string[] | null> {
  const name = offersObject(machineType);
  const nowMs = deps.clock.nowMs();
  const stored = await deps.store.read(name);
  const kept = stored.kind === 'found' ? readKept(stored.bytes) : null;
  if (kept !== null && nowMs - kept.atMs < KEPT_MS) return kept.zones;
  const zones = await askOnce(deps, machineType);
  // Nowhere at all is believed only of a type that we do not know ourselves.
  if (zones === null || (zones.length === 0 && machineFacts(machineType) !== null)) return null;
  const text = JSON.stringify({ zones, atMs: nowMs } satisfies Kept);
  const ifGeneration = stored.kind === 'found' ? stored.generation : '0';
  try {
    await deps.store.write(name, text, { ifGeneration, contentType: 'application/json' });
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    deps.log('INFO', 'offers-not-kept', `${machineType}: ${error.message}`);
  }
  return zones;
}

/** Requests that come at once ask once. */
async function askOnce(
  { compute, asking }: SubmitDeps,
  machineType: string,
): Promise<readonly string[] | null> {
  const asked = asking.get(machineType) ?? compute.zonesOffering(machineType);
  asking.set(machineType, asked);
  try {
    return await asked;
  } finally {
    asking.delete(machineType);
  }
}

function readKept(bytes: Uint8Array): Kept | null {
  try {
    const { zones, atMs } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Kept>;
    const areZones = Array.isArray(zones) && zones.every((zone) => typeof zone === 'string');
    return areZones && typeof atMs === 'number' ? { zones, atMs } : null;
  } catch {
    return null;
  }
}
