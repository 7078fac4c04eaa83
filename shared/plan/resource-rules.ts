// Rules on what a run needs and where it may be.
import { fault, fieldPath } from '#shared/plan/fault.ts';
import { acceleratorType } from '#shared/plan/gpu-types.ts';
import {
  baseNamed,
  basesOf,
  DEFAULT_CLASS,
  GPU_BASE,
  jobKinds,
} from '#shared/plan/jobs-inventory.ts';
import { NONE, type Rule } from '#shared/plan/rule.ts';
import { subnetworkPath } from '#shared/plan/subnetwork.ts';
import { regionOf } from '#shared/plan/zones.ts';

const machineOrNeed: Rule = {
  reads: ['resources'],
  check: ({ request: { resources = {} } }) => {
    const named = resources.machineTypes !== undefined || resources.machineType !== undefined;
    const accepted = 'machineTypes alone, or cpus and memoryGiB';
    const rule = 'machine types are named, or found by cpus and memoryGiB, never both';
    const needs = (['cpus', 'memoryGiB'] as const).filter((name) => resources[name] !== undefined);
    const faults = named
      ? needs.map((name) => fault(`resources.${name}`, resources[name], { rule, accepted }))
      : [];
    if (resources.machineTypes === undefined || resources.machineType === undefined) return faults;
    const twice = {
      rule: 'machineType is machineTypes with one entry; one of both is enough',
      accepted: 'machineTypes alone',
    };
    return [...faults, fault('resources.machineType', resources.machineType, twice)];
  },
};

const gpuKnown: Rule = {
  reads: ['resources.gpu', 'resources.gpu.type'],
  check: ({ request: { resources } }) => {
    const gpu = resources?.gpu;
    if (gpu === undefined) return NONE;
    if (gpu.type === undefined) {
      const broken = {
        rule: 'a GPU is asked for by its type',
        accepted: '{"type": "L4", "count": 1}',
      };
      return [fault('resources.gpu.type', undefined, broken)];
    }
    const named = acceleratorType(gpu.type);
    return named.kind === 'known' ? NONE : [fault('resources.gpu.type', gpu.type, named)];
  },
};

const baseKnown: Rule = {
  reads: ['resources.class', 'resources.base'],
  check: ({ request: { resources = {} }, settings: { jobs }, runtime }) => {
    const { class: jobClass = DEFAULT_CLASS, base: asked } = resources;
    const base = baseNamed(asked, jobClass, jobs);
    if (runtime !== 'cloudrun-jobs' || asked === undefined) return NONE;
    if (base === null) {
      const rule = 'a base is one of the setting MAYFLY_JOBS_PLUGIN_BASES';
      const accepted = [...basesOf(jobs), ...Object.keys(jobs.pluginBases)].join(', ');
      return [fault('resources.base', asked, { rule, accepted })];
    }
    if (jobClass !== 'GPU' || base === GPU_BASE) return NONE;
    const rule = `only ${GPU_BASE} runs on the class GPU`;
    return [fault('resources.base', asked, { rule, accepted: GPU_BASE })];
  },
};

const gpuOnOffer: Rule = {
  reads: ['resources.class'],
  check: ({ request: { resources = {} }, settings: { jobs }, runtime }) => {
    if (runtime !== 'cloudrun-jobs' || resources.class !== 'GPU') return NONE;
    if (jobKinds(jobs).some((kind) => kind.class === 'GPU')) return NONE;
    const rule = 'this deployment has no Job with a GPU: the setting MAYFLY_JOBS_GPU_JOBS is off';
    const accepted = 'S, M, L; or the runtime gce with resources.gpu';
    return [fault('resources.class', 'GPU', { rule, accepted })];
  },
};

const zonesInRegions: Rule = {
  reads: ['place', 'place.zones', 'place.regions'],
  check: ({ request: { place = {} } }) => {
    const { zones = [], regions } = place;
    if (regions === undefined) return NONE;
    const outside = zones.filter((zone) => !regions.includes(regionOf(zone)));
    if (outside.length === 0) return NONE;
    const rule = 'every zone of place.zones lies in one of place.regions, when both are given';
    const accepted = `zones of ${regions.join(', ')}, or place.regions left out`;
    return [fault('place.zones', outside, { rule, accepted })];
  },
};

const subnetworksFit: Rule = {
  reads: ['place', 'place.subnetworks'],
  check: ({ request: { place = {} }, settings }) =>
    Object.entries(place.subnetworks ?? {}).flatMap(([region, text]) => {
      const parsed = subnetworkPath(text, region, settings.project);
      if (parsed.kind === 'path') return [];
      return [fault(fieldPath('place.subnetworks', [region]), text, parsed)];
    }),
};

export const resourceRules: readonly Rule[] = [
  machineOrNeed,
  gpuKnown,
  baseKnown,
  gpuOnOffer,
  zonesInRegions,
  subnetworksFit,
];
