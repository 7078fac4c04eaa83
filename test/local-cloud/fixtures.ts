// A world with one clock that the test moves, and bodies of which a test names only what it is about.
import { advance, apply, nextDueMs } from '#scripts/local-cloud/apply.ts';
import {
  type Call,
  isMachineEvent,
  type JobTaskEvent,
  type PushEvent,
  type Reply,
  type WorldEvent,
} from '#scripts/local-cloud/call.ts';
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { createWorld, type World } from '#scripts/local-cloud/world.ts';

export const START_MS = Date.UTC(2026, 11, 1, 12, 0, 0);
export const PROJECT = 'local-project';
export const ZONE = 'us-central1-a';
const WORKER = 'worker@local-project.iam.gserviceaccount.com';

/** A body that Compute takes, with the given fields over it. */
export function instanceBody(name: string, fields: Record<string, unknown> = {}) {
  return {
    name,
    machineType: `zones/${ZONE}/machineTypes/n2-standard-4`,
    labels: { app: 'test' },
    metadata: { items: [{ key: 'startup-script', value: 'true' }] },
    disks: [{ boot: true, autoDelete: true, initializeParams: { sourceImage: 'family/cos' } }],
    networkInterfaces: [{ network: 'global/networks/default' }],
    serviceAccounts: [{ email: WORKER, scopes: ['cloud-platform'] }],
    scheduling: {
      maxRunDuration: { seconds: '600' },
      instanceTerminationAction: 'DELETE',
      automaticRestart: false,
    },
    ...fields,
  };
}

/** A world under test: calls at its own instant, and every event that came of them. */
export class TestWorld {
  readonly world: World;
  readonly events: WorldEvent[] = [];
  nowMs = START_MS;

  constructor(choices: WorldChoices = {}) {
    this.world = createWorld(choices);
  }

  call(
    method: string,
    params: Record<string, string> = {},
    body?: unknown,
    principal: string | null = null,
  ): Reply {
    const call: Call = { method, principal, params, ...(body === undefined ? {} : { body }) };
    const { reply, events } = apply(this.world, this.nowMs, call);
    this.events.push(...events);
    return reply;
  }

  /** Lets time pass; everything due meanwhile happens. */
  pass(milliseconds: number): void {
    this.nowMs += milliseconds;
    this.events.push(...advance(this.world, this.nowMs));
  }

  nextDueMs(): number | null {
    return nextDueMs(this.world);
  }

  pushes(): PushEvent[] {
    return this.events.filter((event) => event.kind === 'push');
  }

  /** Kinds of the machine events, in order. */
  machineEvents(): string[] {
    return this.events.filter(isMachineEvent).map(({ kind }) => kind);
  }

  taskEvents(): JobTaskEvent[] {
    return this.events.filter(
      (event): event is JobTaskEvent => event.kind !== 'push' && !isMachineEvent(event),
    );
  }

  instance(
    method: string,
    name: string,
    params: Record<string, string> = {},
    body?: unknown,
  ): Reply {
    const place = { project: PROJECT, zone: ZONE, instance: name };
    return this.call(`compute.instances.${method}`, { ...place, ...params }, body);
  }

  insert(name: string, fields: Record<string, unknown> = {}, params: Record<string, string> = {}) {
    const zone = params.zone ?? ZONE;
    const body = instanceBody(name, {
      machineType: `zones/${zone}/machineTypes/n2-standard-4`,
      ...fields,
    });
    return this.call('compute.instances.insert', { project: PROJECT, zone, ...params }, body);
  }

  operation(reply: Reply): Record<string, unknown> {
    const zone = String(reply.body?.zone ?? '').replace(/^.*\//, '');
    const params = { project: PROJECT, zone, operation: String(reply.body?.name) };
    return this.call('compute.zoneOperations.get', params).body ?? {};
  }
}

/** `errors[0].reason` of a refusal in the older shape. */
export function reasonOf(reply: Reply): string {
  const error = reply.body?.error as { errors?: { reason?: string }[] } | undefined;
  return error?.errors?.[0]?.reason ?? '';
}
