// The candidates of a run: provisioning models × machine types × places, in the order asked for or by
// price, without those that would break the budget.
import { machineUsd, roundUsd } from '#shared/plan/cost.ts';
import { fault } from '#shared/plan/fault.ts';
import { CANDIDATES_MAX } from '#shared/plan/limits.ts';
import { type ChosenMachine, chooseMachines } from '#shared/plan/machine-choice.ts';
import { MODELS } from '#shared/plan/machine-fit.ts';
import type {
  Candidate,
  Fault,
  Offers,
  PlanSettings,
  ProvisioningModel,
  RunRequest,
} from '#shared/plan/model.ts';
import { type Places, placesOf } from '#shared/plan/places.ts';
import { priceFactor, regionOf } from '#shared/plan/zones.ts';

export interface Candidates {
  readonly candidates: readonly Candidate[];
  readonly warnings: readonly string[];
  readonly faults: readonly Fault[];
}

/** All candidates of a request, or why there is none. */
export function candidatesOf(
  request: RunRequest,
  settings: PlanSettings,
  offers: Offers = {},
): Candidates {
  const choice = chooseMachines(request, offers);
  const places = placesOf(request, settings, offers);
  const warnings = [...choice.warnings, ...places.warnings];
  const faults = [...choice.faults, ...places.faults];
  if (faults.length > 0) return { candidates: [], warnings, faults };
  const perMachine = choice.machines.map((machine) => ({
    machine,
    places: offered(machine, places),
  }));
  for (const offer of perMachine)
    if (offer.places.length === 0) warnings.push(nowhere(offer.machine));
  if (perMachine.every((offer) => offer.places.length === 0)) {
    return {
      candidates: [],
      warnings,
      faults: perMachine.slice(0, 1).map(({ machine }) => notHere(machine, places)),
    };
  }
  const all = MODELS[request.provisioning].flatMap((model) =>
    candidatesBy(model, perMachine, request),
  );
  return withinBudget(all, request, warnings);
}

interface Offer {
  readonly machine: ChosenMachine;
  readonly places: Places['places'];
}

function candidatesBy(
  model: ProvisioningModel,
  offers: readonly Offer[],
  request: RunRequest,
): Candidate[] {
  const candidates = offers
    .filter(({ machine }) => machine.models.includes(model))
    .flatMap(({ machine, places }) => places.map((place) => candidateOf(machine, place, model)));
  if (request.resources.machineTypes.length > 0) return candidates;
  const price = ({ usdPerHour }: Candidate) => usdPerHour ?? Number.POSITIVE_INFINITY;
  return candidates.sort((a, b) => compare(price(a), price(b)));
}

/** Infinity minus infinity is no number: unknown prices are equal. */
const compare = (a: number, b: number) => (a === b ? 0 : a - b);

function candidateOf(
  machine: ChosenMachine,
  { region, zone, subnetwork }: Places['places'][number],
  provisioningModel: ProvisioningModel,
): Candidate {
  const usd = machine.usdPerHour[provisioningModel];
  const factor = priceFactor(region);
  return {
    region,
    zone,
    subnetwork,
    machineType: machine.machineType,
    provisioningModel,
    usdPerHour: usd === null || factor === null ? null : roundUsd(usd * factor),
  };
}

function offered({ zones }: ChosenMachine, { named, places }: Places): Places['places'] {
  if (zones === null || named) return places;
  return places.filter(({ zone }) => zones.includes(zone));
}

const nowhere = ({ machineType }: ChosenMachine) =>
  `${machineType} is on offer in no zone of these regions and is left out`;

function notHere(machine: ChosenMachine, { places }: Places): Fault {
  if (machine.zones?.length === 0) {
    const rule = `no zone of this project offers ${machine.machineType}`;
    const accepted =
      'a machine type of Compute Engine; or place.zones, which are tried as they are';
    return fault('resources.machineType', machine.machineType, { rule, accepted });
  }
  const regions = [...new Set(places.map(({ region }) => region))];
  const others = [...new Set(machine.zones?.map(regionOf))];
  return fault('place.regions', regions, {
    rule: `${machine.machineType} is on offer in no zone of ${regions.join(', ')}`,
    accepted: `${others.join(', ')}; or place.zones, which are tried as they are`,
  });
}

/** Leaves out what would cost more than the budget at full TTL, or has no known price. */
export function withinBudget(
  all: readonly Candidate[],
  { budgetUsd, ttlSeconds }: RunRequest,
  warnings: readonly string[],
): Candidates {
  const kept: Candidate[] = [];
  const told = new Set(warnings);
  for (const candidate of all) {
    const usd = machineUsd(candidate.usdPerHour, ttlSeconds);
    if (budgetUsd === null || (usd !== null && usd <= budgetUsd)) kept.push(candidate);
    else told.add(overBudget(candidate, usd, budgetUsd));
  }
  const first = firstOfEachModel(kept);
  if (first.length < kept.length) {
    told.add(`${kept.length} candidates are cut to ${first.length}, the first of each model`);
  }
  const faults = kept.length > 0 ? [] : [nothingAffordable(all, budgetUsd, ttlSeconds)];
  return { candidates: first, warnings: [...told], faults };
}

/** No more than a walk may try; the model that is fallen back to has up to half of it. */
function firstOfEachModel(all: readonly Candidate[]): readonly Candidate[] {
  const [model] = all.map(({ provisioningModel }) => provisioningModel);
  const first = all.filter(({ provisioningModel }) => provisioningModel === model);
  const fallback = all.filter(({ provisioningModel }) => provisioningModel !== model);
  const half = Math.floor(CANDIDATES_MAX / 2);
  const room = CANDIDATES_MAX - Math.min(fallback.length, half);
  const kept = first.slice(0, room);
  return [...kept, ...fallback.slice(0, CANDIDATES_MAX - kept.length)];
}

function overBudget(candidate: Candidate, usd: number | null, budgetUsd: number): string {
  const { machineType, provisioningModel, region } = candidate;
  const what = `${machineType} (${provisioningModel}) in ${region}`;
  if (usd === null) return `${what} has no known price and is left out under a budget`;
  return `${what} would cost ${usd.toFixed(2)} USD at full TTL, more than the budget of ${budgetUsd}, and is left out`;
}

function nothingAffordable(
  all: readonly Candidate[],
  budgetUsd: number | null,
  ttlSeconds: number,
): Fault {
  const prices = all.flatMap(({ usdPerHour }) => machineUsd(usdPerHour, ttlSeconds) ?? []);
  const cheapest =
    prices.length > 0
      ? `${Math.min(...prices).toFixed(2)} or more`
      : 'no known price: a machine type of the catalogue';
  return fault('budgetUsd', budgetUsd, {
    rule: 'one attempt at full TTL fits into the budget',
    accepted: `${cheapest}, or a shorter ttlSeconds`,
  });
}
