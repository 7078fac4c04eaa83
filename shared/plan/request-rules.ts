// Rules that need more than one field of a request, or the deployment's settings. Each rule names
// the fields that it reads and is left out when one of them is faulty by itself.
import { fault, fieldPath } from '#shared/plan/fault.ts';
import { acceleratorType } from '#shared/plan/gpu-types.ts';
import { GPU_BASE, JOB_SIZES } from '#shared/plan/jobs-inventory.ts';
import { legalLabels } from '#shared/plan/labels.ts';
import {
  ANNOTATION_BYTES_MAX,
  TIMEOUT_RESERVE_SECONDS,
  TTL_SECONDS_MIN,
} from '#shared/plan/limits.ts';
import type { Fault, PlanSettings, Runtime } from '#shared/plan/model.ts';
import { packageSha256 } from '#shared/plan/package-name.ts';
import { defaultTtlSeconds, KEPT_CAPABILITIES } from '#shared/plan/request-defaults.ts';
import type { ParsedRequest } from '#shared/plan/request-fields.ts';
import { subnetworkPath } from '#shared/plan/subnetwork.ts';
import { overlap } from '#shared/plan/text.ts';

interface RuleInput {
  readonly request: ParsedRequest;
  readonly settings: PlanSettings;
  readonly runtime: Runtime;
}

interface Rule {
  /** Paths of the fields that must be right, or absent, for the rule to make sense. */
  readonly reads: readonly string[];
  readonly check: (input: RuleInput) => readonly Fault[];
}

/** What the rules find wrong; `faulty` holds the paths of fields that are wrong by themselves. */
export function crossFaults(input: RuleInput, faulty: ReadonlySet<string>): Fault[] {
  return RULES.filter((rule) => !rule.reads.some((path) => faulty.has(path))).flatMap((rule) => [
    ...rule.check(input),
  ]);
}

const NONE: readonly Fault[] = [];

const imageNeeded: Rule = {
  reads: ['image'],
  check: ({ request, runtime }) =>
    runtime !== 'gce' || request.image !== undefined
      ? NONE
      : [
          fault('image', undefined, {
            rule: 'a run on gce needs an image',
            accepted: 'for example alpine:3.20',
          }),
        ],
};

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

const packageChecked: Rule = {
  reads: ['package', 'package.uri', 'package.sha256'],
  check: ({ request }) => {
    const asked = request.package;
    if (asked === undefined) return NONE;
    if (asked.uri === undefined) {
      const broken = { rule: 'a package has an address', accepted: '{"uri": "gs://…"}' };
      return [fault('package.uri', undefined, broken)];
    }
    const named = packageSha256(asked.uri);
    if (named === null && asked.sha256 === undefined) {
      const rule = 'a package whose name does not end in its sha256 needs the field sha256';
      return [fault('package.sha256', undefined, { rule, accepted: 'the output of sha256sum' })];
    }
    if (named === null || asked.sha256 === undefined || named === asked.sha256) return NONE;
    const rule = 'the sha256 is the one that the name of the package ends in';
    return [fault('package.sha256', asked.sha256, { rule, accepted: named })];
  },
};

const variablesOnce: Rule = {
  reads: ['env', 'secrets'],
  check: ({ request: { env = {}, secrets = {} } }) => {
    const broken = {
      rule: 'a variable is set by env or by secrets, not by both',
      accepted: 'one of both',
    };
    const both = Object.keys(secrets).filter((name) => Object.hasOwn(env, name));
    return both.map((name) => fault(fieldPath('secrets', [name]), secrets[name], broken));
  },
};

const mountsApart: Rule = {
  reads: ['inputs', 'outputs', 'checkpoint', 'secrets'],
  check: ({ request }) => {
    const { inputs = {}, outputs = {}, checkpoint = {}, secrets = {} } = request;
    const files = Object.keys(secrets).filter((key) => key.startsWith('/'));
    const mounts = [inputs, outputs, checkpoint].flatMap((map) => Object.keys(map));
    const pair = overlap([...mounts, ...files]);
    if (pair === null) return NONE;
    const rule = `no path of inputs, outputs, checkpoint and secrets is another one or lies in it, as ${pair[1]} does with ${pair[0]}`;
    const owner = [
      ['inputs', inputs],
      ['outputs', outputs],
      ['checkpoint', checkpoint],
      ['secrets', secrets],
    ] as const;
    const field = owner.find(([, map]) => Object.hasOwn(map, pair[1]))?.[0] ?? 'inputs';
    return [
      fault(fieldPath(field, [pair[1]]), pair[1], { rule, accepted: 'paths beside each other' }),
    ];
  },
};

