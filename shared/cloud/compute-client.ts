// Compute Engine by REST v1 over a transport. Reads are repeated a few times; inserts and deletes
// are sent once, because the caller repeats them with the same `requestId` by its own rules.
import assert from 'node:assert/strict';
import type {
  Compute,
  DeleteInstanceReply,
  InsertReply,
  ListPage,
  Operation,
  OperationsReply,
} from '#shared/cloud/compute.ts';
import { getQuotas, zonesOffering } from '#shared/cloud/compute-places.ts';
import {
  parseAggregatedPage,
  parseDisk,
  parseGuestAttributes,
  parseMachine,
  parseOperation,
  parseOperations,
} from '#shared/cloud/compute-replies.ts';
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import {
  type CloudError,
  isGoogleError,
  translateReply,
  unreadableReply,
} from '#shared/cloud/errors.ts';
import type { HttpReply } from '#shared/cloud/http.ts';
import {
  asCloudError,
  createRest,
  errorDetail,
  goneOrUnknown,
  isSuccess,
  type Rest,
  type RestCall,
  type RestOptions,
  readResource,
  translateRefusal,
} from '#shared/cloud/rest.ts';
import { placementError } from '#shared/lifecycle/placement-errors.ts';

const PAGE_ITEMS_MAX = 500;
const OPERATION_PAGES_MAX = 10;

export interface ComputeOptions extends RestOptions {
  readonly project: string;
  /** Base URL without a trailing slash; null: Google's own. */
  readonly endpoint: string | null;
}

/** The calls of Compute Engine that Mayfly makes. */
export function createCompute(options: ComputeOptions): Compute {
  const endpoint = options.endpoint ?? GOOGLE_ENDPOINTS.compute;
  const rest = createRest(`${endpoint}/compute/v1/projects/${options.project}`, options);
  return {
    insertInstance: (zone, requestId, body) => insertInstance(rest, zone, requestId, body),
    getInstance: async (zone, name) => {
      const reply = await readResource(rest, 'compute.instances.get', {
        path: ['zones', zone, 'instances', name],
        parse: (body) => {
          const machine = parseMachine(body);
          return machine?.name === name ? machine : null;
        },
      });
      return reply.kind === 'there' ? { kind: 'there', machine: reply.value } : reply;
    },
    deleteInstance: (zone, name, requestId) =>
      deleteResource(rest, 'compute.instances.delete', {
        path: ['zones', zone, 'instances', name],
        query: { requestId },
      }),
    getQuotas: (scope) => getQuotas(rest, scope),
    zonesOffering: (machineType) => zonesOffering(rest, machineType),
    getOperation: async (zone, name) => {
      const reply = await readResource(rest, 'compute.zoneOperations.get', {
        path: ['zones', zone, 'operations', name],
        parse: parseOperation,
      });
      return reply.kind === 'there' ? { kind: 'there', operation: reply.value } : reply;
    },
    listOperations: (zone, targetId) => listOperations(rest, zone, targetId),
    getGuestAttributes: (zone, name) => getGuestAttributes(rest, zone, name),
    listInstances: (filter, pageToken) =>
      listEverywhere(rest, { kind: 'instances', filter, pageToken, parse: parseMachine }),
    listDisks: (filter, pageToken) =>
      listEverywhere(rest, { kind: 'disks', filter, pageToken, parse: parseDisk }),
    deleteDisk: (zone, name) =>
      deleteResource(rest, 'compute.disks.delete', { path: ['zones', zone, 'disks', name] }),
  };
}

async function insertInstance(
  rest: Rest,
  zone: string,
  requestId: string,
  body: unknown,
): Promise<InsertReply> {
  const method = 'compute.instances.insert';
  const path = ['zones', zone, 'instances'];
  try {
    const reply = await rest.send(method, 'POST', { path, query: { requestId }, body });
    if (isSuccess(reply)) {
      const operation = parseOperation(reply.body);
      return operation === null
        ? { kind: 'unknown', error: unreadableReply(method, reply.status, 'no operation') }
        : { kind: 'accepted', operation };
    }
    return classifyInsertError(reply, translateReply(method, reply.status, reply.body));
  } catch (error) {
    return { kind: 'unknown', error: asCloudError(error) };
  }
}

