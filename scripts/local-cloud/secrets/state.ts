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

/** Those that are there from the beginning have one version each. */
export function createSecrets(texts: Readonly<Record<string, string>>): SecretsState {
  const first = Object.entries(texts).map(([name, text]): [string, SecretVersion[]] => {
    const bytes = Buffer.from(text);
    return [name, [{ number: 1, bytes, state: 'ENABLED', createdMs: 0 }]];
  });
  return { secrets: new Map(first) };
}

/** The project by its id, whether a caller named it so or by its number. */
export function projectId(world: World, project: string): string {
  return project === world.options.compute.projectNumber ? world.options.project : project;
}

/** Names in replies have the project's number. */
export function shownName(world: World, name: string): string {
  const { project, compute } = world.options;
  return name.replace(`projects/${project}/`, `projects/${compute.projectNumber}/`);
}
