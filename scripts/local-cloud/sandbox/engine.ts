// A real container engine beside the sandbox: whether one answers, which calls are for it, and how a
// call is handed over. Its containers carry the machine's label, so that they end with the machine.
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';
import { parseReference } from '#scripts/local-cloud/sandbox/images.ts';
import { parseRunOptions } from '#scripts/local-cloud/sandbox/run-options.ts';
import type { DockerSession } from '#scripts/local-cloud/sandbox/session.ts';

export interface Engine {
  /** Absolute path of the real client. */
  readonly client: string;
  /** Where it reaches the engine: the value for DOCKER_HOST. */
  readonly host: string;
}

const PROBE_TIMEOUT_MS = 5000;
const ABOUT_OBJECTS = ['wait', 'logs', 'inspect', 'stop', 'kill', 'rm', 'start', 'attach'];

/** Finds a real `docker` on the path whose engine answers; null when there is none. */
export function findEngine(env: Readonly<Record<string, string | undefined>>): Engine | null {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const client = join(folder, 'docker');
    if (!folder.startsWith('/') || !isExecutable(client)) continue;
    try {
      ask(client, ['info', '--format', '{{.ServerVersion}}'], env);
      const template = '{{.Endpoints.docker.Host}}';
      const host =
        env.DOCKER_HOST ?? ask(client, ['context', 'inspect', '--format', template], env);
      return { client, host };
    } catch {
      // No client that works, or no engine behind it: what the sandbox is for.
    }
  }
  return null;
}

/** True when a call is for the real engine: not about an example image or a container of the sandbox. */
export function wantsEngine(session: DockerSession, words: readonly string[]): boolean {
  if (session.engine === null) return false;
  const [command = '', ...rest] = words;
  switch (command) {
    case 'image':
    case 'container':
      return wantsEngine(session, rest);
    case 'run':
    case 'create':
      return !isExample(session, imageOfRun(session, rest));
    case 'pull':
      return !rest.some((word) => isExample(session, word));
    default:
      if (!ABOUT_OBJECTS.includes(command)) return true;
      return !rest.some((word) => session.store.find(word) !== null || isExample(session, word));
  }
}

/** Replaces this process with the real client. */
export function execEngine(session: DockerSession, words: readonly string[]): never {
  if (session.engine === null) throw new Error('no engine to hand the call to');
  const { client, label } = session.engine;
  const [command = '', ...rest] = words;
  const labelled = command === 'run' || command === 'create';
  const args = labelled ? [command, '--label', label, ...rest] : words;
  const env = Object.fromEntries(
    Object.entries(session.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
  if (process.execve === undefined) throw new Error('this Node has no process.execve; use Node 24');
  return process.execve(client, [client, ...args], env);
}

function imageOfRun(session: DockerSession, words: readonly string[]): string {
  try {
    return parseRunOptions(words, session.env).image;
  } catch (error) {
    // A flag that only the real client knows: then it is for the real client to judge.
    if (error instanceof DockerError) return '';
    throw error;
  }
}

function isExample(session: DockerSession, reference: string): boolean {
  const { repository } = parseReference(reference);
  const byDigest = session.images.some(({ digest }) => digest === reference);
  return byDigest || session.images.some((image) => image.repository === repository);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function ask(
  client: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string {
  return execFileSync(client, args, {
    encoding: 'utf8',
    env: { ...env },
    timeout: PROBE_TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}
