// Compute Engine by REST (v1): machines, disks, operations. "Unknown" stands beside "there" and
// "gone" in every answer, because a caller that takes one for the other loses runs or machines.
import type { CloudError } from '#shared/cloud/errors.ts';
import type { InstanceBody } from '#shared/plan/model.ts';

export interface ApiErrorDetail {
  readonly code: string;
  readonly message: string;
  /** Values of `quotaInfo` and `errorInfo.metadatas` (or `metadata`), by their own names. */
  readonly details: Readonly<Record<string, string>>;
}

export interface Operation {
  readonly name: string;
  readonly zone: string;
  readonly operationType: string;
  readonly status: 'PENDING' | 'RUNNING' | 'DONE';
  /** The instance's numeric id, once the platform has given one. */
  readonly targetId: string | null;
  readonly targetName: string | null;
  readonly user: string | null;
  readonly insertMs: number | null;
  readonly endMs: number | null;
  readonly errors: readonly ApiErrorDetail[];
}

export interface Machine {
  readonly name: string;
  readonly id: string;
  readonly zone: string;
  /** The platform's status: PROVISIONING, STAGING, RUNNING, STOPPING, TERMINATED and so on. */
  readonly status: string;
  readonly machineType: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdMs: number | null;
  readonly lastStartMs: number | null;
  readonly provisioningModel: string;
}

export interface Disk {
  readonly name: string;
  readonly zone: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly users: readonly string[];
  readonly createdMs: number | null;
}

export type InsertReply =
  | { readonly kind: 'accepted'; readonly operation: Operation }
  /** A 4xx that is a real no when it answers the first call of an intent; not 408, 409 or 429. */
  | { readonly kind: 'refused'; readonly status: number; readonly error: ApiErrorDetail }
  /** 409: an instance of that name is there, or was asked for. */
  | { readonly kind: 'conflict'; readonly error: ApiErrorDetail }
  /** 429, or 403 with a rate-limit reason: nothing was made, repeat later. */
  | { readonly kind: 'rate-limited'; readonly error: ApiErrorDetail }
  /** 408, 5xx, time-out, cut connection, unreadable reply: the machine may appear. */
  | { readonly kind: 'unknown'; readonly error: CloudError };

export type MachineReply =
  | { readonly kind: 'there'; readonly machine: Machine }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly error: CloudError };

export type OperationReply =
  | { readonly kind: 'there'; readonly operation: Operation }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly error: CloudError };

export type DeleteInstanceReply =
  | { readonly kind: 'accepted'; readonly operation: Operation }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly error: CloudError };

export type OperationsReply =
  | { readonly kind: 'listed'; readonly operations: readonly Operation[] }
  | { readonly kind: 'unknown'; readonly error: CloudError };

/** One page of an aggregated list; scopes that could not be read are named, never taken for empty. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** Zone names whose content is unknown; `*` when the whole page is. */
  readonly unknownZones: readonly string[];
  readonly nextPageToken: string | null;
}

/** No call throws for an answer of the service; every call has its own deadline. */
export interface Compute {
  insertInstance(zone: string, requestId: string, body: InstanceBody): Promise<InsertReply>;
  getInstance(zone: string, name: string): Promise<MachineReply>;
  deleteInstance(zone: string, name: string, requestId: string): Promise<DeleteInstanceReply>;
  getOperation(zone: string, name: string): Promise<OperationReply>;
  /** Operations of a zone about one instance id, newest first: preempted, hostError, delete … */
  listOperations(zone: string, targetId: string): Promise<OperationsReply>;
  /** Guest attributes under `mayfly/`; null when there are none or they cannot be read. */
  getGuestAttributes(zone: string, name: string): Promise<Readonly<Record<string, string>> | null>;
  /** Throws a CloudError when the page as a whole cannot be had. `filter` is never empty. */
  listInstances(filter: string, pageToken: string | null): Promise<ListPage<Machine>>;
  listDisks(filter: string, pageToken: string | null): Promise<ListPage<Disk>>;
  deleteDisk(zone: string, name: string): Promise<DeleteInstanceReply>;
}
