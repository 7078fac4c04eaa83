// `npm start [-- [FILE] [--keep]]`: runs a real job from the request to the proof that nothing is left,
// on this machine alone. The exit code says how the run ended.
import { parseArgs } from 'node:util';
import { CommandError, usageError } from '#scripts/mayfly/exit-codes.ts';
import { openTerminal } from '#scripts/mayfly/terminal.ts';
import { startJob } from '#scripts/start/run.ts';

const USAGE = 'usage: npm start [-- [FILE] [--keep]]';

function readWords(words: readonly string[]): { file: string | null; keep: boolean } {
  try {
    const options = { keep: { type: 'boolean' } } as const;
    const { values, positionals } = parseArgs({
      args: [...words],
      options,
      allowPositionals: true,
    });
    if (positionals.length > 1) throw new Error('one FILE at most');
    return { file: positionals[0] ?? null, keep: values.keep === true };
  } catch (error) {
    throw usageError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
}

const terminal = openTerminal(false);
try {
  process.exitCode = await startJob(readWords(process.argv.slice(2)), terminal);
} catch (error) {
  terminal.move(null);
  if (!(error instanceof CommandError)) throw error;
  terminal.complain(error.message);
  process.exitCode = error.exitCode;
}
