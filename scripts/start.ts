// `npm start [-- [FILE] [--keep]]`: runs a real job from the request to the proof that nothing is left,
// on this machine alone. The exit code says how the run ended.
import { CommandError, EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import { openTerminal, type Terminal } from '#scripts/mayfly/terminal.ts';
import { startJob } from '#scripts/start/run.ts';

const USAGE = 'usage: npm start [-- [FILE] [--keep]]';
const HELP = `${USAGE}

Runs a job on this machine alone, from its request to the proof that nothing is left: the local cloud,
the functions, a machine, a container. No account, no network.

  FILE     a request as JSON (default: the example, scripts/examples/backtest.json)
  --keep   the local cloud stays up afterwards, and its address is printed for the mayfly command
  --help   this text

Ends with the container's exit code, 0 when the run succeeded and nothing is left; with 1 when something
is left, with 2 when the request or these words are wrong.
`;

async function start(words: readonly string[], terminal: Terminal): Promise<number> {
  const flags = words.filter((word) => word.startsWith('-'));
  const unknown = flags.find((flag) => !['--keep', '--help'].includes(flag));
  if (unknown !== undefined) {
    throw usageError(`unknown flag ${unknown}; known here: --keep --help\n${USAGE}`);
  }
  if (flags.includes('--help')) {
    terminal.write(HELP);
    return EXIT_DONE;
  }
  const [file = null, ...more] = words.filter((word) => !word.startsWith('-'));
  if (more.length > 0) throw usageError(`one FILE at most, not ${more.join(' ')} too\n${USAGE}`);
  return startJob({ file, keep: flags.includes('--keep') }, terminal);
}

const terminal = openTerminal(false);
try {
  process.exitCode = await start(process.argv.slice(2), terminal);
} catch (error) {
  terminal.move(null);
  if (!(error instanceof CommandError)) throw error;
  terminal.complain(error.message);
  process.exitCode = error.exitCode;
}
