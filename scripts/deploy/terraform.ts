// Calls Terraform: the program of MAYFLY_TERRAFORM, split on blanks, else `terraform`. What it prints is
// given back. It writes into files and has a process group of its own: it gets one interruption, however
// many come, and writes its state to the end even when nobody waits for it any more. Its reader's death
// would kill it in the middle of an apply (hashicorp/terraform#31911).
import { spawn } from 'node:child_process';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { explainFault } from '#scripts/deploy/faults.ts';
import { CommandError, EXIT_INTERRUPTED, EXIT_REFUSED } from '#scripts/mayfly/exit-codes.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

export interface Root {
  /** Absolute. */
  readonly folder: string;
  /** For messages. */
  readonly project: string;
  /** What `required_version` says; null when it says nothing. */
  readonly wanted: string | null;
  /** What is set in Terraform's environment besides the caller's own. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface Terraform {
  /** Gives what it printed. Throws with what it complained of when it fails. */
  run(words: readonly string[]): Promise<string>;
}

export function openTerraform(root: Root, terminal: Terminal): Terraform {
  const interruption = terminal.interruption();
  return {
    run: async (words) => {
      if (interruption.aborted) throw new CommandError(EXIT_INTERRUPTED, 'interrupted');
      return runTerraform({ root, terminal, interruption }, words);
    },
  };
}

interface Means {
  readonly root: Root;
  readonly terminal: Terminal;
  readonly interruption: AbortSignal;
}

async function runTerraform(means: Means, words: readonly string[]): Promise<string> {
  const { root, terminal, interruption } = means;
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-terraform-'));
  try {
    const { code, stdout, stderr } = await callProgram(means, words, folder);
    if (code === 0) return stdout;
    const command = commandOf(terminal);
    const said = explainFault(`${stdout}\n${stderr}`, root.project);
    const failed = `terraform ${words[0]} failed (${command} ended with ${code})`;
    if (!interruption.aborted) throw new CommandError(EXIT_REFUSED, `${failed}: ${said}`);
    throw new CommandError(
      EXIT_INTERRUPTED,
      `interrupted: Terraform ended what it had begun and wrote its state; mayfly deploy goes on from there\n${said}`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const commandOf = ({ environment }: Terminal) =>
  environment.MAYFLY_TERRAFORM?.trim() || 'terraform';

async function callProgram(
  { root, terminal, interruption }: Means,
  words: readonly string[],
  folder: string,
) {
  const [program = 'terraform', ...first] = commandOf(terminal).split(/\s+/);
  const paths = ['stdout', 'stderr'].map((name) => join(folder, name)) as [string, string];
  await using stdout = await open(paths[0], 'w');
  await using stderr = await open(paths[1], 'w');
  const child = spawn(program, [...first, `-chdir=${root.folder}`, ...words], {
    cwd: terminal.folder,
    env: { ...terminal.environment, TF_IN_AUTOMATION: '1', TF_INPUT: '0', ...root.environment },
    stdio: ['ignore', stdout.fd, stderr.fd],
    detached: true,
  });
  const interrupt = () => {
    terminal.note(`waiting for terraform ${words[0]} to stop and to write its state`);
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
  };
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // A second Ctrl-C would end this process: npm sends one of its own beside the terminal's.
  const stay = () => {};
  process.on('SIGINT', stay).on('SIGTERM', stay);
  interruption.addEventListener('abort', interrupt, { once: true });
  try {
    const code = await ended;
    const [said, complained] = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
    return { code, stdout: said ?? '', stderr: complained ?? '' };
  } catch (error) {
    throw new CommandError(EXIT_REFUSED, missing(commandOf(terminal), error, root.wanted));
  } finally {
    interruption.removeEventListener('abort', interrupt);
    process.off('SIGINT', stay).off('SIGTERM', stay);
  }
}

function missing(command: string, error: unknown, wanted: string | null): string {
  const { code, message } = error as { code?: string; message: string };
  if (code !== 'ENOENT') return `${command} does not run: ${message}`;
  return (
    `there is no program ${JSON.stringify(command)} on this machine\n` +
    `  install Terraform ${wanted ?? ''} (https://developer.hashicorp.com/terraform/install), or name\n` +
    '  the command to call, with its arguments: export MAYFLY_TERRAFORM="tofu"'
  );
}
