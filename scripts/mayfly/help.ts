// Help texts, made from the verbs' own tables.
import { COMMON_FLAGS, type Flags, type Verb } from '#scripts/mayfly/call.ts';

/** The text of `mayfly help`. */
export function helpOverview(verbs: readonly Verb[]): string {
  const rows = verbs.map((verb) => row(`${verb.name} ${verb.operands}`.trim(), verb.summary, 18));
  return [
    'mayfly: one container on one machine that exists only for that run',
    '',
    'usage: mayfly VERB [flags] [operands]',
    '',
    ...rows,
    '',
    'mayfly VERB --help says more about one of them.',
    '',
    'Project, bucket and deployment come from flags, else MAYFLY_PROJECT, MAYFLY_BUCKET and',
    'MAYFLY_DEPLOYMENT, else .mayfly.json; the project also from GOOGLE_CLOUD_PROJECT. Credentials',
    'are the application default ones (gcloud auth application-default login).',
    '',
    'Exit codes: 0 done, 2 wrong usage or request, 3 refused by the platform, 4 nothing found.',
    'submit --wait and watch end with the container’s own code, else 70 FAILED, 71 TIMED_OUT,',
    '72 PREEMPTED, 73 CANCELLED, 74 LOST, 75 NO_CAPACITY, 76 REJECTED; 130 after Ctrl-C. With --json',
    'data is JSON on stdout, and an error too: { error, exitCode }.',
    '',
  ].join('\n');
}

/** The text of `mayfly VERB --help`. */
export function helpVerb(verb: Verb): string {
  const rest = verb.takesRest ? ' [-- ARG...]' : '';
  const own = flagRows(verb.flags);
  return [
    `usage: mayfly ${verb.name} [flags] ${verb.operands}${rest}`.trimEnd(),
    '',
    `${verb.summary.charAt(0).toUpperCase()}${verb.summary.slice(1)}.`,
    ...(verb.details.length === 0 ? [] : ['', ...verb.details]),
    '',
    ...(own.length === 0 ? [] : ['flags:', ...own, '']),
    'common flags:',
    ...flagRows(COMMON_FLAGS),
    '',
  ].join('\n');
}

function flagRows(flags: Flags): readonly string[] {
  return Object.entries(flags).map(([name, flag]) => {
    const value = flag.value === undefined ? '' : ` ${flag.value}`;
    return row(
      `--${name}${value}`,
      flag.multiple ? `${flag.help}; may be repeated` : flag.help,
      26,
    );
  });
}

function row(left: string, right: string, width: number): string {
  return left.length > width
    ? `  ${left}\n  ${''.padEnd(width)} ${right}`
    : `  ${left.padEnd(width)} ${right}`;
}
