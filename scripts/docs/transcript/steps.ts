// What the page walks through, in the order in which a new user would.
import { openOperate } from '#scripts/docs/transcript/operate.ts';
import type { Place, Step } from '#scripts/docs/transcript/place.ts';
import { openRuns } from '#scripts/docs/transcript/runs.ts';

export const FILES: Readonly<Record<string, object | string>> = {
  'app/fit.py': "print('hello')\n",
  'request.json': {
    ...{ runId: 'first', image: 'alpine:3.20', args: ['hello'], ttlSeconds: 3600 },
    resources: { machineTypes: ['e2-standard-4'] },
  },
  'big.json': {
    ...{ runId: 'big', image: 'alpine:3.20', waitForCapacitySeconds: 0 },
    resources: { machineTypes: ['n2-standard-8'] },
  },
};

const IMAGE = ['--image', 'alpine:3.20', '--machine', 'e2-standard-4'];

export interface Section {
  readonly title: string;
  readonly text: string;
  /** Sections of one place follow one another there. */
  readonly open: () => Promise<Place>;
  readonly steps: readonly Step[];
}

const RUNS: readonly Omit<Section, 'open'>[] = [
  {
    title: 'A run, from its plan to its end',
    text: 'Progress goes to stderr, and on a terminal a line that moves says what is going on.',
    steps: [
      { words: ['help'] },
      { file: 'request.json' },
      { words: ['plan', 'request.json', '--at', '2026-12-01T12:00:00Z'] },
      { words: ['submit', 'request.json'] },
      { words: ['list'], after: 20 },
      { words: ['show', 'first'] },
      { words: ['watch', 'first'], interrupt: true },
      { words: ['watch', 'first'] },
      { words: ['show', 'first'], after: 60 },
      { words: ['logs', 'first'], before: 'first says hello' },
      { words: ['logs', 'first', '--json'] },
    ],
  },
  {
    title: 'Waiting for the end: exit codes',
    text: 'With `--wait` the exit code is the container’s own, else one for how the run ended.',
    steps: [
      { words: ['submit', '--run-id', 'second', ...IMAGE, '--wait', '--', 'hello', 'again'] },
      { words: ['submit', '--run-id', 'broken', ...IMAGE, '--wait'] },
      { file: 'big.json' },
      { words: ['submit', 'big.json', '--wait'], before: 'no big machine is left' },
      { words: ['submit', '--run-id', 'long', ...IMAGE, '--label', 'team=ml'] },
      { words: ['cancel', 'long', '--reason', 'not needed'], after: 300 },
      { words: ['watch', 'long'] },
      { words: ['submit', '--run-id', 'week', ...IMAGE, '--ttl', '7d', '--wait'] },
      { file: 'app/fit.py' },
      { words: ['submit', '--run-id', 'coded', ...IMAGE, '--code', 'app', '--', 'fit.py'] },
      { words: ['rerun', 'first', '--set', 'runId=third', '--set', 'args.0=again', '--wait'] },
      { words: ['cancel', 'nobody'] },
    ],
  },
  {
    title: 'What was, and what it cost',
    text: '',
    steps: [
      { words: ['list', '--since', '2h'], after: 1800 },
      { words: ['list', '--since', '2026-12-01T12:05:00Z', '--limit', '1'] },
      { words: ['list', '--limit', '1', '--json'] },
      { words: ['list', '--dead'] },
      { words: ['report', '--since', '1d'] },
      { words: ['report', '--by', 'label', '--json'] },
      { words: ['sweep', '--dry-run'] },
    ],
  },
  {
    title: 'When something is wrong',
    text: '2: the command line or the request; 3: the platform refused; 4: there is no such thing.',
    steps: [
      { words: ['lst'] },
      { words: ['list', '--sinse', '2h'] },
      { words: ['list', '--since', 'soon'] },
      { words: ['show'] },
      { words: ['submit', '--run-id', 'wrong', ...IMAGE, '--ttl', '1h', '--timeout', '2h'] },
      { words: ['submit', 'no-such-file.json'] },
      { words: ['list', '--bucket', 'no-such-bucket'] },
      { words: ['show', 'no-such-run'] },
      { words: ['show', 'no-such-run', '--json'] },
    ],
  },
];

const OPERATE: readonly Omit<Section, 'open'>[] = [
  {
    title: 'Deploying',
    text: `Here a small program stands in Terraform’s place (\`MAYFLY_TERRAFORM\`), which knows two
resources: the lines around its own are \`mayfly\`’s, as they are with the real one.`,
    steps: [
      { words: ['deploy', '--help'] },
      { words: ['deploy', '--project', 'my-project', '--region', 'europe-west1', '--dry-run'] },
      { words: ['deploy', '--project', 'my-project', '--region', 'europe-west1'], answer: 'no' },
      { words: ['deploy', '--project', 'my-project', '--region', 'europe-west1'], answer: 'yes' },
      { file: '.mayfly.json' },
    ],
  },
  {
    title: 'Operating',
    text: `A deployment in the local cloud, without functions behind it. It is all right until the sweep is
paused; then a right is taken from submit’s account; at last nobody may publish.`,
    steps: [
      { words: ['doctor'] },
      { words: ['sweep'] },
      { words: ['sweep', '--pause'] },
      { words: ['doctor'] },
      { words: ['sweep', '--resume', '--json'] },
      { words: ['doctor'], before: 'submit may create no machine' },
      { words: ['submit', '--run-id', 'first', ...IMAGE], before: 'nobody may publish' },
      { words: ['sweep', '--help'] },
      { words: ['doctor', '--help'] },
    ],
  },
  {
    title: 'The local cloud',
    text: '`mayfly local` runs until Ctrl-C and prints the lines that the next command needs.',
    steps: [{ words: ['local', '--help'] }],
  },
];

export const SECTIONS: readonly Section[] = [
  ...RUNS.map((section) => ({ ...section, open: openRuns })),
  ...OPERATE.map((section) => ({ ...section, open: openOperate })),
];
