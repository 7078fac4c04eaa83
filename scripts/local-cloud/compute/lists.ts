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
import { pageOf } from '#scripts/local-cloud/compute/paging.ts';
import { typeResource } from '#scripts/local-cloud/compute/places.ts';
import { instanceResource } from '#scripts/local-cloud/compute/resources.ts';
import { type ComputeState, regionsOf } from '#scripts/local-cloud/compute/state.ts';
import { compileFilter } from '#scripts/local-cloud/filter.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';

type Kind = 'instances' | 'disks' | 'machineTypes';

interface Listed {
  readonly zone: string;
  readonly name: string;
  readonly resource: JsonObject;
}

function everything(context: Context, kind: Kind, project: string): Listed[] {
  const { world, nowMs } = context;
  if (kind === 'disks') {
    return [...world.compute.disks.values()].map((disk) => {
      return { zone: disk.zone, name: disk.name, resource: diskResource(world, disk) };
    });
  }
  if (kind === 'machineTypes') {
    return [...world.compute.zones].flatMap(([zone, types]) =>
      [...types].map((name) => {
        const resource = typeResource(world, project, zone, name);
        return { zone, name, resource };
      }),
    );
  }
  return [...world.compute.machines.values()]
    .filter(({ createdMs }) => nowMs - createdMs >= world.options.compute.listLagMs)
    .map((machine) => {
      const { zone, name } = machine;
      return { zone, name, resource: instanceResource(world, machine) };
    });
}

interface Selection {
  readonly items: readonly Listed[];
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
  const found = everything(context, kind, project).filter(
    ({ zone, resource }) => inScope(zone) && matches(resource),
  );
  const page = pageOf(found, ({ zone, name }) => `${zone}/${name}`, call.params);
  return 'refusal' in page ? page.refusal : page;
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
    return ok({ kind: `compute#${kind}List`, id, ...selected.fields, items });
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
    return ok(unreachables.length === 0 ? body : { ...body, unreachables });
  };
}

export const listMethods: Methods = {
  'compute.instances.list': listZone('instances'),
  'compute.instances.aggregatedList': aggregate('instances'),
  'compute.disks.list': listZone('disks'),
  'compute.disks.aggregatedList': aggregate('disks'),
  'compute.machineTypes.aggregatedList': aggregate('machineTypes'),
};
