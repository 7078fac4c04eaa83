// `npm run mutate`: changes the decisions and names one small thing at a time and looks whether the unit
// tests notice. What an earlier run found is kept, so that the next one tries only what has changed.
// Options go to Stryker (`-- --mutate shared/lifecycle/failures.ts`, `-- --force`). Exits with 1 when
// fewer are noticed than the aim says.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  formatScore,
  listSurvivors,
  type Report,
  scoreAll,
  scoreFiles,
} from '#scripts/mutate/score.ts';

const AIM_PERCENT = 85;
const STRYKER = 'node_modules/@stryker-mutator/core/bin/stryker.js';
const CONFIG = 'scripts/mutate/stryker.json';

const write = (text: string) => process.stdout.write(`${text}\n`);

async function mutate(options: readonly string[]): Promise<boolean> {
  const child = spawn(process.execPath, [STRYKER, 'run', CONFIG, ...options], {
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) return false;
  const { jsonReporter } = JSON.parse(readFileSync(CONFIG, 'utf8'));
  const report: Report = JSON.parse(readFileSync(jsonReporter.fileName, 'utf8'));
  for (const line of listSurvivors(report)) write(line);
  write('');
  for (const file of scoreFiles(report)) write(formatScore(file));
  const all = scoreAll(report);
  write(formatScore(all));
  return (all.percent ?? 0) >= AIM_PERCENT;
}

process.exitCode = (await mutate(process.argv.slice(2))) ? 0 : 1;
