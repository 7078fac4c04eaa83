// What a plan would do, in few words, and what it must not do unasked.
import * as z from 'zod';
import type { Terraform } from '#scripts/deploy/terraform.ts';
import { CommandError, EXIT_REFUSED, usageError } from '#scripts/mayfly/exit-codes.ts';

const planSchema = z.object({
  resource_changes: z
    .array(
      z.object({
        ...{ address: z.string(), type: z.string().default('') },
        change: z.object({ actions: z.array(z.string()) }),
      }),
    )
    .default([]),
  planned_values: z.object({ outputs: z.record(z.string(), z.unknown()).default({}) }).optional(),
});

export interface Changes {
  readonly add: number;
  readonly change: number;
  readonly destroy: number;
  readonly resources: readonly Resource[];
}

interface Resource {
  readonly address: string;
  readonly type: string;
  readonly actions: readonly string[];
}

/** Of the root, read after an apply. */
export const OUTPUTS = [
  ...['project', 'region', 'regions', 'bucket', 'deployment', 'worker_service_accounts'],
] as const;

/** https://developer.hashicorp.com/terraform/internals/json-format, "Change Representation". */
export async function readChanges(terraform: Terraform, plan: string): Promise<Changes> {
  const shown = planSchema.parse(JSON.parse(await terraform.run(['show', '-json', plan])));
  const outputs = shown.planned_values?.outputs ?? {};
  const missing = OUTPUTS.filter((name) => !Object.hasOwn(outputs, name));
  if (Object.keys(outputs).length > 0 && missing.length > 0) {
    throw usageError(
      `the Terraform root has no output ${missing.join(', ')}, which the other verbs need: copy them\n` +
        '  from terraform/examples/minimal/outputs.tf',
    );
  }
  const resources = shown.resource_changes
    .map(({ address, type, change }) => ({ address, type, actions: change.actions }))
    .filter(({ actions }) => actions.some((action) => action !== 'no-op' && action !== 'read'));
  const count = (action: string) => resources.filter((one) => one.actions.includes(action)).length;
  return { add: count('create'), change: count('update'), destroy: count('delete'), resources };
}

const LOST: Readonly<Record<string, string>> = {
  google_storage_bucket: 'EVERY OBJECT IN IT IS LOST: requests, states and results of all runs',
  google_pubsub_subscription: 'messages that wait in it are lost',
  google_pubsub_topic: 'messages that wait on it are lost',
};

/** The counts, the resources by type, and by name each that goes or is replaced. */
export function summarize({ add, change, destroy, resources }: Changes): string[] {
  const types = [...new Set(resources.map(({ type }) => type))]
    .filter((type) => type !== '')
    .sort();
  const count = (type: string, action: string) =>
    resources.filter((one) => one.type === type && one.actions.includes(action)).length;
  const byType = types.map((type) => {
    const signs = [
      ...[['+', 'create'] as const, ['~', 'update'] as const, ['-', 'delete'] as const].flatMap(
        ([sign, action]) => (count(type, action) > 0 ? [`${sign}${count(type, action)}`] : []),
      ),
    ];
    return `  ${signs.join(' ').padEnd(8)} ${type}`;
  });
  const gone = resources
    .filter(({ actions }) => actions.includes('delete'))
    .map(({ address, type, actions }) => {
      const verb = actions.includes('create') ? 'replaces' : 'deletes';
      return `  ${verb} ${address}${LOST[type] === undefined ? '' : `: ${LOST[type]}`}`;
    });
  const counts = `plan: ${add} to add, ${change} to change, ${destroy} to destroy`;
  return [counts, ...byType, ...gone];
}

/** A change of a name or of a place is a deletion with another word: nobody wants that unasked. */
export function refuseLoss({ resources }: Changes): void {
  const lost = resources.filter(
    ({ type, actions }) => type === 'google_storage_bucket' && actions.includes('delete'),
  );
  if (lost.length === 0) return;
  throw new CommandError(
    EXIT_REFUSED,
    `this plan deletes ${lost.map(({ address }) => address).join(', ')} with all that is in it; nothing was changed\n` +
      '  another deployment or place? That is a state of its own: see --deployment, --project and --state\n' +
      '  to take the deployment away: mayfly deploy --destroy; to replace the bucket all the same: --replace-bucket',
  );
}
