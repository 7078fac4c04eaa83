// `docker run`: makes the container's folder, starts its supervisor, and in the foreground passes
// output, signals and the exit code through.
import { spawn } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitForEnd } from '#scripts/local-cloud/sandbox/container-commands.ts';
import { layOutRoot, sandboxEnv } from '#scripts/local-cloud/sandbox/container-files.ts';
import {
  type Container,
  containerLog,
  containerRoot,
} from '#scripts/local-cloud/sandbox/containers.ts';
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';
import { rememberPull, requireImage } from '#scripts/local-cloud/sandbox/image-commands.ts';
import type { SandboxImage } from '#scripts/local-cloud/sandbox/images.ts';
import { followLog } from '#scripts/local-cloud/sandbox/log-follower.ts';
import { signalProcess } from '#scripts/local-cloud/sandbox/processes.ts';
import { parseRunOptions, type RunOptions } from '#scripts/local-cloud/sandbox/run-options.ts';
import type { DockerSession } from '#scripts/local-cloud/sandbox/session.ts';

const SUPERVISOR = join(import.meta.dirname, 'supervisor.ts');

/** Runs a container and returns the exit code of `docker run`. */
export async function run(session: DockerSession, words: readonly string[]): Promise<number> {
  const options = parseRunOptions(words, session.env);
  const image = requireImage(session, options.image, 125);
  rememberPull(session, image);
  const container = createContainer(session, options, image);
  await startSupervisor(session, container);
  const started = session.store.find(container.config.id) ?? container;
  if (started.state.error !== '') {
    if (options.remove) session.store.remove(started);
    const message = `Error response from daemon: ${started.state.error}`;
    throw new DockerError(message, started.state.exitCode);
  }
  if (options.detach) {
    process.stdout.write(`${container.config.id}\n`);
    return 0;
  }
  const exitCode = await attach(session, started);
  if (options.remove) session.store.remove(started);
  return exitCode;
}

function createContainer(
  session: DockerSession,
  options: RunOptions,
  image: SandboxImage,
): Container {
  const workingDir = options.workingDir ?? image.workingDir;
  const entrypoint = options.entrypoint === null ? image.entrypoint : [options.entrypoint];
  // As dockerd: another entrypoint drops the image's command, and arguments replace it.
  const command = options.entrypoint === null ? image.command : [];
  const created = session.store.create(
    {
      image: options.image,
      imageDigest: image.digest,
      argv: [...entrypoint, ...(options.args.length > 0 ? options.args : command)],
      env: { ...image.env, ...options.env },
      workingDir,
      labels: options.labels,
      stopSignal: options.stopSignal,
      stopTimeoutSeconds: options.stopTimeoutSeconds,
    },
    options.name,
  );
  const root = containerRoot(created.folder);
  try {
    layOutRoot(root, image, { mounts: options.mounts, workingDir });
  } catch (error) {
    session.store.remove(created);
    throw error;
  }
  const env = { ...sandboxEnv(root, created.config.id, session.nodeFolder), ...created.config.env };
  writeFileSync(
    join(created.folder, 'config.json'),
    JSON.stringify({ ...created.config, env, workingDir }),
  );
  if (options.cidFile !== null) writeFileSync(options.cidFile, created.config.id);
  return created;
}

/** Resolves when the container's process runs or could not be started. */
async function startSupervisor(session: DockerSession, container: Container): Promise<void> {
  // Nothing of the caller's: who reads this command's stderr to its end must not wait for the container.
  const errors = openSync(join(container.folder, 'supervisor.log'), 'a');
  const supervisor = spawn(process.execPath, [SUPERVISOR, container.folder, session.bootId], {
    detached: true,
    stdio: ['ignore', 'pipe', errors],
    env: { ...session.env },
  });
  closeSync(errors);
  const { stdout } = supervisor;
  if (stdout === null) throw new Error('the supervisor was started without a pipe');
  await new Promise<void>((resolve, reject) => {
    stdout.once('data', () => resolve());
    supervisor.once('error', reject);
    supervisor.once('exit', (code) => {
      reject(new DockerError(`the container's supervisor ended with ${code} at once`, 125));
    });
  });
  stdout.destroy();
  supervisor.unref();
}

async function attach(session: DockerSession, container: Container): Promise<number> {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) {
    process.on(signal, () => signalProcess(container.state.pid, signal));
  }
  const hasEnded = () => session.store.find(container.config.id)?.state.status !== 'running';
  await followLog(containerLog(container.folder), hasEnded, ({ stream, bytes }) => {
    (stream === 1 ? process.stdout : process.stderr).write(bytes);
  });
  return await waitForEnd(session, container.config.id);
}
