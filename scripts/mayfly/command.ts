// The command as a function of its words and its terminal (contract §4): picks the verb, loads it alone,
// and turns errors into messages and exit codes.
import { parseCall, type Verb } from '#scripts/mayfly/call.ts';
import { CommandError, EXIT_DONE, EXIT_REFUSED, usageError } from '#scripts/mayfly/exit-codes.ts';
import { helpOverview, helpVerb } from '#scripts/mayfly/help.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { oneLine, visible } from '#scripts/mayfly/visible.ts';
import { CloudError } from '#shared/cloud/errors.ts';

/** In the order of the help text. */
const VERBS = {
  plan: async () => (await import('#scripts/mayfly/plan.ts')).planVerb,
  submit: async () => (await import('#scripts/mayfly/submit.ts')).submitVerb,
  watch: async () => (await import('#scripts/mayfly/watch.ts')).watchVerb,
  list: async () => (await import('#scripts/mayfly/list.ts')).listVerb,
  show: async () => (await import('#scripts/mayfly/show.ts')).showVerb,
  logs: async () => (await import('#scripts/mayfly/logs.ts')).logsVerb,
  report: async () => (await import('#scripts/mayfly/report.ts')).reportVerb,
  cancel: async () => (await import('#scripts/mayfly/cancel.ts')).cancelVerb,
  rerun: async () => (await import('#scripts/mayfly/rerun.ts')).rerunVerb,
  sweep: async () => (await import('#scripts/mayfly/sweep.ts')).sweepVerb,
  doctor: async () => (await import('#scripts/mayfly/doctor.ts')).doctorVerb,
  deploy: async () => (await import('#scripts/mayfly/deploy.ts')).deployVerb,
  local: async () => (await import('#scripts/mayfly/local.ts')).localVerb,
} as const satisfies Record<string, () => Promise<Verb>>;

const HELP_WORDS: readonly (string | undefined)[] = ['help', '--help', '-h', undefined];

/** Gives the exit code; throws only what is a fault of ours. */
export async function runCommand(
  words: readonly string[],
  openRaw: (quiet: boolean) => Terminal,
): Promise<number> {
  const openTerminal = (quiet: boolean) => guarded(openRaw(quiet));
  let terminal = openTerminal(false);
  try {
    const [word, ...rest] = words;
    if (HELP_WORDS.includes(word)) return await printHelp(terminal, rest[0]);
    const verb = await findVerb(word);
    const call = parseCall(verb, rest);
    if (call.has('help')) return await printHelp(terminal, verb.name);
    if (call.has('quiet')) terminal = openTerminal(true);
    return await verb.run(call, terminal);
  } catch (error) {
    return reportError(error, terminal, asksForJson(words));
  }
}

/** Whatever is shown may hold what others wrote: none of it moves the cursor or looks like our lines. */
function guarded(terminal: Terminal): Terminal {
  return {
    ...terminal,
    write: (text) => terminal.write(visible(text)),
    note: (line) => terminal.note(visible(line)),
    complain: (text) => terminal.complain(visible(text)),
    move: (line) => terminal.move(line === null ? null : oneLine(line)),
  };
}

/** Also of words that cannot be parsed: a program that reads JSON is answered in JSON. */
const asksForJson = (words: readonly string[]) =>
  words.slice(0, words.includes('--') ? words.indexOf('--') : words.length).includes('--json');

async function printHelp(terminal: Terminal, word: string | undefined): Promise<number> {
  const all = () => Promise.all(Object.values(VERBS).map((load) => load()));
  terminal.write(word === undefined ? helpOverview(await all()) : helpVerb(await findVerb(word)));
  return EXIT_DONE;
}

async function findVerb(word: string | undefined): Promise<Verb> {
  const known = Object.keys(VERBS);
  if (word !== undefined && Object.hasOwn(VERBS, word)) {
    return VERBS[word as keyof typeof VERBS]();
  }
  throw usageError(
    `there is no verb ${JSON.stringify(word ?? '')}; known: ${known.join(', ')}, help`,
  );
}

/** Errors meant for people become a message; anything else is a fault of ours and keeps its stack. */
function reportError(error: unknown, terminal: Terminal, json: boolean): number {
  terminal.move(null);
  const { exitCode, message, data } = explain(error);
  if (json) terminal.write(`${JSON.stringify({ error: message, exitCode, ...data })}\n`);
  terminal.complain(`mayfly: ${message}`);
  return exitCode;
}

function explain(error: unknown): Pick<CommandError, 'exitCode' | 'message' | 'data'> {
  if (error instanceof CommandError) return error;
  if (!(error instanceof CloudError)) throw error;
  const message = `${error.message}${adviceFor(error)}`;
  return { exitCode: EXIT_REFUSED, message, data: { reason: error.reason || error.code } };
}

const ADVICE_FOR_MISSING = '\n  check --project, --bucket and --deployment: is it deployed there?';

function adviceFor(error: CloudError): string {
  if (error.reason === 'bucket-missing') return ADVICE_FOR_MISSING;
  switch (error.code) {
    case 'unauthenticated':
      return '\n  no usable credentials: gcloud auth application-default login';
    case 'forbidden':
      return '\n  your account lacks a permission for this: ask the owner of the project';
    case 'not-found':
      return ADVICE_FOR_MISSING;
    case 'unavailable':
    case 'timeout':
    case 'rate-limited':
      return '\n  this may pass: try again';
    case 'conflict':
    case 'precondition-failed':
    case 'invalid':
    case 'unreadable':
      return '';
  }
}
