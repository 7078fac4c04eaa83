// Applies a plan that was agreed to, and writes down what the deployment is, for the next deploy and for
// the other verbs.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Deploy } from '#scripts/deploy/call.ts';
import type { OUTPUTS } from '#scripts/deploy/plan.ts';
import {
  forget,
  type Known,
  remember,
  type State,
  TARGET_FILE,
  textOf,
} from '#scripts/deploy/state.ts';
import type { Terraform } from '#scripts/deploy/terraform.ts';

const outputOf = <Value extends z.ZodType>(value: Value) => z.object({ value });
const outputsSchema = z.object({
  project: outputOf(z.string()),
  region: outputOf(z.string()),
  regions: outputOf(z.array(z.string())),
  bucket: outputOf(z.string()),
  deployment: outputOf(z.string()),
  worker_service_accounts: outputOf(z.array(z.string())),
} satisfies Record<(typeof OUTPUTS)[number], z.ZodType>);

/** What is known of a deployment before its first apply. */
export function knownOf({ project, deployment, variables }: Deploy): Known {
  const { project: _, deployment: __, source_archive: ___, ...kept } = variables;
  return { project, deployment, state: null, variables: kept };
}

export async function apply(
  deploy: Deploy,
  terraform: Terraform,
  { plan, state }: { readonly plan: string; readonly state: State },
): Promise<void> {
  const { call, terminal, memory } = deploy;
  const uri = state.backend === null ? null : state.place;
  const before: Known = { ...memory.known, ...knownOf(deploy), state: uri };
  await remember(memory, before);
  terminal.move('terraform apply');
  await terraform.run(['apply', '-no-color', '-input=false', ...state.words, plan]);
  if (call.has('destroy')) {
    await forget(memory, terminal);
    terminal.move(null);
    terminal.note('the deployment is gone');
    return;
  }
  const said = await terraform.run(['output', '-json', ...state.words]);
  const outputs = outputsSchema.parse(JSON.parse(said));
  const after: Known = {
    ...{ project: outputs.project.value, bucket: outputs.bucket.value },
    ...{ deployment: outputs.deployment.value, region: outputs.region.value },
    regions: outputs.regions.value,
    workerServiceAccounts: outputs.worker_service_accounts.value,
    ...{ state: uri, variables: before.variables },
  };
  await remember(memory, after);
  const path = join(terminal.folder, TARGET_FILE);
  await writeFile(path, textOf(after));
  terminal.move(null);
  terminal.note(`applied; ${path} names the deployment to the other verbs`);
  terminal.note('  next: mayfly doctor');
}
