// Calls Terraform: the program of MAYFLY_TERRAFORM, split on blanks, else `terraform`. Its words for
// people go to stderr as they come; what it prints as data is given back.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { CommandError, EXIT_REFUSED } from '#scripts/mayfly/exit-codes.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

const LINES_KEPT = 20;

export interface Terraform {
  /** Its folder, absolute. */
  readonly folder: string;
  /** For people to read; gives what it printed. Throws with its last lines when it fails. */
  run(words: readonly string[]): Promise<string>;
}

export function openTerraform(folder: string, terminal: Terminal): Terraform {
  const command = terminal.environment.MAYFLY_TERRAFORM?.trim() || 'terraform';
  return { folder, run: (words) => runTerraform(command, folder, { words, terminal }) };
}

async function runTerraform(
  command: string,
  folder: string,
  { words, terminal }: { readonly words: readonly string[]; readonly terminal: Terminal },
): Promise<string> {
  const [program = 'terraform', ...first] = command.split(/\s+/);
  const child = spawn(program, [...first, `-chdir=${folder}`, ...words], {
    cwd: terminal.folder,
    env: { ...terminal.environment, TF_IN_AUTOMATION: '1', TF_INPUT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  let code: number | null;
  try {
    code = await ended;
  } catch (error) {
    throw new CommandError(EXIT_REFUSED, missing(command, error));
  }
  const [stdout, stderr] = await output;
  if (code === 0) return stdout;
  const said = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  const failed = `terraform ${words[0]} failed (${command} ended with ${code}); it said:`;
  throw new CommandError(EXIT_REFUSED, [failed, ...said.slice(-LINES_KEPT)].join('\n  '));
}

function missing(command: string, error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  if (code !== 'ENOENT') return `${command} does not run: ${message}`;
  return (
    `there is no program ${JSON.stringify(command)} on this machine\n` +
    '  install Terraform 1.9 or newer (https://developer.hashicorp.com/terraform/install), or name\n' +
    '  the command to call, with its arguments: export MAYFLY_TERRAFORM="tofu"'
  );
}