const zonesInRegions: Rule = {
  reads: ['place', 'place.zones', 'place.regions'],
  check: ({ request: { place = {} } }) => {
    const { zones = [], regions } = place;
    if (regions === undefined) return NONE;
    const outside = zones.filter((zone) => !regions.includes(zone.slice(0, zone.lastIndexOf('-'))));
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

const accountListed: Rule = {
  reads: ['serviceAccount'],
  check: ({ request: { serviceAccount }, settings, runtime }) => {
    const accounts = settings.workerServiceAccounts;
    const listed =
      serviceAccount === undefined ? accounts.length > 0 : accounts.includes(serviceAccount);
    if (runtime !== 'gce' || listed) return NONE;
    const rule = "a machine runs as one of the deployment's WORKER_SERVICE_ACCOUNTS";
    const accepted = accounts.join(', ') || 'none until the setting names one';
    return [fault('serviceAccount', serviceAccount, { rule, accepted })];
  },
};

const capabilitiesAllowed: Rule = {
  reads: ['capabilities'],
  check: ({ request: { capabilities = [] }, settings }) => {
    const allowed = new Set([...KEPT_CAPABILITIES, ...settings.capabilitiesAllowed]);
    const accepted = settings.capabilitiesAllowed.join(', ') || 'none in this deployment';
    const rule = 'a capability is one of the setting CAPABILITIES_ALLOWED';
    return capabilities.flatMap((name, index) =>
      allowed.has(name) ? [] : [fault(`capabilities[${index}]`, name, { rule, accepted })],
    );
  },
};

const ttlAllowed: Rule = {
  reads: ['ttlSeconds'],
  check: ({ request: { ttlSeconds = 0 }, settings: { ttlSecondsMax } }) => {
    if (ttlSeconds <= ttlSecondsMax) return NONE;
    const rule = 'a machine lives no longer than the setting TTL_SECONDS_MAX';
    const accepted = `${TTL_SECONDS_MIN} to ${ttlSecondsMax}`;
    return [fault('ttlSeconds', ttlSeconds, { rule, accepted })];
  },
};

const limitsInTtl: Rule = {
  reads: ['ttlSeconds', 'timeoutSeconds', 'keepOnFailureSeconds', 'resources.class'],
  check: ({ request, settings }) => {
    const { ttlSeconds = defaultTtlSeconds(settings) } = request;
    const taskSeconds =
      request.resources?.class === undefined
        ? null
        : JOB_SIZES[request.resources.class].taskSecondsMax;
    const lifeSeconds = Math.min(ttlSeconds, taskSeconds ?? ttlSeconds);
    const reports = lifeSeconds - TIMEOUT_RESERVE_SECONDS;
    const faults: Fault[] = [];
    if ((request.timeoutSeconds ?? 0) > reports) {
      const rule = `the container's limit leaves ${TIMEOUT_RESERVE_SECONDS} of the ${lifeSeconds} seconds to report`;
      faults.push(
        fault('timeoutSeconds', request.timeoutSeconds, { rule, accepted: `1 to ${reports}` }),
      );
    }
    if ((request.keepOnFailureSeconds ?? 0) > ttlSeconds) {
      const rule = 'a failed machine is kept no longer than its ttlSeconds';
      faults.push(
        fault('keepOnFailureSeconds', request.keepOnFailureSeconds, {
          rule,
          accepted: `0 to ${ttlSeconds}`,
        }),
      );
    }
    return faults;
  },
};

const budgetAllowed: Rule = {
  reads: ['budgetUsd'],
  check: ({ request: { budgetUsd }, settings: { budgetUsdMax } }) => {
    if (budgetUsd === undefined || budgetUsdMax === null || budgetUsd <= budgetUsdMax) return NONE;
    const rule = 'a budget is at most the setting BUDGET_USD_MAX';
    return [fault('budgetUsd', budgetUsd, { rule, accepted: `up to ${budgetUsdMax}` })];
  },
};

const oneTaskOnVm: Rule = {
  reads: ['tasks'],
  check: ({ request: { tasks = 1 }, runtime }) => {
    if (runtime !== 'gce' || tasks === 1) return NONE;
    const rule = 'a run on gce has one task; publish a request for each, or use cloudrun-jobs';
    return [fault('tasks', tasks, { rule, accepted: '1' })];
  },
};

const gpuClassBase: Rule = {
  reads: ['resources.class', 'resources.base'],
  check: ({ request: { resources = {} } }) => {
    if (resources.class !== 'GPU' || resources.base === undefined || resources.base === GPU_BASE) {
      return NONE;
    }
    const rule = `only ${GPU_BASE} runs on the class GPU`;
    return [fault('resources.base', resources.base, { rule, accepted: GPU_BASE })];
  },
};

const labelsLegal: Rule = {
  reads: ['labels'],
  check: ({ request: { labels = {} } }) => legalLabels(labels).faults,
};

const annotationsShort: Rule = {
  reads: ['annotations'],
  check: ({ request: { annotations = {} } }) => {
    const bytes = Object.entries(annotations).reduce(
      (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text),
      0,
    );
    if (bytes <= ANNOTATION_BYTES_MAX) return NONE;
    const rule = `annotations have at most ${ANNOTATION_BYTES_MAX} bytes in all, and these have ${bytes}`;
    return [fault('annotations', annotations, { rule, accepted: `${ANNOTATION_BYTES_MAX} bytes` })];
  },
};

const RULES: readonly Rule[] = [
  imageNeeded,
  machineOrNeed,
  gpuKnown,
  gpuClassBase,
  packageChecked,
  variablesOnce,
  mountsApart,
  zonesInRegions,
  subnetworksFit,
  accountListed,
  capabilitiesAllowed,
  ttlAllowed,
  limitsInTtl,
  budgetAllowed,
  oneTaskOnVm,
  labelsLegal,
  annotationsShort,
];
