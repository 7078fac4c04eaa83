// The local cloud as a server on one port of the loopback address: Google's REST paths in front of a
// world in real time, pushes over HTTP, machines on a host, metadata servers beside it.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Call, Reply } from '#scripts/local-cloud/call.ts';
import type { MachineHostFactory } from '#scripts/local-cloud/host/machine-host.ts';
import type { TaskHostFactory } from '#scripts/local-cloud/host/task-host.ts';
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { handleRequest } from '#scripts/local-cloud/server/http.ts';
import { JobTasks } from '#scripts/local-cloud/server/job-tasks.ts';
import { Machines } from '#scripts/local-cloud/server/machines.ts';
import {
  close,
  listen,
  type MetadataIdentity,
  type MetadataServer,
  openMetadataServer,
} from '#scripts/local-cloud/server/metadata.ts';
import { carryOutPush } from '#scripts/local-cloud/server/push.ts';
import { PushGate } from '#scripts/local-cloud/server/push-gate.ts';
import { Runtime } from '#scripts/local-cloud/server/runtime.ts';
import { createWorld, type World } from '#scripts/local-cloud/world.ts';

export interface LocalCloudOptions {
  /** 0, the default, takes a free one. */
  readonly port?: number;
  readonly world?: WorldChoices;
  readonly nowMs?: () => number;
  /** Makes the machines real; left out: they have power and nothing runs on them. */
  readonly machineHost?: MachineHostFactory;
  /** Makes the tasks of executions real; left out: they run until something is told of them. */
  readonly taskHost?: TaskHostFactory;
  /** An order of a machine or a task that could not be carried out. Default: printed on standard error. */
  readonly failed?: (error: unknown) => void;
}

export interface LocalCloud extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly baseUrl: string;
  readonly port: number;
  /** For a look inside; changes go through calls. */
  readonly world: World;
  /** A call of the owner, without HTTP. */
  call(method: string, params?: Readonly<Record<string, string>>, body?: unknown): Reply;
  /** A call of anybody, without HTTP. */
  perform(call: Call): Reply;
  /** A metadata server for one machine or account, until it is disposed of. */
  openMetadata(identity: MetadataIdentity): Promise<MetadataServer>;
}

/** What an instance on Cloud Run is given at a time unless it is configured otherwise. */
const REQUESTS_AT_ONCE = 80;

/** An idle connection stays for longer than any client keeps one: no call meets its end. */
const KEEP_ALIVE_MS = 600_000;

/** As long as a real guest may take: with a host it is the guest that ends the machine. */
const HOSTED = { shutdownMs: 120_000, spotShutdownMs: 30_000 };

export async function startLocalCloud(options: LocalCloudOptions = {}): Promise<LocalCloud> {
  const failed = options.failed ?? ((error: unknown) => console.error(error));
  const hosted = options.machineHost === undefined ? {} : HOSTED;
  const compute = { ...hosted, ...options.world?.compute };
  const world = createWorld({ ...options.world, compute });
  const stop = new AbortController();
  const gate = new PushGate(REQUESTS_AT_ONCE);
  let machines: Machines | null = null;
  let tasks: JobTasks | null = null;
  const runtime = new Runtime(world, options.nowMs ?? Date.now, {
    push: (event) =>
      void gate.pass(event.url, () => carryOutPush(runtime, event, stop.signal)).catch(failed),
    machine: (event) => machines?.carryOut(event),
    task: (event) => tasks?.carryOut(event),
  });
  if (options.machineHost !== undefined) {
    const host = options.machineHost((id) => powerOff(runtime, id));
    machines = new Machines(runtime, host, failed);
  }
  if (options.taskHost !== undefined) {
    tasks = new JobTasks(runtime, options.taskHost, failed);
  }
  const server = createServer((request, response) => {
    handleRequest(runtime, request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listen(server, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  world.baseUrl = `http://127.0.0.1:${port}`;
  return {
    baseUrl: world.baseUrl,
    port,
    world,
    call: (method, params = {}, body) => runtime.perform(ownerCall(method, params, body)),
    perform: (call) => runtime.perform(call),
    openMetadata: (identity) => openMetadataServer(runtime, identity),
    async [Symbol.asyncDispose]() {
      stop.abort();
      runtime.close();
      await Promise.all([machines?.[Symbol.asyncDispose](), tasks?.[Symbol.asyncDispose]()]);
      await close(server);
    },
  };
}

function ownerCall(method: string, params: Call['params'], body: unknown): Call {
  return { method, principal: null, params, ...(body === undefined ? {} : { body }) };
}

/** The guest of that machine has ended; a machine that is gone meanwhile does not mind. */
function powerOff(runtime: Runtime, id: string): void {
  runtime.perform(ownerCall('local.machine.poweredOff', { id }, undefined));
}
