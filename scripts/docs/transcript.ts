// The page of every verb as a new user would call it: the command itself, on a deployment in the local
// cloud with its real functions and a virtual clock, so that the text is the same each time.

import type { Cloud } from '#scripts/mayfly/cloud.ts';
import { runCommand } from '#scripts/mayfly/command.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

const { project, bucket, deployment } = SETTINGS.plan;
const ENVIRONMENT = {
  MAYFLY_PROJECT: project,
  MAYFLY_BUCKET: bucket,
  MAYFLY_REGIONS: 'us-central1',
};
const IMAGE = ['--image', 'alpine:3.20', '--machine', 'e2-standard-4', '--ttl', '1h'];

const REQUEST_FILE = 'request.json';
const REQUEST = {
  ...{ runId: 'first', image: 'alpine:3.20', args: ['hello'], ttlSeconds: 3600 },
  resources: { machineTypes: ['e2-standard-4'] },
};

const HEAD = `# The command, verb by verb

Each verb as it answers on a deployment in the local cloud, on a virtual clock. \`$?\` is the exit code
where it is not 0. \`mayfly VERB --help\` has all flags; \`--json\` gives data.

`;

interface Step {
  readonly words: readonly string[];
  /** Seconds that pass before the call. */
  readonly after?: number;
}

const STEPS: readonly Step[] = [
  { words: ['help'] },
  { words: ['plan', REQUEST_FILE, '--at', '2026-12-01T12:00:00Z'] },
  { words: ['submit', '--run-id', 'first', ...IMAGE, '--', 'hello'] },
  { words: ['list'], after: 20 },
  { words: ['show', 'first'] },
  { words: ['watch', 'first'], after: 1800 },
  { words: ['show', 'first'] },
  { words: ['logs', 'first'] },
  { words: ['rerun', 'first', '--set', 'runId=second', '--set', 'args.0=again'] },
  { words: ['cancel', 'second', '--reason', 'not needed'], after: 5 },
  { words: ['cancel', 'nobody'] },
  { words: ['list', '--since', '2h'], after: 1800 },
  { words: ['show', 'nobody-at-all'] },
  { words: ['submit', '--run-id', 'wrong', ...IMAGE, '--timeout', '2h'] },
  { words: ['list', '--dead'] },
  { words: ['report', '--since', '1d'] },
  { words: ['sweep', '--dry-run'] },
  { words: ['sweep', '--help'] },
  { words: ['doctor', '--help'] },
  { words: ['deploy', '--help'] },
  { words: ['local', '--help'] },
];

export async function transcriptPage(): Promise<string> {
  const kernel = new Kernel();
  const parts: string[] = [];
  for (const { words, after = 0 } of STEPS) {
    if (after > 0) await kernel.run(after * 1000);
    if (words[0] === 'logs') sayHello(kernel);
    const told = await call(kernel, words);
    const wait = after > 0 ? `# ${after} seconds later\n` : '';
    parts.push(`\`\`\`console\n${wait}$ mayfly ${words.join(' ')}\n${told}\`\`\`\n`);
  }
  return `${HEAD}${parts.join('\n')}`;
}

/** Simulated guests run no container: what one of `first` would have written. */
function sayHello(kernel: Kernel): void {
  kernel.call({
    method: 'logging.entries.write',
    params: {},
    body: {
      logName: `projects/${project}/logs/mayfly-container`,
      resource: { type: 'gce_instance', labels: {} },
      labels: { run_id: 'first', attempt: '1' },
      entries: [{ textPayload: 'hello', timestamp: '2026-12-01T12:00:30Z', insertId: '1' }],
    },
  });
}

async function call(kernel: Kernel, words: readonly string[]): Promise<string> {
  let told = '';
  const line = (text: string) => {
    told += `${text}\n`;
  };
  const terminal: Terminal = {
    ...{
      environment: ENVIRONMENT,
      folder: '/',
      readStdin: async () => Buffer.from(JSON.stringify(REQUEST)),
    },
    cloud: () => cloudOf(kernel),
    write: (text) => {
      told += text;
    },
    ...{ note: line, complain: line, move: () => {}, ask: async () => null },
    interruption: () => new AbortController().signal,
  };
  // The file's text comes by stdin: the page needs no files.
  const called = words.map((word) => (word === REQUEST_FILE ? '-' : word));
  const code = await runCommand(called, () => terminal);
  return `${told}${code === 0 ? '' : `$? = ${code}\n`}`;
}

function cloudOf(kernel: Kernel): Cloud {
  const ports = kernel.cloud(null);
  const { transport, entropy, publisher } = ports;
  return {
    target: { project, bucket, deployment },
    store: ports.store(bucket),
    clock: kernel.clock,
    entropy,
    compute: createCompute({ project, endpoint: null, transport, clock: kernel.clock }),
    api: () => ({ endpoint: null, transport }),
    publishRequest: (data) => publisher.publish(`${deployment}-run-requests`, data),
  };
}
