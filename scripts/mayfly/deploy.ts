// `mayfly deploy`: bundles the functions, lets Terraform plan, shows what changes, applies it after a
// yes, and writes `.mayfly.json` for the other verbs. Nothing is changed before the yes.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { bundleFunctions } from '#scripts/deploy/bundle.ts';
import { openTerraform, type Terraform } from '#scripts/deploy/terraform.ts';
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import { DEPLOYMENT_DEFAULT, findTarget } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { once } from '#shared/runs/real-deps.ts';

const PROJECT_FOLDER = fileURLToPath(new URL('../../', import.meta.url));
const ARCHIVE_FOLDER = join('.local', 'deploy');
const TARGET_FILE = '.mayfly.json';
const BACKEND_FILE = 'backend_override.tf';
const PLAN_FILE = 'mayfly.tfplan';

export const deployVerb: Verb = {
  name: 'deploy',
  operands: '',
  operandsMin: 0,
  operandsMax: 0,
  takesRest: false,
  summary: 'makes or changes a deployment: bundles the functions and applies Terraform',
  details: [
    'Prints what would change and asks before anything does; --yes does not ask. Writes .mayfly.json,',
    'so that the other verbs know the deployment. The state of Terraform is a file in its folder unless',
    '--state names a bucket; keep it, and use the same --state every time. MAYFLY_TERRAFORM names the',
    'command that is called (default: terraform). With --json: { project, deployment, archive, add,',
    'change, destroy, resources, applied }.',
  ],
  flags: {
    'dry-run': { help: 'stop after the plan' },
    yes: { help: 'apply without asking' },
    dir: { value: 'DIR', help: 'the Terraform root (default: terraform, of this clone)' },
    region: { value: 'REGION', help: 'of functions, bucket and scheduler' },
    regions: { value: 'R1,R2', help: 'where machines may run, in order (default: the region)' },
    state: { value: 'gs://BUCKET/PREFIX', help: 'keep Terraform’s state there' },
    var: { value: 'NAME=VALUE', multiple: true, help: 'a variable of the Terraform root' },
  },
  run: runDeploy,
};

async function runDeploy(call: Call, terminal: Terminal): Promise<number> {
  const variables = await readVariables(call, terminal);
  const folder = findRoot(call, terminal);
  const state = readState(call.text('state'));
  const terraform = openTerraform(folder, terminal);
  if (state !== null) await writeFile(join(folder, BACKEND_FILE), state);
  // A plan holds values that nobody should find, and two deploys at once must not apply each other's.
  const planFolder = await mkdtemp(join(tmpdir(), 'mayfly-plan-'));
  const plan = join(planFolder, PLAN_FILE);
  try {
    terminal.move('terraform init');
    await terraform.run(['init', '-no-color', '-input=false']);
    terminal.move('bundling the functions');
    const archive = await writeArchive();
    terminal.move('terraform plan');
    const given = { ...variables, source_archive: archive };
    const words = Object.entries(given).map(([name, value]) => `-var=${name}=${value}`);
    const said = await terraform.run([
      'plan',
      '-no-color',
      '-input=false',
      `-out=${plan}`,
      ...words,
    ]);
    const changes = await readChanges(terraform, plan);
    terminal.move(null);
    if (!call.has('json')) terminal.write(said);
    const applied =
      (await mayApply(call, terminal, changes)) && (await apply(terraform, plan, terminal));
    const { project, deployment } = variables;
    const report = { project, deployment, archive, ...changes, applied };
    if (call.has('json')) terminal.write(`${JSON.stringify(report)}\n`);
    return EXIT_DONE;
  } finally {
    await rm(planFolder, { recursive: true });
  }
}

interface Variables extends Readonly<Record<string, string>> {
  readonly project: string;
  readonly deployment: string;
}

async function readVariables(call: Call, terminal: Terminal): Promise<Variables> {
  const { project, deployment = DEPLOYMENT_DEFAULT } = await findTarget(call, terminal);
  if (project === undefined) {
    throw usageError('which project? Give --project ID, or set MAYFLY_PROJECT');
  }
  // What an earlier deploy wrote holds for the same deployment alone: another one has its own bucket.
  const last = await readLast(terminal.folder);
  const kept = last?.project === project && last.deployment === deployment ? last : null;
  const regions = call.text('regions')?.split(',') ?? kept?.regions;
  const given: Record<string, string | undefined> = {
    bucket: call.text('bucket') ?? terminal.environment.MAYFLY_BUCKET ?? kept?.bucket,
    region: call.text('region') ?? kept?.region,
    regions: regions === undefined ? undefined : JSON.stringify(regions),
  };
  for (const word of call.list('var')) {
    const [, name, value] = /^([a-z][a-z0-9_]*)=(.*)$/s.exec(word) ?? [];
    if (name === undefined) throw usageError(`--var ${JSON.stringify(word)} is not NAME=VALUE`);
    given[name] = value;
  }
  const known = Object.entries(given).filter(([, value]) => value !== undefined && value !== '');
  return { ...(Object.fromEntries(known) as Record<string, string>), project, deployment };
}

