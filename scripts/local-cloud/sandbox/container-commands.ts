// The commands on containers that exist: wait, logs, inspect, stop, kill, rm, ps. Names, outputs and
// exit codes are docker's.
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chunk, lastLines, readLog } from '#scripts/local-cloud/sandbox/bounded-log.ts';
import { type Container, containerLog } from '#scripts/local-cloud/sandbox/containers.ts';
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';
import { type FlagTable, lastValue, parseFlags } from '#scripts/local-cloud/sandbox/flags.ts';
import { onlyWord } from '#scripts/local-cloud/sandbox/image-commands.ts';
import { LineTimes } from '#scripts/local-cloud/sandbox/line-times.ts';
import { followLog } from '#scripts/local-cloud/sandbox/log-follower.ts';
import { signalProcess } from '#scripts/local-cloud/sandbox/processes.ts';
import type { DockerSession } from '#scripts/local-cloud/sandbox/session.ts';

const POLL_MS = 25;

/** `docker wait NAME…`: one exit code a line. */
export async function wait(session: DockerSession, words: readonly string[]): Promise<void> {
  for (const name of words) process.stdout.write(`${await waitForEnd(session, name)}\n`);
}

/** Resolves with the exit code of a container once it has ended. */
export async function waitForEnd(session: DockerSession, name: string): Promise<number> {
  for (;;) {
    const { state } = requireContainer(session, name);
    if (state.status === 'exited' || state.error !== '') return state.exitCode;
    await sleep(POLL_MS);
  }
}

/** `docker logs [--follow] [--timestamps] [--tail N] NAME`. */
export async function logs(session: DockerSession, words: readonly string[]): Promise<void> {
  const flags = parseFlags(words, {
    ...table(['tail', 'since', 'until'], ['follow', 'timestamps', 'details']),
    short: { f: 'follow', n: 'tail', t: 'timestamps' },
  });
  const { config, folder } = requireContainer(session, onlyWord(flags.words, 'docker logs'));
  const times = flags.switches.has('timestamps') ? new LineTimes() : null;
  const write = (chunk: Chunk) => {
    const bytes = times === null ? chunk.bytes : times.stamp(chunk);
    (chunk.stream === 1 ? process.stdout : process.stderr).write(bytes);
  };
  if (flags.switches.has('follow')) {
    const ended = () => session.store.find(config.id)?.state.status !== 'running';
    await followLog(containerLog(folder), ended, write);
    return;
  }
  const tail = lastValue(flags, 'tail') ?? 'all';
  const chunks = readLog(containerLog(folder));
  for (const chunk of tail === 'all' ? chunks : lastLines(chunks, Number(tail))) write(chunk);
}

/** `docker stop [-t SECONDS] NAME…`: the stop signal, then KILL. */
export async function stop(session: DockerSession, words: readonly string[]): Promise<void> {
  const flags = parseFlags(words, {
    ...table(['time', 'timeout', 'signal'], []),
    short: { t: 'time', s: 'signal' },
  });
  const seconds = lastValue(flags, 'time') ?? lastValue(flags, 'timeout');
  const containers = flags.words.map((name) => requireContainer(session, name));
  await Promise.all(
    containers.map((container) => stopContainer(session, container, seconds, flags.values)),
  );
  for (const name of flags.words) process.stdout.write(`${name}\n`);
}

async function stopContainer(
  session: DockerSession,
  { config, state }: Container,
  seconds: string | null,
  values: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  if (state.status !== 'running') return;
  signalProcess(state.pid, signalName(values.get('signal')?.at(-1) ?? config.stopSignal));
  const giveUpAtMs = Date.now() + Number(seconds ?? config.stopTimeoutSeconds) * 1000;
  const isRunning = () => session.store.find(config.id)?.state.status === 'running';
  while (isRunning() && Date.now() < giveUpAtMs) await sleep(POLL_MS);
  if (isRunning()) signalProcess(state.pid, 'SIGKILL');
  while (isRunning()) await sleep(POLL_MS);
}

