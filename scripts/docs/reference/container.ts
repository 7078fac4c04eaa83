// The part about what a container sees: the variables that the two runtimes' own code sets, and what the
// machine leaves it of Linux.
import { code, plain, table } from '#scripts/docs/reference/markdown.ts';
import { commandEnvironment } from '#shared/guest/supervisor/command-environment.ts';
import type { Bootstrap } from '#shared/plan/bootstrap.ts';
import { KEPT_CAPABILITIES } from '#shared/plan/capabilities.ts';

/** What each says; a variable without a sentence, or a sentence without a variable, is an error. */
const MEANINGS: Readonly<Record<string, string>> = {
  MAYFLY_RUN_ID: 'the run',
  MAYFLY_ATTEMPT: 'which attempt of it, from 1',
  MAYFLY_RUNTIME: 'where it runs',
  MAYFLY_TASK_INDEX: 'which of its tasks, from 0',
  MAYFLY_TASK_COUNT: 'how many tasks there are',
  MAYFLY_DEADLINE: 'when the machine ends, in RFC 3339: its boot and ttlSeconds',
  MAYFLY_PACKAGE_DIR: 'where the package is unpacked',
  MAYFLY_SCRATCH_DIR: 'a folder for what need not be kept; local SSDs where there are some',
  MAYFLY_EVENTS_FD: 'file descriptor that takes progress, a JSON object a line',
};
const THREADS = /_THREADS$/;

/** `onMachine`: the text of the guest's piece that starts the container. */
export function containerPart(onMachine: string): string {
  const onJobs = Object.keys(ofCommand()).filter((name) => name !== 'PATH');
  const own = (names: readonly string[]) => names.filter((name) => name.startsWith('MAYFLY_'));
  const onGce = [...onMachine.matchAll(/--env "?(MAYFLY_[A-Z_]+)=/g)].map(([, name = '']) => name);
  const all = [...new Set([...onGce, ...own(onJobs)])];
  const wrong = [...all, ...Object.keys(MEANINGS)].filter(
    (name) => !all.includes(name) || !Object.hasOwn(MEANINGS, name),
  );
  if (wrong.length > 0) throw new Error(`what a container sees has changed: ${wrong.join(', ')}`);
  const rows = all.map((name) => [
    code(name),
    plain(MEANINGS[name] ?? ''),
    onGce.includes(name) ? 'yes' : '',
    onJobs.includes(name) ? 'yes' : '',
  ]);
  const threads = onJobs.filter((name) => THREADS.test(name)).map(code);
  return `${table(['variable', 'says', 'gce', 'cloudrun-jobs'], rows)}
The number of cores stands in
${threads.join(', ')}.
${code('TRACEPARENT')} is there when the publisher sent a trace. The request's own variables come last.

On ${code('gce')} the container gains no privileges, reaches no metadata server unless the request has
${code('metadataAccess')}, and keeps these capabilities alone:
${KEPT_CAPABILITIES.map(code).join(', ')}.
`;
}

/** What the supervisor gives a command of a request that asks for nothing. */
function ofCommand(): Readonly<Record<string, string>> {
  const bootstrap = { runId: '', attempt: 1, taskCount: 1, deadline: '', env: {} };
  return commandEnvironment({ variables: {}, root: '' }, { task: 0 }, bootstrap as Bootstrap);
}
