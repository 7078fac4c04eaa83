// The deployable functions as they run in the cloud: each a process of its own under functions/server.ts,
// with its settings in the environment and its account from the metadata server.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { FUNCTION_NAMES, type FunctionName } from '#scripts/local-cloud/deployment/inventory.ts';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

export interface FunctionProcesses extends AsyncDisposable {
  readonly urls: Readonly<Record<FunctionName, string>>;
}

export interface FunctionOptions {
  /** The whole environment of a function. */
  readonly environmentOf: (name: FunctionName) => Readonly<Record<string, string | undefined>>;
  /** Each line that a function logs: one JSON object, as Cloud Logging takes it. */
  readonly onLog: (name: FunctionName, line: string) => void;
}

interface Started {
  readonly name: FunctionName;
  readonly child: ChildProcess;
  readonly url: string;
}

/** Starts all functions at once; when one does not start, none is left running. */
export async function startFunctions(options: FunctionOptions): Promise<FunctionProcesses> {
  const children = new Map<FunctionName, ChildProcess>();
  try {
    const started = await Promise.all(
      FUNCTION_NAMES.map((name) => startFunction(name, options, children)),
    );
    const urls = Object.fromEntries(started.map(({ name, url }) => [name, url]));
    return {
      urls: urls as Record<FunctionName, string>,
      [Symbol.asyncDispose]: () => stopAll([...children.values()]),
    };
  } catch (error) {
    await stopAll([...children.values()]);
    throw error;
  }
}

async function startFunction(
  name: FunctionName,
  options: FunctionOptions,
  children: Map<FunctionName, ChildProcess>,
): Promise<Started> {
  const environment = options.environmentOf(name);
  const child = spawn(process.execPath, ['functions/server.ts'], {
    cwd: new URL('../../../', import.meta.url),
    env: { ...environment, FUNCTION_TARGET: name, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.set(name, child);
  const lines = createInterface({ input: child.stdout });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  lines.on('line', (line) => {
    const port = portOf(line);
    if (port !== null) resolve(`http://127.0.0.1:${port}`);
    options.onLog(name, line);
  });
  child.once('error', reject);
  child.once('exit', (code) => reject(new Error(`the function ${name} ended with code ${code}`)));
  const timer = setTimeout(
    () => reject(new Error(`the function ${name} did not start within ${START_TIMEOUT_MS} ms`)),
    START_TIMEOUT_MS,
  );
  try {
    return { name, child, url: await promise };
  } finally {
    clearTimeout(timer);
  }
}

/** The port that the server's own log line tells; null for any other line. */
function portOf(line: string): string | null {
  if (!line.includes('"server-started"')) return null;
  return /listens on port (\d+)/.exec(line)?.[1] ?? null;
}

/** TERM lets running requests end; whoever is still there after that is killed. */
async function stopAll(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
      const ended = once(child, 'exit');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(timer);
    }),
  );
}
