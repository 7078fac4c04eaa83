// The real Terraform on a copy of the root module, offline; `MAYFLY_TERRAFORM` is the command. Nothing is
// asked for where it is not set: the plain program would download its providers.
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRequired } from '#test/required.ts';

export interface Values {
  readonly type: string;
  readonly name: string;
  readonly index?: string;
  readonly values: Readonly<Record<string, unknown>>;
}
export interface Configured {
  readonly address: string;
  readonly mode: 'managed' | 'data';
  readonly depends_on?: readonly string[];
  readonly expressions: Readonly<Record<string, { readonly references?: readonly string[] }>>;
}
export interface Shown {
  readonly planned_values: { readonly root_module: { readonly resources: readonly Values[] } };
  readonly configuration: {
    readonly root_module: { readonly resources: readonly Configured[] };
    readonly provider_config: Readonly<Record<string, { readonly version_constraint?: string }>>;
  };
}

export interface TerraformRoot extends Disposable {
  run(...words: string[]): SpawnSyncReturns<string>;
  /** Throws with what it said when it fails. */
  show(variables?: Readonly<Record<string, string>>): Shown;
}

const ROOT = fileURLToPath(new URL('../../terraform', import.meta.url));
const VARIABLES = {
  project: 'sample-project',
  region: 'europe-west1',
  regions: '["europe-west1"]',
  source_archive: 'tests/functions.zip',
  job_images: '{"base-ml":"europe-docker.pkg.dev/p/r/base-ml:1"}',
};

export const variableWords = (more: Readonly<Record<string, string>> = {}) =>
  Object.entries({ ...VARIABLES, ...more }).map(([name, value]) => `-var=${name}=${value}`);

/** A copy that `init` has been run in; null where no Terraform works offline. */
export function openRoot(): TerraformRoot | null {
  const command = process.env.MAYFLY_TERRAFORM?.trim();
  if (!command) {
    if (isRequired('terraform')) throw new Error('MAYFLY_TERRAFORM is not set');
    return null;
  }
  const [program = '', ...first] = command.split(/\s+/);
  const folder = mkdtempSync(join(tmpdir(), 'terraform-'));
  cpSync(ROOT, folder, { recursive: true });
  const run = (...words: string[]) =>
    spawnSync(program, [...first, `-chdir=${folder}`, ...words], {
      ...{ encoding: 'utf8', maxBuffer: 1 << 28, timeout: 600_000 },
    });
  const close = () => rmSync(folder, { recursive: true, force: true });
  if (run('init', '-backend=false', '-input=false').status !== 0) {
    close();
    if (isRequired('terraform')) throw new Error(`${command} init does not work`);
    return null;
  }
  return {
    run,
    show: (variables) => {
      const words = variableWords(variables);
      const planned = run('plan', '-input=false', '-no-color', '-out=plan', ...words);
      if (planned.status !== 0) throw new Error(planned.stderr);
      return JSON.parse(run('show', '-json', 'plan').stdout) as Shown;
    },
    [Symbol.dispose]: close,
  };
}
