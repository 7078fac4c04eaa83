// `mayfly deploy` with the real Terraform, offline (`MAYFLY_TERRAFORM`), on a copy of the root module.
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { isRequired } from '#test/required.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

const LIMIT_MS = 240_000;
const command = process.env.MAYFLY_TERRAFORM?.trim();
if (!command && isRequired('terraform')) throw new Error('MAYFLY_TERRAFORM is not set');

describe.skipIf(!command)('deploy with the real Terraform', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-deploy-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  cpSync('terraform', join(folder, 'terraform'), { recursive: true });
  const environment = {
    ...{ PATH: process.env.PATH ?? '', HOME: folder },
    MAYFLY_TERRAFORM: command ?? '',
    TF_CLI_ARGS_apply: '-parallelism=50',
  };
  const deploy = async (dir: string, ...words: string[]) => {
    const where = ['--project', 'my-project', '--dir', join(folder, dir)];
    const ended = await callMayfly(['deploy', ...where, ...words], { folder, environment });
    expect(ended.code, ended.stderr).toBe(0);
    return ended;
  };

  test(
    'the first one makes all, the second changes nothing, another deployment touches nothing of it',
    async () => {
      const first = await deploy('terraform', '--regions', 'europe-west1', '--yes', '--quiet');
      expect(first.stdout).toMatch(/^plan: \d{2,} to add, 0 to change, 0 to destroy$/m);
      expect(existsSync(join(folder, '.mayfly.json'))).toBe(true);
      const again = await deploy('terraform', '--yes');
      expect(again.stdout).toContain('No changes.');
      const other = await deploy(
        'terraform',
        '--deployment',
        'other',
        '--region',
        'europe-west1',
        '--dry-run',
        '--quiet',
      );
      expect(other.stdout).toMatch(/^plan: \d{2,} to add, 0 to change, 0 to destroy$/m);
      expect(readdirSync(join(folder, 'terraform'))).not.toContain('backend_override.tf');
      expect(readdirSync(join(folder, 'terraform'))).not.toContain('terraform.tfstate');
    },
    LIMIT_MS,
  );

  test.each([
    { example: 'minimal', words: [] },
    { example: 'complete', words: ['--var', 'billing_account=000000-000000-000000'] },
  ])(
    'the example $example is a root that can be planned: it declares and gives what deploy needs',
    async ({ example, words }) => {
      const dir = `terraform/examples/${example}`;
      const ended = await deploy(dir, ...words, '--dry-run', '--quiet');
      expect(ended.stdout).toMatch(/^plan: \d{2,} to add, 0 to change, 0 to destroy$/m);
    },
    LIMIT_MS,
  );
});
