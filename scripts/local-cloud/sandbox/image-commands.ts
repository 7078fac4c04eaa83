// `docker pull`, `docker image inspect`, `login`, `logout`: what the process sandbox knows of images
// and registries. Any image but the examples is refused as a registry refuses a missing manifest,
// because trying again cannot help.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';
import { lastValue, parseFlags } from '#scripts/local-cloud/sandbox/flags.ts';
import {
  findImage,
  parseReference,
  type SandboxImage,
} from '#scripts/local-cloud/sandbox/images.ts';
import type { DockerSession } from '#scripts/local-cloud/sandbox/session.ts';

const DOCKER_HUB = 'https://index.docker.io/v1/';

/** Finds an example image by reference. Throws a DockerError with `exitCode` for any other. */
export function requireImage(
  session: DockerSession,
  reference: string,
  exitCode: number,
): SandboxImage {
  const image = findImage(session.images, reference);
  if (image !== null) return image;
  const known = session.images
    .map(({ repository, tags }) => `${repository}:${tags[0] ?? 'latest'}`)
    .join(', ');
  throw new DockerError(
    `Error response from daemon: manifest for ${reference} not found: manifest unknown: no container engine answers on this computer, so only the example images can run (${known}); start Docker until "docker info" succeeds, then start again`,
    exitCode,
  );
}

/** `docker pull [-q] REFERENCE`. */
export function pull(session: DockerSession, words: readonly string[]): string {
  const flags = parseFlags(words, {
    values: ['platform'],
    switches: ['quiet', 'all-tags', 'disable-content-trust'],
    short: { q: 'quiet', a: 'all-tags' },
    interspersed: true,
    usageExitCode: 125,
  });
  const reference = onlyWord(flags.words, 'docker pull');
  const image = requireImage(session, reference, 1);
  const isNew = !isPulled(session, image);
  rememberPull(session, image);
  if (flags.switches.has('quiet')) return `${reference}\n`;
  const { tag, digest, repository } = parseReference(reference);
  const path = repository.slice(repository.indexOf('/') + 1);
  const status = isNew ? 'Downloaded newer image for' : 'Image is up to date for';
  return `${tag ?? digest}: Pulling from ${path}\nDigest: ${image.digest}\nStatus: ${status} ${reference}\n${reference}\n`;
}

/** Marks an image as being on the machine's disk. */
export function rememberPull(session: DockerSession, image: SandboxImage): void {
  mkdirSync(join(session.stateFolder, 'images'), { recursive: true });
  writeFileSync(pulledFile(session, image), '');
}

/** What `docker image inspect` says of a pulled image, or null. */
export function describeImage(session: DockerSession, reference: string): object | null {
  const image = session.images.find((candidate) => candidate.digest === reference);
  const found = image ?? findImage(session.images, reference);
  if (found === null || !isPulled(session, found)) return null;
  return {
    Id: found.digest,
    RepoTags: found.tags.map((tag) => `${found.repository}:${tag}`),
    RepoDigests: [`${found.repository}@${found.digest}`],
    Architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    Os: 'linux',
    Config: {
      User: '',
      Env: Object.entries(found.env).map(([name, value]) => `${name}=${value}`),
      Cmd: found.command,
      Entrypoint: found.entrypoint,
      WorkingDir: found.workingDir,
    },
  };
}

/** `docker login [-u USER] [--password-stdin] [REGISTRY]`: stores what docker stores, asks nobody. */
export async function login(session: DockerSession, words: readonly string[]): Promise<string> {
  const flags = parseFlags(words, {
    values: ['username', 'password'],
    switches: ['password-stdin'],
    short: { u: 'username', p: 'password' },
    interspersed: true,
    usageExitCode: 125,
  });
  const fromStdin = flags.switches.has('password-stdin');
  const password = fromStdin
    ? (await text(process.stdin)).replace(/\r?\n$/, '')
    : lastValue(flags, 'password');
  const username = lastValue(flags, 'username');
  if (username === null || password === null || password === '') {
    throw new DockerError('Error: Cannot perform an interactive login from a non TTY device');
  }
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  changeAuths(session, (auths) => ({ ...auths, [registryName(flags.words[0])]: { auth } }));
  return 'Login Succeeded\n';
}

/** `docker logout [REGISTRY]`. */
export function logout(session: DockerSession, words: readonly string[]): string {
  const registry = registryName(words[0]);
  changeAuths(session, ({ [registry]: _removed, ...others }) => others);
  return `Removing login credentials for ${registry}\n`;
}

// As docker's client: a registry is stored by host and port, without scheme and path.
function registryName(word: string | undefined): string {
  return word?.replace(/^https?:\/\//, '').replace(/\/.*$/, '') ?? DOCKER_HUB;
}

type Auths = Readonly<Record<string, { readonly auth: string }>>;

function changeAuths(session: DockerSession, change: (auths: Auths) => Auths): void {
  const folder = session.env.DOCKER_CONFIG ?? join(session.env.HOME ?? homedir(), '.docker');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'config.json');
  const config: { auths?: Auths } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const changed = { ...config, auths: change(config.auths ?? {}) };
  writeFileSync(file, JSON.stringify(changed, null, '\t'), { mode: 0o600 });
}

function isPulled(session: DockerSession, image: SandboxImage): boolean {
  return existsSync(pulledFile(session, image));
}

function pulledFile(session: DockerSession, image: SandboxImage): string {
  return join(session.stateFolder, 'images', image.digest.replace('sha256:', ''));
}

/** The one plain word of a command line. Throws a DockerError when there are more or none. */
export function onlyWord(words: readonly string[], command: string): string {
  const [word, ...others] = words;
  if (word !== undefined && others.length === 0) return word;
  throw new DockerError(`"${command}" requires exactly 1 argument`);
}