/** Google answers every refusal with an error body; anything else came from something between. */
function classifyInsertError(reply: HttpReply, error: CloudError): InsertReply {
  const detail = errorDetail(reply);
  if (error.code === 'conflict') return { kind: 'conflict', error: detail };
  const { verdict } = placementError(detail);
  if (verdict === 'unknown' || !isGoogleError(reply.body)) return { kind: 'unknown', error };
  if (verdict === 'wait') return { kind: 'rate-limited', error: detail };
  return { kind: 'refused', error: detail };
}

/** Sent once: a machine allows ten queries a minute, and what they give is a hint. */
async function getGuestAttributes(
  rest: Rest,
  zone: string,
  name: string,
): Promise<Readonly<Record<string, string>> | null> {
  try {
    const reply = await rest.send('compute.instances.getGuestAttributes', 'GET', {
      path: ['zones', zone, 'instances', name, 'getGuestAttributes'],
      query: { queryPath: 'mayfly/' },
    });
    return isSuccess(reply) ? parseGuestAttributes(reply.body) : null;
  } catch (error) {
    asCloudError(error);
    return null;
  }
}

async function deleteResource(
  rest: Rest,
  method: string,
  call: RestCall,
): Promise<DeleteInstanceReply> {
  try {
    const reply = await rest.send(method, 'DELETE', call);
    if (!isSuccess(reply)) throw translateRefusal(method, reply);
    const operation = parseOperation(reply.body);
    return operation === null
      ? { kind: 'unknown', error: unreadableReply(method, reply.status, 'no operation') }
      : { kind: 'accepted', operation };
  } catch (error) {
    return goneOrUnknown(error);
  }
}

async function listOperations(
  rest: Rest,
  zone: string,
  targetId: string,
): Promise<OperationsReply> {
  const method = 'compute.zoneOperations.list';
  const found: Operation[] = [];
  let pageToken: string | null = null;
  try {
    for (let page = 1; page <= OPERATION_PAGES_MAX; page += 1) {
      const body = await rest.read(method, {
        path: ['zones', zone, 'operations'],
        query: {
          filter: `targetId=${targetId}`,
          maxResults: String(PAGE_ITEMS_MAX),
          ...(pageToken === null ? {} : { pageToken }),
        },
      });
      const listed = parseOperations(body);
      if (listed === null) throw unreadableReply(method, 200, 'no complete list of operations');
      found.push(...listed.operations.filter((operation) => operation.targetId === targetId));
      pageToken = listed.nextPageToken;
      if (pageToken === null) return { kind: 'listed', operations: found.sort(newestFirst) };
    }
    throw unreadableReply(method, 200, `more than ${OPERATION_PAGES_MAX} pages`);
  } catch (error) {
    return { kind: 'unknown', error: asCloudError(error) };
  }
}

/** A page is bounded in bytes too: machines carry their whole scripts, which nobody needs here. */
const PAGE_FIELDS = 'nextPageToken,unreachables,warning,items/*/warning';
const ITEM_FIELDS = {
  instances:
    'name,id,zone,status,machineType,labels,creationTimestamp,lastStartTimestamp,scheduling(provisioningModel,preemptible)',
  disks: 'name,zone,labels,users,type,sizeGb,creationTimestamp',
} as const;

async function listEverywhere<Item>(
  rest: Rest,
  list: {
    readonly kind: 'instances' | 'disks';
    readonly filter: string;
    readonly pageToken: string | null;
    readonly parse: (body: unknown) => Item | null;
  },
): Promise<ListPage<Item>> {
  assert(list.filter.trim() !== '', 'an empty filter would list what is not ours');
  const method = `compute.${list.kind}.aggregatedList`;
  const body = await rest.read(method, {
    path: ['aggregated', list.kind],
    query: {
      filter: list.filter,
      maxResults: String(PAGE_ITEMS_MAX),
      includeAllScopes: 'true',
      returnPartialSuccess: 'true',
      fields: `${PAGE_FIELDS},items/*/${list.kind}(${ITEM_FIELDS[list.kind]})`,
      ...(list.pageToken === null ? {} : { pageToken: list.pageToken }),
    },
  });
  const page = parseAggregatedPage(body, list.kind, list.parse);
  if (page === null) throw unreadableReply(method, 200, 'no aggregated list');
  return page;
}

function newestFirst(left: Operation, right: Operation): number {
  return (right.insertMs ?? 0) - (left.insertMs ?? 0);
}
