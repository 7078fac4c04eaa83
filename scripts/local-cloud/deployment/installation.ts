// A whole deployment on this machine: the local cloud with real processes for machines, the functions
// as processes with an account each, everything laid out as Terraform would. `npm start`, `mayfly local`
// and tests use it; when it is disposed of, nothing of it is left running.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEmulator, layOutOnEmulator } from '#scripts/local-cloud/deployment/emulator.ts';
import {
  LOCAL_AUDIENCE,
  LOCAL_BUCKET,
  LOCAL_DEPLOYMENT,
  LOCAL_PROJECT,
  LOCAL_REGION,
  localAccount,
  localEnvironment,
  localSettings,
} from '#scripts/local-cloud/deployment/environment.ts';
import { startFunctions } from '#scripts/local-cloud/deployment/function-processes.ts';
import { localGrants } from '#scripts/local-cloud/deployment/grants.ts';
import { identityCalls } from '#scripts/local-cloud/deployment/identity.ts';
import { FUNCTION_NAMES, type FunctionName } from '#scripts/local-cloud/deployment/inventory.ts';
import { type LocalDeployment, layOutDeployment } from '#scripts/local-cloud/deployment/layout.ts';
import type { MachineHost, PoweredOff } from '#scripts/local-cloud/host/machine-host.ts';
import { ProcessMachineHost } from '#scripts/local-cloud/host/process-host.ts';
import { ProcessTaskHost } from '#scripts/local-cloud/host/process-task-host.ts';
import type { Engine } from '#scripts/local-cloud/sandbox/engine.ts';
import type { MetadataServer } from '#scripts/local-cloud/server/metadata.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';

/** A machine is made and unmade in a moment, so that a run takes as long as its job. */
const QUICK_COMPUTE = {
  provisioningMs: 200,
  stagingMs: 200,
  refusalMs: 500,
  operationPendingMs: 50,
  removalMs: 200,
  diskRemovalMs: 50,
};

/** What the images of the Jobs start, as the program that it is. */
const SUPERVISOR = 'shared/guest/supervisor/main.ts';
const PROJECT_FOLDER = join(import.meta.dirname, '..', '..', '..');

export interface Installation extends AsyncDisposable {
  readonly cloud: LocalCloud;
  readonly deployment: LocalDeployment;
  /** What runs containers, in words. */
  readonly containers: string;
}

export interface InstallationOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /**
   * The caller's own environment: where programs and a container engine are found, and with
   * PUBSUB_EMULATOR_HOST the broker in place of the local cloud's own.
   */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** More places (`gs://bucket/prefix`) that the runs' machines may read and write. */
  readonly objects: readonly string[];
  /** Secrets of the local project that are there from the start: short name → text. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly onLog: (name: FunctionName, line: string) => void;
  /** Another host around the real one: machines that are to be something else than processes. */
  readonly aroundHost?: (real: MachineHost, poweredOff: PoweredOff) => MachineHost;
}

