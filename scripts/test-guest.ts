// `npm run test:guest`: the tests of the machine's scripts with a real container engine, and the matrices
// of blows and faults. With `--table` the kill matrix alone, printed as a table.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { printKillTable } from '#test/guest/matrix/kill-table.ts';

const FOLDERS = ['test/guest/engine', 'test/guest/matrix'];
const words = process.argv.slice(2);

if (words.includes('--table')) {
  const right = await printKillTable((line) => process.stdout.write(`${line}\n`));
  process.exitCode = right ? 0 : 1;
} else {
  const check = join(import.meta.dirname, 'check.ts');
  const tests = spawn(process.execPath, [check, ...FOLDERS, ...words], {
    stdio: 'inherit',
    env: {
      ...process.env,
      MAYFLY_TEST_REQUIRE: [process.env.MAYFLY_TEST_REQUIRE, 'matrix'].join(),
    },
  });
  const [code] = await once(tests, 'exit');
  process.exitCode = code ?? 1;
}
