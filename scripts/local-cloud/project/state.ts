// What a project has beside its resources: enabled APIs, service accounts, deployed functions, and the
// IAM policies that are set on single resources.
import type { JsonObject } from '#scripts/local-cloud/json.ts';

export interface Binding {
  readonly role: string;
  readonly members: readonly string[];
}

export interface ProjectState {
  /** `compute.googleapis.com` and the like. */
  readonly services: Set<string>;
  /** By e-mail. */
  readonly accounts: Map<string, { disabled: boolean }>;
  /** By full name, `projects/P/locations/R/functions/F`. */
  readonly functions: Map<string, JsonObject>;
  /** By resource name without a scheme: `projects/P/topics/T`; of the project itself `projects/P`. */
  readonly policies: Map<string, readonly Binding[]>;
}

export const createProject = (): ProjectState => ({
  services: new Set(),
  accounts: new Map(),
  functions: new Map(),
  policies: new Map(),
});