/** Starts everything; when a part does not start, the others are stopped before this throws. */
export async function openInstallation(options: InstallationOptions): Promise<Installation> {
  await using stack = new AsyncDisposableStack();
  const emulator = await findEmulator(options.environment);
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-local-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const tasks = join(folder, 'tasks');
  await mkdir(tasks);
  let host: ProcessMachineHost | null = null;
  const cloud: LocalCloud = stack.use(
    await startLocalCloud({
      port: options.port,
      world: {
        project: LOCAL_PROJECT,
        buckets: [],
        grants: localGrants(options.objects),
        // As the real one tells who may read and not list.
        storage: { hideMissingObjects: true },
        compute: QUICK_COMPUTE,
        run: { startMs: 200 },
        pubsub: { emulator },
        secrets: fullNames(options.secrets ?? {}),
      },
      machineHost: (poweredOff) => {
        const failed = (_: unknown, error: unknown) => console.error(error);
        const cloudPort = () => cloud.port;
        host = new ProcessMachineHost(
          { folder, cloudPort, failed, env: options.environment },
          poweredOff,
        );
        return options.aroundHost?.(host, poweredOff) ?? host;
      },
      taskHost: (listener) =>
        new ProcessTaskHost(
          {
            folder: tasks,
            command: [process.execPath, SUPERVISOR],
            workingDir: PROJECT_FOLDER,
            env: options.environment,
            engine: engineOf(host),
            failed: (_, error) => console.error(error),
          },
          listener,
        ),
    }),
  );
  const metadata = await openAccounts(cloud, stack);
  const functions = stack.use(
    await startFunctions({
      environmentOf: (name) => ({
        ...environmentOf(options.environment, cloud.baseUrl, metadata[name]),
        PUBSUB_EMULATOR_HOST: emulator ?? undefined,
      }),
      onLog: options.onLog,
    }),
  );
  const deployment = await layOut(cloud, functions.urls, emulator);
  if (emulator !== null) stack.use(await layOutOnEmulator(emulator, cloud, deployment));
  const kept = stack.move();
  return {
    cloud,
    deployment,
    containers: describeContainers(host),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function layOut(
  cloud: LocalCloud,
  urls: LocalDeployment['functionUrls'],
  emulator: string | null,
): Promise<LocalDeployment> {
  const { baseUrl, world } = cloud;
  const deployment = {
    ...deploymentOf(baseUrl, urls),
    ...(emulator === null ? {} : { pubsubUrl: emulator }),
  };
  const { projectNumber } = world.options.compute;
  const calls = identityCalls(deployment, localEnvironment(baseUrl), projectNumber);
  await layOutDeployment(deployment, calls);
  return deployment;
}

function fullNames(secrets: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const named = Object.entries(secrets).map(([name, text]) => {
    return [`projects/${LOCAL_PROJECT}/secrets/${name}`, text];
  });
  return Object.fromEntries(named);
}

type Metadata = Readonly<Record<FunctionName, MetadataServer>>;

/** Each function asks a metadata server of its own for its account's tokens. */
async function openAccounts(cloud: LocalCloud, stack: AsyncDisposableStack): Promise<Metadata> {
  const opened = FUNCTION_NAMES.map(async (name) => {
    const server = await cloud.openMetadata({ kind: 'account', email: localAccount(name) });
    return [name, stack.use(server)] as const;
  });
  return Object.fromEntries(await Promise.all(opened)) as Metadata;
}

function environmentOf(
  environment: InstallationOptions['environment'],
  baseUrl: string,
  metadata: MetadataServer,
): Readonly<Record<string, string | undefined>> {
  return {
    PATH: environment.PATH,
    HOME: environment.HOME,
    TMPDIR: environment.TMPDIR,
    NODE_COMPILE_CACHE: environment.NODE_COMPILE_CACHE,
    ...localEnvironment(baseUrl),
    GCE_METADATA_HOST: metadata.host,
    // The library would ask for user credentials in the home folder first.
    CLOUDSDK_CONFIG: '/nonexistent',
    METADATA_SERVER_DETECTION: 'assume-present',
  };
}

function deploymentOf(
  baseUrl: string,
  functionUrls: LocalDeployment['functionUrls'],
): LocalDeployment {
  return {
    baseUrl,
    project: LOCAL_PROJECT,
    bucket: LOCAL_BUCKET,
    deployment: LOCAL_DEPLOYMENT,
    plan: localSettings(baseUrl).plan,
    taskAccount: localAccount('jobs-task'),
    region: LOCAL_REGION,
    pushAccount: localAccount('push'),
    audience: LOCAL_AUDIENCE,
    functionUrls,
  };
}

/** Found once, for machines and tasks. */
function engineOf(host: ProcessMachineHost | null): Engine | null {
  return host?.engine ?? null;
}

function describeContainers(host: ProcessMachineHost | null): string {
  const isolated = host?.whyNotIsolated == null;
  const where = isolated ? 'in namespaces of its own' : 'without namespaces of its own';
  const engine = host?.engine == null ? 'example images as plain processes' : 'a container engine';
  return `each machine is a group of processes ${where}; ${engine}`;
}
