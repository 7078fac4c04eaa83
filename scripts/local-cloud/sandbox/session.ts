// What one `docker` call of a machine works with; read from the variables that the machine's wrapper
// sets (host/folder.ts writes the wrapper), never from anything the guest's script could lose.
import { dirname } from 'node:path';
import { ContainerStore } from '#scripts/local-cloud/sandbox/containers.ts';
import { readImages, type SandboxImage } from '#scripts/local-cloud/sandbox/images.ts';

export interface DockerSession {
  readonly store: ContainerStore;
  readonly images: readonly SandboxImage[];
  /** The machine's docker folder; pulled images are remembered there. */
  readonly stateFolder: string;
  readonly bootId: string;
  readonly nodeFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The client of a real engine that answers; null: the sandbox is all there is. */
  readonly engine: { readonly client: string; readonly label: string } | null;
}

/** Names of the variables in the wrapper. */
export const SESSION_VARIABLES = {
  stateFolder: 'MAYFLY_SANDBOX_STATE',
  bootId: 'MAYFLY_SANDBOX_BOOT',
  imagesFolder: 'MAYFLY_SANDBOX_IMAGES',
  engineClient: 'MAYFLY_SANDBOX_ENGINE',
  engineLabel: 'MAYFLY_SANDBOX_LABEL',
} as const;

/** Throws when the wrapper's variables are missing: this program is only started by one. */
export function openSession(env: Readonly<Record<string, string | undefined>>): DockerSession {
  const stateFolder = required(env, SESSION_VARIABLES.stateFolder);
  const bootId = required(env, SESSION_VARIABLES.bootId);
  const client = env[SESSION_VARIABLES.engineClient] ?? '';
  const label = env[SESSION_VARIABLES.engineLabel] ?? '';
  return {
    store: new ContainerStore(stateFolder, bootId),
    images: readImages(required(env, SESSION_VARIABLES.imagesFolder)),
    stateFolder,
    bootId,
    nodeFolder: dirname(process.execPath),
    env,
    engine: client === '' ? null : { client, label },
  };
}

function required(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = env[name];
  if (value !== undefined && value !== '') return value;
  throw new Error(`${name} is not set; start docker.ts through a local machine's docker command`);
}
