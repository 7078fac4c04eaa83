// `mayfly`: the command (contract §4). One file a verb under scripts/mayfly/.
import { runCommand } from '#scripts/mayfly/command.ts';
import { openTerminal } from '#scripts/mayfly/terminal.ts';

process.exitCode = await runCommand(process.argv.slice(2), openTerminal);
