// What Terraform and its providers complain of, in our words first where we know what helps.

const LINES_KEPT = 40;

interface Known {
  readonly says: RegExp;
  readonly means: (project: string) => string;
}

/** Texts of googleapi errors and of Terraform 1.x; the first that fits is said. */
const KNOWN: readonly Known[] = [
  {
    // Terraform asks these two before it can enable any other.
    says: /has not been used in project|SERVICE_DISABLED|API .*is disabled/i,
    means: (project) =>
      'an API is not enabled yet. Once for a new project, then a minute of patience, then again:\n' +
      `  gcloud services enable cloudresourcemanager.googleapis.com serviceusage.googleapis.com --project=${project}`,
  },
  {
    says: /could not find default credentials|No credentials loaded|invalid_grant|invalid_rapt|oauth2: /i,
    means: () => 'no usable credentials:\n  gcloud auth application-default login',
  },
  {
    says: /Cannot find metric\(s\) that match/,
    means: () =>
      'Monitoring does not know the metrics yet that were made a moment ago. All else is made; in ten\n' +
      'minutes, once more: mayfly deploy',
  },
  {
    says: /Error acquiring the state lock/,
    means: () => 'another deploy holds the state: wait for its end',
  },
  {
    says: /error 409|already exists|you already own it/i,
    means: (project) =>
      'something of that name is there already, and this state does not know it. Was the deployment made\n' +
      `from another computer, or with --state? Give the same --state, or --deployment a new name in ${project}`,
  },
  {
    says: /it may not exist|may not exist\)|Project .*not found|The project .*does not exist/i,
    means: (project) =>
      `the project ${project} is not there, or not open to you:\n  gcloud projects describe ${project}`,
  },
  {
    says: /error 403|PERMISSION_DENIED/i,
    means: () =>
      'your account lacks a right; docs/operations.md, "Rights of the person who deploys", lists them',
  },
];

/** `said` is all that it printed. Gives lines for a person: ours, then Terraform's from its first error on. */
export function explainFault(said: string, project: string): string {
  const lines = said
    .split('\n')
    .map((line) => line.replace(/^[╷│╵]\s?/, '').trimEnd())
    .filter((line) => line !== '');
  const first = lines.findIndex((line) => /^Error\b/.test(line));
  const kept = first < 0 ? lines.slice(-LINES_KEPT) : lines.slice(first, first + LINES_KEPT);
  const known = KNOWN.find(({ says }) => says.test(kept.join(' ')));
  const ours = known === undefined ? [] : known.means(project).split('\n');
  return [...ours, 'it said:', ...kept.map((line) => `  ${line}`)].join('\n  ');
}
