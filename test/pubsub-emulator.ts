// Google's Pub/Sub emulator, where one is installed beside gcloud with Java to run it: found, started on a
// free port, ended by its own process id.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { expect, vi } from 'vitest';
import { isRequired } from '#test/required.ts';

const CAPABILITY = 'pubsub-emulator';
const JAVA_OPTIONS = ['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-jar'];
const READY = { timeout: 50_000, interval: 100 };
const jar = findJar();

/** Whether tests of the emulator are to be skipped; one that is required and is not there is a failure. */
export const emulatorMissing = jar === null && !isRequired(CAPABILITY);
export const emulatorSuffix = emulatorMissing
  ? ' (skipped: no Pub/Sub emulator with Java on this machine)'
  : '';

export interface PubsubEmulator extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
}

export async function startEmulator(): Promise<PubsubEmulator> {
  if (jar === null) throw new Error(`MAYFLY_TEST_REQUIRE names ${CAPABILITY}, and there is none`);
  const port = await freePort();
  const host = `127.0.0.1:${port}`;
  const words = [...JAVA_OPTIONS, jar, '--host=127.0.0.1', `--port=${port}`];
  const child = spawn('java', words, { stdio: 'ignore' });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  try {
    await vi.waitFor(async () => expect(await isReady(host)).toBe(true), READY);
  } catch (error) {
    await stop();
    throw error;
  }
  return { host, [Symbol.asyncDispose]: stop };
}

function findOnPath(program: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
  return found === undefined ? null : realpathSync(found);
}

function findJar(): string | null {
  const gcloud = findOnPath('gcloud');
  if (gcloud === null || findOnPath('java') === null) return null;
  const library = join(dirname(dirname(gcloud)), 'platform/pubsub-emulator/lib');
  return globSync(join(library, 'cloud-pubsub-emulator-*-all.jar'))[0] ?? null;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function isReady(host: string): Promise<boolean> {
  return fetch(`http://${host}/`).then(
    ({ ok }) => ok,
    () => false,
  );
}
