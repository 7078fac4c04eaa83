// Secrets and their versions as the world keeps them, and how a caller's names find them.
import type { World } from '#scripts/local-cloud/world.ts';

export interface SecretVersion {
  readonly number: number;
  readonly bytes: Uint8Array;
  state: 'ENABLED' | 'DISABLED' | 'DESTROYED';
  readonly createdMs: number;
}

export interface SecretsState {
  /** `projects/P/secrets/S`, P being the project's id → versions, oldest first. */
  readonly secrets: Map<string, SecretVersion[]>;
}

export const createSecrets = (): SecretsState => ({ secrets: new Map() });

/** The project by its id, whether a caller named it so or by its number. */
export function projectId(world: World, project: string): string {
  return project === world.options.compute.projectNumber ? world.options.project : project;
}

/** Names in replies have the project's number. */
export function shownName(world: World, name: string): string {
  const { project, compute } = world.options;
  return name.replace(`projects/${project}/`, `projects/${compute.projectNumber}/`);
}
