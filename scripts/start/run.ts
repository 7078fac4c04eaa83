// One job, end to end: the local cloud and the functions start, the request is published as any
// publisher would, the run is followed through the bucket, and what is left is counted at the end.
import {
  clientEnvironment,
  dataFolderLine,
  exampleCommands,
  exportLines,
} from '#scripts/local-cloud/deployment/client-lines.ts';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import { publish } from '#scripts/local-cloud/deployment/layout.ts';
import { inProcessStore } from '#scripts/local-cloud/in-process-ports.ts';
import { EXIT_INTERRUPTED, EXIT_REJECTED, exitCodeOfRun } from '#scripts/mayfly/exit-codes.ts';
import { type FollowEnd, followRun } from '#scripts/mayfly/follow.ts';
import { elapsed } from '#scripts/mayfly/progress.ts';
import { describeResult } from '#scripts/mayfly/summary.ts';
import { type Terminal, untilAborted } from '#scripts/mayfly/terminal.ts';
import { type Job, readJob, uploadExampleData } from '#scripts/start/job.ts';
import { showOutputs } from '#scripts/start/outputs.ts';
import { describeLeft, isNothing } from '#scripts/start/proof.ts';
import { SweepWatch, sweepUntilNothing } from '#scripts/start/sweep.ts';
import { systemClock } from '#shared/cloud/clock.ts';

type Send = Parameters<typeof inProcessStore>[0];

const POLL_MS = 150;
/** Something was left although the run succeeded: the one promise is broken. */
const EXIT_LEFT = 1;

export async function startJob(
  words: { readonly file: string | null; readonly keep: boolean },
  terminal: Terminal,
): Promise<number> {
  const interruption = terminal.interruption();
  const job = await readJob(words.file, terminal.folder);
  const sweeps = new SweepWatch();
  const startedMs = systemClock.nowMs();
  terminal.move('starting the local cloud and the functions');
  await using installation = await openInstallation({
    port: 0,
    environment: terminal.environment,
    objects: job.objects,
    onLog: (name, line) => {
      sweeps.see(line);
      if (/"severity":"(ERROR|CRITICAL)"/.test(line)) terminal.note(`${name}: ${line}`);
    },
  });
  const { baseUrl } = installation.deployment;
  const took = elapsed(systemClock.nowMs() - startedMs);
  terminal.note(`the local cloud is up at ${baseUrl} (${took}): no account, no network`);
  terminal.note(`  ${installation.containers}`);
  await uploadExampleData(installation.deployment);
  const code = await runJob(installation, job, { terminal, interruption, sweeps });
  if (words.keep && !interruption.aborted) await keepOpen(installation, terminal, interruption);
  return code;
}

interface Context {
  readonly terminal: Terminal;
  readonly interruption: AbortSignal;
  readonly sweeps: SweepWatch;
}

async function runJob(installation: Installation, job: Job, context: Context): Promise<number> {
  const { terminal, interruption, sweeps } = context;
  const { cloud, deployment } = installation;
  // Without sockets: the Google client would take longer to load than the whole run.
  const send: Send = async ({ method, params, body }) => cloud.call(method, params, body);
  const store = inProcessStore(send, deployment.bucket);
  const messageId = await publish(deployment, job.text);
  terminal.note(`${job.runId} published on ${deployment.deployment}-run-requests`);
  const end = await followRun(
    { store, clock: systemClock, note: terminal.note, move: terminal.move, interruption },
    { runId: job.runId, messageId, foreignResult: false, pollMs: POLL_MS },
  );
  terminal.move(null);
  if (end.kind !== 'ended' && end.kind !== 'rejected') return EXIT_INTERRUPTED;
  terminal.write(`\n${describeResult(end.result).join('\n')}\n`);
  await showOutputs(deployment, end.result.outputs, (line) => terminal.write(`${line}\n`));
  const left = await sweepUntilNothing(deployment, sweeps, interruption);
  terminal.write(`\n${describeLeft(left)}\n`);
  const code = codeOf(end);
  return code === 0 && !isNothing(left) ? EXIT_LEFT : code;
}

function codeOf(end: Extract<FollowEnd, { kind: 'ended' | 'rejected' }>): number {
  return end.kind === 'rejected' ? EXIT_REJECTED : exitCodeOfRun(end.result);
}

async function keepOpen(
  { deployment }: Installation,
  terminal: Terminal,
  interruption: AbortSignal,
): Promise<void> {
  terminal.write(
    [
      '',
      'The local cloud stays up. In another terminal:',
      '',
      ...exportLines(clientEnvironment(deployment)),
      '',
      ...exampleCommands(deployment),
      '',
      `${dataFolderLine(deployment)}; Ctrl-C ends everything`,
      '',
    ].join('\n'),
  );
  await untilAborted(interruption);
}
