// Lists of instances and disks, in one zone and over all: scopes, warnings, unreachable zones, pages.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { diskResource } from '#scripts/local-cloud/compute/disks.ts';
import { moreAfter, readPaging } from '#scripts/local-cloud/compute/paging.ts';
import { typeResource } from '#scripts/local-cloud/compute/places.ts';
import { instanceResource } from '#scripts/local-cloud/compute/resources.ts';
import { type ComputeState, placeKey, regionsOf } from '#scripts/local-cloud/compute/state.ts';
import { type CountedMap, rememberLast } from '#scripts/local-cloud/counted-map.ts';
import { compileFilter } from '#scripts/local-cloud/filter.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import { selectFields } from '#scripts/local-cloud/partial.ts';

type Kind = 'instances' | 'disks' | 'machineTypes';

interface Listed {
  readonly zone: string;
  readonly show: () => JsonObject;
}

interface Source {
  /** `zone/name` of everything, in order. */
  readonly keys: readonly string[];
  /** Null: not there any more, or not shown yet. */
  readonly find: (key: string) => Listed | null;
}

const keysInOrder = rememberLast((map: CountedMap<string, unknown>) => [...map.keys()].sort());

/** A resource is built only when it is on the page: there may be very many of them. */
function sourceOf(context: Context, kind: Kind, project: string): Source {
  const { world, nowMs } = context;
  const { machines, disks, zones } = world.compute;
  switch (kind) {
    case 'instances':
      return {
        keys: keysInOrder(machines, ''),
        find: (key) => {
          const machine = machines.get(key);
          const shown =
            machine !== undefined && nowMs - machine.createdMs >= world.options.compute.listLagMs;
          return shown
            ? { zone: machine.zone, show: () => instanceResource(world, machine) }
            : null;
        },
      };
    case 'disks':
      return {
        keys: keysInOrder(disks, ''),
        find: (key) => {
          const disk = disks.get(key);
          return disk ? { zone: disk.zone, show: () => diskResource(world, disk) } : null;
        },
      };
    case 'machineTypes':
      return {
        keys: [...zones]
          .flatMap(([zone, types]) => [...types].map((name) => placeKey(zone, name)))
          .sort(),
        find: (key) => {
          const [zone = '', name = ''] = key.split('/');
          return { zone, show: () => typeResource(world, project, zone, name) };
        },
      };
  }
}

function firstAfter(keys: readonly string[], after: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? '') > after) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

interface Selection {
  readonly items: readonly { readonly zone: string; readonly resource: JsonObject }[];
  readonly fields: JsonObject;
}

/** What passes rights, filter and paging, or the refusal. */
function select(
  context: Context,
  call: Call,
  kind: Kind,
  inScope: (zone: string) => boolean,
): Selection | Reply {
  const { project = '', filter = '' } = call.params;
  const refusal = denied(context, call.principal, `compute.${kind}.list`, `projects/${project}`);
  const matches = compileFilter(filter);
  if (refusal !== null || typeof matches === 'string') {
    const rule = `Invalid value for field 'filter': '${filter}'. Invalid list filter expression.`;
    return refusal ?? refuse(400, 'invalid', rule);
  }
  const paging = readPaging(call.params);
  if ('refusal' in paging) {
    return paging.refusal;
  }
  const items: { zone: string; resource: JsonObject }[] = [];
  let last = '';
  const { keys, find } = sourceOf(context, kind, project);
  for (let index = firstAfter(keys, paging.after); index < keys.length; index++) {
    const key = keys[index] ?? '';
    const listed = find(key);
    const resource = listed !== null && inScope(listed.zone) ? listed.show() : null;
    if (listed === null || resource === null || !matches(resource)) {
      continue;
    }
    if (items.length === paging.size) {
      return { items, fields: moreAfter(last) };
    }
    items.push({ zone: listed.zone, resource });
    last = key;
  }
  return { items, fields: {} };
}

