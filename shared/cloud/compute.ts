// Compute Engine by REST (v1): machines, disks, operations. "Unknown" stands beside "there" and
// "gone" in every answer, because a caller that takes one for the other loses runs or machines.
import type { CloudError } from '#shared/cloud/errors.ts';
import type { InstanceBody } from '#shared/plan/model.ts';
import type { Quota } from '#shared/plan/quota.ts';

export interface ApiErrorDetail {
  /** HTTP, of an answer to a call. */
  readonly status?: number;
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
  /** As the caller gave it. */
  readonly requestId: string | null;
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
  readonly diskType: string;
  /** Null when the platform did not say. */
  readonly sizeGiB: number | null;
  readonly createdMs: number | null;
}

export type InsertReply =
  | { readonly kind: 'accepted'; readonly operation: Operation }
  /** A real no, when it answers the first call of an intent. */
  | { readonly kind: 'refused'; readonly error: ApiErrorDetail }
  /** 409: an instance of that name is there, or was asked for. */
  | { readonly kind: 'conflict'; readonly error: ApiErrorDetail }
  /** Nothing was made: repeat later. */
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
  /** Of a region, or of the whole project (`ALL_REGIONS`); null when they cannot be read. */
  getQuotas(scope: string): Promise<readonly Quota[] | null>;
  /** The zones that offer a machine type; null when not all of them can be read. */
  zonesOffering(machineType: string): Promise<readonly string[] | null>;
  getOperation(zone: string, name: string): Promise<OperationReply>;
  /** Operations of a zone about one instance id, newest first: preempted, hostError, delete … */
  listOperations(zone: string, targetId: string): Promise<OperationsReply>;
  /** Guest attributes under `mayfly/`; null when there are none or they cannot be read. */
  getGuestAttributes(zone: string, name: string): Promise<Readonly<Record<string, string>> | null>;
  /**
   * Throws a CloudError when the page as a whole cannot be had. `filter` is never empty. Listed
   * machines come without their metadata.
   */
  listInstances(filter: string, pageToken: string | null): Promise<ListPage<Machine>>;
  listDisks(filter: string, pageToken: string | null): Promise<ListPage<Disk>>;
  deleteDisk(zone: string, name: string): Promise<DeleteInstanceReply>;
}
