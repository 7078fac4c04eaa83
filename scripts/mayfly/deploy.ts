// `mayfly deploy`: bundles the functions, lets Terraform plan, shows what changes, applies it after a
// yes, and writes `.mayfly.json` for the other verbs. Nothing is changed before the yes.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apply, knownOf } from '#scripts/deploy/apply.ts';
import { type Deploy, keptVariables, readDeploy, writeArchive } from '#scripts/deploy/call.ts';
import { type Changes, readChanges, refuseLoss, summarize } from '#scripts/deploy/plan.ts';
import {
  hasLocalState,
  holdBackend,
  MEMORY_FILE,
  pushState,
  remember,
  type State,
  stateAt,
} from '#scripts/deploy/state.ts';
import { openTerraform, type Terraform } from '#scripts/deploy/terraform.ts';
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

export const deployVerb: Verb = {
  name: 'deploy',
  operands: '',
  operandsMin: 0,
  operandsMax: 0,
  takesRest: false,
  summary: 'makes or changes a deployment: bundles the functions and applies Terraform',
  details: [
    'Prints the whole plan and asks before anything changes; --yes does not ask, --quiet prints a',
    'summary alone. Writes .mayfly.json, so that the other verbs know the deployment. What runs may use',
    'is given once, and kept until it is given anew; --var NAME= goes back to the default:',
    '  --var data_buckets=my-data,my-models --var secrets=hf',
    '  --var image_repositories=projects/P/locations/L/repositories/R',
    'All variables are in docs/reference.md. Terraform’s state is a file of its own for each project and',
    'deployment in ~/.local/state/mayfly: keep it, or let --state move it to a bucket, once. A plan that',
    'deletes the bucket of the runs is refused. MAYFLY_TERRAFORM names the command that is called',
    '(default: terraform). With --json: { project, deployment, archive, state, variables, add, change,',
    'destroy, resources, applied }.',
  ],
  flags: {
    'dry-run': { help: 'stop after the plan; nothing is changed' },
    yes: { help: 'apply without asking' },
    destroy: { help: 'take the deployment away, the bucket with all runs too' },
    'replace-bucket': { help: 'apply although the bucket is deleted with all that is in it' },
    dir: { value: 'DIR', help: 'the Terraform root (default: terraform, of this clone)' },
    region: {
      value: 'REGION',
      help: 'of functions, bucket and scheduler (default: first of --regions)',
    },
    regions: { value: 'R1,R2', help: 'where machines may run, in order (default: the region)' },
    state: { value: 'gs://BUCKET/PREFIX', help: 'keep Terraform’s state there from now on' },
    var: { value: 'NAME=VALUE', multiple: true, help: 'a variable of the Terraform root' },
  },
  run: runDeploy,
};

async function runDeploy(call: Call, terminal: Terminal): Promise<number> {
  const deploy = await readDeploy(call, terminal);
  const { folder, files, project, memory } = deploy;
  const known = memory.known?.state ?? null;
  const wanted = stateAt(memory, call.text('state') ?? known, files.hasBackend);
  const moves = wanted.backend !== null && known === null && (await hasLocalState(memory));
  if (known !== null && wanted.place !== known) {
    throw usageError(
      `the state is at ${known}: move it there by hand (gcloud storage cp --recursive ${known} ${wanted.place}) and correct "state" in ${join(memory.folder, MEMORY_FILE)}`,
    );
  }
  // A dry run looks at the state where it is.
  const state = moves && call.has('dry-run') ? stateAt(memory, null, false) : wanted;
  await using _ = await holdBackend(folder, state.backend);
  const root = { folder, project, wanted: files.wanted };
  const environment = { TF_DATA_DIR: join(memory.folder, dataFolder(state.place)) };
  const terraform = openTerraform({ ...root, environment }, terminal);
  terminal.move('terraform init');
  await terraform.run(['init', '-no-color', '-input=false', '-reconfigure']);
  if (moves && call.has('dry-run')) terminal.note(`the state would move to ${wanted.place}`);
  else if (moves) {
    await pushState(memory, terraform);
    await remember(memory, { ...knownOf(deploy), ...memory.known, state: wanted.place });
    terminal.note(`the state has moved to ${wanted.place}`);
  }
  return await planAndApply(deploy, terraform, state);
}

/** What `init` makes is of one backend. */
const dataFolder = (place: string) =>
  `.terraform-${createHash('sha256').update(place).digest('hex').slice(0, 8)}`;

async function planAndApply(deploy: Deploy, terraform: Terraform, state: State): Promise<number> {
  const { call, terminal, project, deployment } = deploy;
  terminal.move('bundling the functions');
  const archive = await writeArchive();
  const source = deploy.files.variables.has('source_archive') ? { source_archive: archive } : {};
  const variables = { ...deploy.variables, ...source };
  // A plan holds values that nobody should find, and two deploys at once must not apply each other's.
  const planFolder = await mkdtemp(join(tmpdir(), 'mayfly-plan-'));
  try {
    const plan = join(planFolder, 'mayfly.tfplan');
    terminal.move('terraform plan');
    const words = Object.entries(variables).map(([name, value]) => `-var=${name}=${value}`);
    const more = [...(call.has('destroy') ? ['-destroy'] : []), ...state.words, `-out=${plan}`];
    const said = await terraform.run(['plan', '-no-color', '-input=false', ...more, ...words]);
    const changes = await readChanges(terraform, plan);
    terminal.move(null);
    showPlan(deploy, { said, changes, place: state.place });
    const applied = await mayApply(deploy, changes);
    if (applied) await apply(deploy, terraform, { plan, state });
    const report = { ...{ project, deployment, archive, state: state.place }, variables };
    if (call.has('json')) {
      terminal.write(`${JSON.stringify({ ...report, ...changes, applied })}\n`);
    }
    return EXIT_DONE;
  } finally {
    await rm(planFolder, { recursive: true });
  }
}

function showPlan(
  { call, terminal, variables, memory }: Deploy,
  { said, changes, place }: { said: string; changes: Changes; place: string },
): void {
  const kept = keptVariables(memory.known);
  const { source_archive: _, ...shown } = variables;
  const used = Object.entries(shown).map(
    ([name, value]) => `  ${name} = ${value}${kept[name] === value ? ' (as before)' : ''}`,
  );
  const lines = ['with', ...used, `state: ${place}`, ...summarize(changes)];
  if (call.has('json')) return;
  if (call.has('quiet')) terminal.write(lines.map((line) => `${line}\n`).join(''));
  else {
    terminal.write(said);
    for (const line of lines) terminal.note(line);
  }
}

async function mayApply({ call, terminal }: Deploy, changes: Changes): Promise<boolean> {
  if (call.has('dry-run')) return false;
  if (!call.has('destroy') && !call.has('replace-bucket')) refuseLoss(changes);
  if (call.has('yes')) return true;
  const answer = await terminal.ask(
    call.has('destroy') ? 'take all of this away? (yes/no) ' : 'apply this? (yes/no) ',
  );
  if (answer === null) {
    throw usageError(
      'nobody to ask: give --yes to apply without asking, or --dry-run to plan alone',
    );
  }
  if (answer.trim().toLowerCase() === 'yes') return true;
  terminal.note('nothing was changed');
  return false;
}