/** The whole reply, or what `fields` asks for of it. */
function reply(call: Call, body: JsonObject): Reply {
  const { fields } = call.params;
  const selected = fields === undefined ? body : selectFields(body, fields);
  return typeof selected === 'string'
    ? refuse(400, 'invalidParameter', `Invalid field selection ${fields}: ${selected}`, 'fields')
    : ok(selected);
}

function listZone(kind: Kind) {
  return (context: Context, call: Call): Reply => {
    const { project = '', zone = '' } = call.params;
    if (!context.world.compute.zones.has(zone)) {
      return refuse(400, 'invalid', `Invalid value for field 'zone': '${zone}'. Unknown zone.`);
    }
    if (context.world.compute.unreachable.has(zone)) {
      return refuse(503, 'backendError', `The zone ${zone} cannot be reached.`);
    }
    const selected = select(context, call, kind, (other) => other === zone);
    if ('headers' in selected) {
      return selected;
    }
    const items = selected.items.map(({ resource }) => resource);
    const id = `projects/${project}/zones/${zone}/${kind}`;
    return reply(call, { kind: `compute#${kind}List`, id, ...selected.fields, items });
  };
}

const NO_RESULTS = 'NO_RESULTS_ON_PAGE';

function warning(code: string, scope: string): JsonObject {
  const message =
    code === NO_RESULTS
      ? `There are no results for scope '${scope}' on this page.`
      : `The scope '${scope}' cannot be reached.`;
  return { warning: { code, message, data: [{ key: 'scope', value: scope }] } };
}

function scopesOf(compute: ComputeState, kind: Kind): string[] {
  const zones = [...compute.zones.keys()].map((zone) => `zones/${zone}`);
  return kind === 'disks'
    ? [...regionsOf(compute).map((name) => `regions/${name}`), ...zones]
    : zones;
}

/**
 * With `returnPartialSuccess` an unreachable zone is named, by a warning in its scope or in
 * `unreachables`; without it the whole call fails.
 */
function aggregate(kind: Kind) {
  return (context: Context, call: Call): Reply => {
    const { compute } = context.world;
    const partial = /^true$/i.test(call.params.returnPartialSuccess ?? '');
    const [firstLost] = compute.unreachable.keys();
    if (firstLost !== undefined && !partial) {
      return refuse(503, 'backendError', `The zone ${firstLost} cannot be reached.`);
    }
    const selected = select(context, call, kind, (zone) => !compute.unreachable.has(zone));
    if ('headers' in selected) {
      return selected;
    }
    const items: JsonObject = {};
    const unreachables: string[] = [];
    for (const scope of scopesOf(compute, kind)) {
      const zone = scope.slice(scope.indexOf('/') + 1);
      const lost = compute.unreachable.get(zone);
      const inside = selected.items.filter((item) => `zones/${item.zone}` === scope);
      if (lost === 'unreachables') {
        unreachables.push(scope);
      } else if (lost === 'warning') {
        items[scope] = warning('UNREACHABLE', scope);
      } else {
        items[scope] =
          inside.length > 0
            ? { [kind]: inside.map(({ resource }) => resource) }
            : warning(NO_RESULTS, scope);
      }
    }
    const body: JsonObject = {
      kind: `compute#${kind.replace(/s$/, '')}AggregatedList`,
      id: `projects/${call.params.project}/aggregated/${kind}`,
      ...selected.fields,
      items,
    };
    return reply(call, unreachables.length === 0 ? body : { ...body, unreachables });
  };
}

export const listMethods: Methods = {
  'compute.instances.list': listZone('instances'),
  'compute.instances.aggregatedList': aggregate('instances'),
  'compute.disks.list': listZone('disks'),
  'compute.disks.aggregatedList': aggregate('disks'),
  'compute.machineTypes.aggregatedList': aggregate('machineTypes'),
};