/** `docker kill [-s SIGNAL] NAME…`. */
export function kill(session: DockerSession, words: readonly string[]): void {
  const flags = parseFlags(words, { ...table(['signal'], []), short: { s: 'signal' } });
  for (const name of flags.words) {
    const { config, state } = requireContainer(session, name);
    if (state.status !== 'running') {
      throw new DockerError(
        `Error response from daemon: Cannot kill container: ${name}: container ${config.id} is not running`,
      );
    }
    signalProcess(state.pid, signalName(lastValue(flags, 'signal') ?? 'SIGKILL'));
    process.stdout.write(`${name}\n`);
  }
}

/** `docker rm [-f] NAME…`. */
export async function remove(session: DockerSession, words: readonly string[]): Promise<void> {
  const flags = parseFlags(words, {
    ...table([], ['force', 'volumes', 'link']),
    short: { f: 'force', v: 'volumes', l: 'link' },
  });
  const force = flags.switches.has('force');
  for (const name of flags.words) {
    const container = session.store.find(name);
    if (container === null && force) {
      process.stderr.write(`${noSuchContainer(name).message}\n`);
      continue;
    }
    if (container === null) throw noSuchContainer(name);
    if (container.state.status === 'running') {
      if (!force) {
        throw new DockerError(
          `Error response from daemon: cannot remove container "/${container.config.name}": container is running: stop the container before removing or force remove`,
        );
      }
      signalProcess(container.state.pid, 'SIGKILL');
      await waitForEnd(session, container.config.id);
    }
    session.store.remove(container);
    process.stdout.write(`${name}\n`);
  }
}

/** `docker ps [-a] [-q]`; filters are ignored, as every container here is the machine's own. */
export function list(session: DockerSession, words: readonly string[]): string {
  const flags = parseFlags(words, {
    ...table(['filter', 'format', 'last'], ['all', 'quiet', 'no-trunc', 'latest', 'size']),
    short: { a: 'all', f: 'filter', l: 'latest', n: 'last', q: 'quiet', s: 'size' },
  });
  const containers = session.store
    .list()
    .filter(({ state }) => flags.switches.has('all') || state.status === 'running');
  const length = flags.switches.has('no-trunc') ? 64 : 12;
  if (flags.switches.has('quiet')) {
    return containers.map(({ config }) => `${config.id.slice(0, length)}\n`).join('');
  }
  const rows = containers.map(({ config, state }) =>
    [config.id.slice(0, length), config.image, state.status, config.name].join('\t'),
  );
  return `${['CONTAINER ID\tIMAGE\tSTATUS\tNAMES', ...rows].join('\n')}\n`;
}

/** What `docker inspect` says of a container. */
export function describeContainer({ config, state }: Container): object {
  return {
    Id: config.id,
    Name: `/${config.name}`,
    Created: config.createdAt,
    Image: config.imageDigest,
    Path: config.argv[0] ?? '',
    Args: config.argv.slice(1),
    State: {
      Status: state.status,
      Running: state.status === 'running',
      OOMKilled: false,
      Pid: state.pid,
      ExitCode: state.exitCode,
      Error: state.error,
      StartedAt: state.startedAt,
      FinishedAt: state.finishedAt,
    },
    Config: {
      Image: config.image,
      Labels: config.labels,
      WorkingDir: config.workingDir,
      Env: Object.entries(config.env).map(([name, value]) => `${name}=${value}`),
    },
  };
}

/** Throws docker's own refusal when there is no such container. */
function requireContainer(session: DockerSession, name: string): Container {
  const container = session.store.find(name);
  if (container === null) throw noSuchContainer(name);
  return container;
}

function noSuchContainer(name: string): DockerError {
  return new DockerError(`Error response from daemon: No such container: ${name}`);
}

function signalName(text: string): NodeJS.Signals {
  const upper = text.toUpperCase();
  const name = upper.startsWith('SIG') ? upper : `SIG${upper}`;
  const byNumber = Object.entries(constants.signals).find(([, number]) => String(number) === text);
  const found = byNumber?.[0] ?? name;
  if (found in constants.signals) return found as NodeJS.Signals;
  throw new DockerError(`Error response from daemon: Invalid signal: ${text}`);
}

function table(values: readonly string[], switches: readonly string[]): FlagTable {
  return { values, switches, short: {}, interspersed: true, usageExitCode: 125 };
}
