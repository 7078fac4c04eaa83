// `npm test`: Biome, the type checker, then all tests, each with the project's own version and Node.
// With arguments (`npm test -- --changed`, `npm test -- test/plan`) vitest alone, with these.
// The last line is `N passed, N failed[, N skipped]`; a failed Biome or type check counts as one.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Counts, countTests, formatCounts } from '#scripts/check/counts.ts';

const FAILED_STEP: Counts = { passed: 0, failed: 1, skipped: 0 };

/** Runs one of the project's tools on this Node, its output going straight to ours. */
async function runTool(file: string, toolArguments: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [join('node_modules', file), ...toolArguments], {
    stdio: 'inherit',
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject);
  child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 1));
  return promise;
}

async function runStep(title: string, file: string, toolArguments: readonly string[]) {
  process.stdout.write(`\n== ${title}\n`);
  return (await runTool(file, toolArguments)) === 0;
}

/** Runs vitest and counts from its own report; a run that left no report counts as one failure. */
async function runTests(extraArguments: readonly string[]): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-check-'));
  const report = join(folder, 'report.json');
  try {
    const passed = await runStep('tests (vitest)', 'vitest/vitest.mjs', [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...extraArguments,
    ]);
    const text = await readFile(report, 'utf8').catch(() => null);
    return countTests(text, passed);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function check(extraArguments: readonly string[]): Promise<Counts> {
  if (extraArguments.length > 0) return runTests(extraArguments);
  if (!(await runStep('format and lint (biome)', '@biomejs/biome/bin/biome', ['check']))) {
    return FAILED_STEP;
  }
  if (!(await runStep('types (tsc)', 'typescript/bin/tsc', []))) return FAILED_STEP;
  return runTests([]);
}

const counts = await check(process.argv.slice(2));
process.stdout.write(`\n${formatCounts(counts)}\n`);
process.exitCode = counts.failed === 0 ? 0 : 1;
