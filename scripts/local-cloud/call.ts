// What goes into the step and what comes out of it. Calls and replies are plain data; HTTP, sockets
// and JSON text exist at the server's edge alone.
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import type { World } from '#scripts/local-cloud/world.ts';

export interface Call {
  /** The API's own method name, `storage.objects.insert`; the world's controls begin with `local.`. */
  readonly method: string;
  /** A service account's e-mail; null is the owner, who may do everything. */
  readonly principal: string | null;
  /** Path and query parameters by the API's own names. */
  readonly params: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** How the reply travels when a planted fault says so; the step itself has been made or not. */
export type Disturbance = 'cut' | 'hang' | 'slow' | 'garbage';

export interface Reply {
  readonly status: number;
  readonly body?: JsonObject;
  readonly bytes?: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly disturbance?: Disturbance;
  /** The account by whose signature the call was made, where it was not the call's principal. */
  readonly speaker?: string;
}

/** Who an OIDC token speaks for; the server's edge signs it with the world's key. */
export interface TokenOrder {
  readonly audience: string;
  readonly email: string;
}

/** An HTTP request that the cloud makes; its result comes back as the call `local.push.result`. */
export interface PushEvent {
  readonly kind: 'push';
  readonly source: 'pubsub' | 'scheduler' | 'publisher';
  readonly deliveryId: string;
  /** The full name of the subscription, of the job, or of the topic whose broker is another one. */
  readonly origin: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** An object is sent as JSON text, bytes as they are. */
  readonly body: JsonObject | Uint8Array | null;
  readonly token: TokenOrder | null;
  readonly sentMs: number;
  readonly timeoutMs: number;
}

export interface MachineIdentity {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly project: string;
}

/** The machine has power: its guest boots. `boot` counts from 1. */
export interface MachineStartedEvent extends MachineIdentity {
  readonly kind: 'machine-started';
  readonly boot: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly principal: string | null;
}

/** The ACPI soft-off was sent; power is cut at `powerOffMs` at the latest. */
export interface MachineStoppingEvent extends MachineIdentity {
  readonly kind: 'machine-stopping';
  readonly powerOffMs: number;
}

/** Power is off: nothing of this boot runs any more. */
export interface MachineGoneEvent extends MachineIdentity {
  readonly kind: 'machine-gone';
  readonly deleted: boolean;
}

export type MachineEvent = MachineStartedEvent | MachineStoppingEvent | MachineGoneEvent;

/** One attempt of one task of an execution on Cloud Run. */
export interface JobTask {
  /** `projects/P/locations/R/jobs/J/executions/E`. */
  readonly execution: string;
  readonly task: number;
  /** Counts from 0. */
  readonly attempt: number;
  /** Short, as `job` is. */
  readonly executionName: string;
  readonly job: string;
  readonly region: string;
  readonly project: string;
}

/** The task's container starts. How it ends comes back as the call `local.run.taskEnded`. */
export interface JobTaskStartedEvent extends JobTask {
  readonly kind: 'task-started';
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  /** The Job's variables, the overrides, and the platform's own. */
  readonly env: Readonly<Record<string, string>>;
  /** `resources.limits` of its container. */
  readonly limits: Readonly<Record<string, string>>;
  readonly principal: string | null;
}

/** TERM was sent; KILL follows at `killMs`. */
export interface JobTaskStoppingEvent extends JobTask {
  readonly kind: 'task-stopping';
  readonly killMs: number;
}

/** KILL: nothing of this attempt runs any more. */
export interface JobTaskKilledEvent extends JobTask {
  readonly kind: 'task-killed';
}

export type JobTaskEvent = JobTaskStartedEvent | JobTaskStoppingEvent | JobTaskKilledEvent;
export type WorldEvent = PushEvent | MachineEvent | JobTaskEvent;

export function isMachineEvent(event: WorldEvent): event is MachineEvent {
  return event.kind.startsWith('machine-');
}

/** What a handler sees: the world, the instant, and where events go. */
export interface Context {
  readonly world: World;
  readonly nowMs: number;
  readonly emit: (event: WorldEvent) => void;
}

export type Handler = (context: Context, call: Call) => Reply;
export type Methods = Readonly<Record<string, Handler>>;

export function ok(body: JsonObject, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 200, body, headers };
}

export function empty(status: number): Reply {
  return { status, headers: {} };
}