const lastSchema = z
  .object({ project: z.string(), deployment: z.string(), bucket: z.string() })
  .extend({ region: z.string(), regions: z.array(z.string()) });

async function readLast(folder: string): Promise<z.infer<typeof lastSchema> | null> {
  const text = await readFile(join(folder, TARGET_FILE), 'utf8').catch(() => '{}');
  return lastSchema.safeParse(JSON.parse(text)).data ?? null;
}

function findRoot(call: Call, terminal: Terminal): string {
  const given = call.text('dir');
  const folder =
    given === null ? join(PROJECT_FOLDER, 'terraform') : resolve(terminal.folder, given);
  if (existsSync(folder)) return folder;
  throw usageError(`there is no folder ${folder}: --dir names the Terraform root`);
}

/** The backend block for a state in a bucket; null keeps the state in a file. */
function readState(text: string | null): string | null {
  if (text === null) return null;
  const [, bucket, prefix] = /^gs:\/\/([a-z0-9._-]+)\/([\w./-]+)$/.exec(text) ?? [];
  if (bucket === undefined)
    throw usageError(`--state ${JSON.stringify(text)} is not gs://BUCKET/PREFIX`);
  return `terraform {\n  backend "gcs" {\n    bucket = "${bucket}"\n    prefix = "${prefix}"\n  }\n}\n`;
}

/** Sources do not change while the command runs. */
const bundle = once(bundleFunctions);

async function writeArchive(): Promise<string> {
  const { zip, sha256 } = await bundle();
  const path = join(PROJECT_FOLDER, ARCHIVE_FOLDER, `functions-${sha256.slice(0, 16)}.zip`);
  await mkdir(join(PROJECT_FOLDER, ARCHIVE_FOLDER), { recursive: true });
  await writeFile(path, zip);
  return path;
}

const planSchema = z.object({
  resource_changes: z
    .array(z.object({ address: z.string(), change: z.object({ actions: z.array(z.string()) }) }))
    .default([]),
});

interface Changes {
  readonly add: number;
  readonly change: number;
  readonly destroy: number;
  readonly resources: readonly { readonly address: string; readonly actions: readonly string[] }[];
}

/** https://developer.hashicorp.com/terraform/internals/json-format, "Change Representation". */
async function readChanges(terraform: Terraform, plan: string): Promise<Changes> {
  const shown = planSchema.parse(JSON.parse(await terraform.run(['show', '-json', plan])));
  const resources = shown.resource_changes
    .map(({ address, change }) => ({ address, actions: change.actions }))
    .filter(({ actions }) => actions.some((action) => action !== 'no-op' && action !== 'read'));
  const count = (action: string) => resources.filter((one) => one.actions.includes(action)).length;
  return { add: count('create'), change: count('update'), destroy: count('delete'), resources };
}

async function mayApply(call: Call, terminal: Terminal, changes: Changes): Promise<boolean> {
  const { add, change, destroy } = changes;
  terminal.note(`plan: ${add} to add, ${change} to change, ${destroy} to destroy`);
  if (call.has('dry-run')) return false;
  if (call.has('yes')) return true;
  const answer = await terminal.ask('apply this? (yes/no) ');
  if (answer === null) {
    throw usageError(
      'nobody to ask: give --yes to apply without asking, or --dry-run to plan alone',
    );
  }
  if (answer.trim().toLowerCase() === 'yes') return true;
  terminal.note('nothing was changed');
  return false;
}

const outputOf = <Value extends z.ZodType>(value: Value) => z.object({ value });
const outputsSchema = z.object({
  project: outputOf(z.string()),
  region: outputOf(z.string()),
  regions: outputOf(z.array(z.string())),
  bucket: outputOf(z.string()),
  deployment: outputOf(z.string()),
  worker_service_accounts: outputOf(z.array(z.string())),
});

async function apply(terraform: Terraform, plan: string, terminal: Terminal): Promise<true> {
  terminal.move('terraform apply');
  await terraform.run(['apply', '-no-color', '-input=false', plan]);
  const outputs = outputsSchema.parse(JSON.parse(await terraform.run(['output', '-json'])));
  const { project, bucket, deployment, region, regions } = outputs;
  const file = {
    project: project.value,
    bucket: bucket.value,
    deployment: deployment.value,
    region: region.value,
    regions: regions.value,
    workerServiceAccounts: outputs.worker_service_accounts.value,
  };
  const path = join(terminal.folder, TARGET_FILE);
  await writeFile(path, `${JSON.stringify(file, null, 2)}\n`);
  terminal.move(null);
  terminal.note(`applied; ${path} names the deployment to the other verbs`);
  terminal.note('  next: mayfly doctor');
  return true;
}
