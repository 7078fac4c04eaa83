// The `docker` command of a local machine. With a real engine, calls go to it, except those about
// example images and their containers, which run as plain processes (the process sandbox); without an
// engine the sandbox is all there is. Arguments, outputs and exit codes are docker's own.
import {
  describeContainer,
  kill,
  list,
  logs,
  remove,
  stop,
  wait,
} from '#scripts/local-cloud/sandbox/container-commands.ts';
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';
import { execEngine, wantsEngine } from '#scripts/local-cloud/sandbox/engine.ts';
import { lastValue, parseFlags } from '#scripts/local-cloud/sandbox/flags.ts';
import { formatTemplate } from '#scripts/local-cloud/sandbox/format.ts';
import { describeImage, login, logout, pull } from '#scripts/local-cloud/sandbox/image-commands.ts';
import { run } from '#scripts/local-cloud/sandbox/run-command.ts';
import { type DockerSession, openSession } from '#scripts/local-cloud/sandbox/session.ts';

const SANDBOX_VERSION = '0.0.0-process-sandbox';

// The reader of a pipe may leave before the end, as `docker logs | head` does.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(1);
  });
}

try {
  process.exitCode = await main(openSession(process.env), process.argv.slice(2));
} catch (error) {
  if (!(error instanceof DockerError)) throw error;
  // The client puts its own name before the engine's words for `run` alone.
  const isRefusedRun = process.argv[2] === 'run' && error.message.startsWith('Error response');
  process.stderr.write(`${isRefusedRun ? 'docker: ' : ''}${error.message}\n`);
  process.exitCode = error.exitCode;
}

async function main(session: DockerSession, words: readonly string[]): Promise<number> {
  if (wantsEngine(session, words)) return execEngine(session, words);
  const [group = '', ...rest] = words;
  const isContainerGroup = group === 'container';
  const [command = '', ...parameters] = isContainerGroup ? rest : words;
  return await dispatch(session, command, parameters);
}

async function dispatch(
  session: DockerSession,
  command: string,
  words: readonly string[],
): Promise<number> {
  switch (command) {
    case 'run':
      return await run(session, words);
    case 'wait':
      await wait(session, words);
      return 0;
    case 'logs':
      await logs(session, words);
      return 0;
    case 'stop':
      await stop(session, words);
      return 0;
    case 'rm':
      await remove(session, words);
      return 0;
    case 'kill':
      kill(session, words);
      return 0;
    case 'inspect':
      return inspect(session, words, 'any');
    case 'image':
      return imageGroup(session, words);
    default:
      process.stdout.write(await simpleCommand(session, command, words));
      return 0;
  }
}

async function simpleCommand(
  session: DockerSession,
  command: string,
  words: readonly string[],
): Promise<string> {
  switch (command) {
    case 'ps':
    case 'ls':
      return list(session, words);
    case 'pull':
      return pull(session, words);
    case 'login':
      return await login(session, words);
    case 'logout':
      return logout(session, words);
    case 'info':
    case 'version':
      return about(words);
    default:
      throw new DockerError(
        `docker: '${command}' is not a command of the process sandbox; start a container engine for it`,
      );
  }
}

function imageGroup(session: DockerSession, words: readonly string[]): number {
  const [command = '', ...rest] = words;
  if (command === 'inspect') return inspect(session, rest, 'image');
  if (command !== 'pull') {
    throw new DockerError(`docker: 'image ${command}' is not a command of the process sandbox`);
  }
  process.stdout.write(pull(session, rest));
  return 0;
}

/** `docker inspect [--format T] NAME…`, `docker image inspect …`: containers first, then images. */
function inspect(session: DockerSession, words: readonly string[], kind: 'any' | 'image'): number {
  const flags = parseFlags(words, {
    values: ['format', 'type'],
    switches: ['size'],
    short: { f: 'format', s: 'size' },
    interspersed: true,
    usageExitCode: 125,
  });
  const wanted = lastValue(flags, 'type') ?? kind;
  const missing: string[] = [];
  const found = flags.words.flatMap((name) => {
    const container = wanted === 'image' ? null : session.store.find(name);
    if (container !== null) return [describeContainer(container)];
    const image = wanted === 'container' ? null : describeImage(session, name);
    if (image === null) missing.push(name);
    return image ?? [];
  });
  const template = lastValue(flags, 'format');
  const texts = found.map((item) => `${formatTemplate(template ?? '', item)}\n`);
  process.stdout.write(template === null ? `${JSON.stringify(found, null, 4)}\n` : texts.join(''));
  const noun = wanted === 'any' ? 'object' : wanted;
  for (const name of missing) process.stderr.write(`Error: No such ${noun}: ${name}\n`);
  return missing.length > 0 ? 1 : 0;
}

function about(words: readonly string[]): string {
  const flags = parseFlags(words, {
    values: ['format'],
    switches: [],
    short: { f: 'format' },
    interspersed: true,
    usageExitCode: 125,
  });
  const facts = {
    ServerVersion: SANDBOX_VERSION,
    Server: { Version: SANDBOX_VERSION },
    Client: { Version: SANDBOX_VERSION },
    OperatingSystem: 'process sandbox: no container engine answers on this computer',
  };
  const template = lastValue(flags, 'format');
  if (template !== null) return `${formatTemplate(template, facts)}\n`;
  return `Server:\n Server Version: ${SANDBOX_VERSION}\n Operating System: ${facts.OperatingSystem}\n`;
}
