// The examples' package: what its request names is what is uploaded, and tar reads it.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { packFolder } from '#scripts/start/package.ts';
import { packageSha256 } from '#shared/plan/package-name.ts';

const EXAMPLES = new URL('../../../scripts/examples/', import.meta.url);
const PROGRAM = fileURLToPath(new URL('images/backtest/', EXAMPLES));

test('the example request names the package of its program as it is', async () => {
  const request = JSON.parse(readFileSync(new URL('forecast-jobs.json', EXAMPLES), 'utf8'));
  const { sha256 } = await packFolder(PROGRAM, '.mjs');
  // A changed program has another name: put it into forecast-jobs.json.
  expect(packageSha256(request.package.uri)).toBe(sha256);
});

test('a package is named by its bytes, and tar finds the files in it as they are', async () => {
  const { sha256, bytes } = await packFolder(PROGRAM, '.mjs');
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
  const names = execFileSync('tar', ['-tzf', '-'], { input: bytes, encoding: 'utf8' });
  expect(names.split('\n').filter(Boolean)).toEqual(['main.mjs', 'methods.mjs', 'series.mjs']);
  const main = execFileSync('tar', ['-xzOf', '-', 'main.mjs'], { input: bytes });
  expect(main.equals(readFileSync(`${PROGRAM}/main.mjs`))).toBe(true);
});
