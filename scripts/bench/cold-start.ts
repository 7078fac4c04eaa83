// The unpacked bundle as a process: how it is prepared, started, asked and ended, timed from the moment
// before Node is started.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { bundleFunctions } from '#scripts/deploy/bundle.ts';
import {
  LOCAL_AUDIENCE,
  localAccount,
  localEnvironment,
} from '#scripts/local-cloud/deployment/environment.ts';

export type Environment = Readonly<Record<string, string>>;

export const FUNCTION_PROGRAM = 'framework/start.js';

const SERVER = `const server = createServer((_, response) => response.writeHead(404).end());
server.listen(0, () => console.log(JSON.stringify({ message: \`port \${server.address().port}\` })));
`;

/** What a function is measured against; the second reads no more of node:http than it uses. */
export const BARE_SERVERS = {
  'bare.mjs': `import { createServer } from 'node:http';\n${SERVER}`,
  'bare.cjs': `const { createServer } = require('node:http');\n${SERVER}`,
} as const;

/** As on the platform: unpacked, then the buildpack's own hook fills the compile cache. */
export async function prepareBundle() {
  const path = await mkdtemp(join(tmpdir(), 'mayfly-cold-'));
  const { files, zip } = await bundleFunctions();
  for (const [name, text] of [...files, ...Object.entries(BARE_SERVERS)]) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  await chmod(join(path, FUNCTION_PROGRAM), 0o755);
  const { status } = spawnSync(process.execPath, [FUNCTION_PROGRAM, '--fill-cache'], {
    cwd: path,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`the compile cache was not filled: ${status}`);
  return {
    path,
    zipBytes: zip.byteLength,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}

/** The settings of a private service: the platform has checked the token and taken its signature. */
export function functionEnvironment(name: string, baseUrl?: string): Environment {
  const own = { MAYFLY_PUSH_MODE: 'platform', FUNCTION_TARGET: name, PORT: '0' };
  return { ...localEnvironment(baseUrl), ...own };
}

/** Starts a program of the folder; it has said on which port it listens. */
export async function startProgram(folder: string, program: string, environment: Environment) {
  const atMs = performance.now();
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: { NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
    const port = /port (\d+)/.exec(line)?.[1];
    if (port !== undefined) resolve(port);
  });
  const exited = once(child, 'exit');
  exited.then(([code]) => reject(new Error(`${program} ended with ${code}`)), reject);
  const url = `http://127.0.0.1:${await promise}`;
  const listensMs = performance.now() - atMs;
  return {
    listensMs,
    /** The time since the start when it had answered; throws with its log on another status. */
    async ask(path: string, body: string, wanted: readonly number[]): Promise<number> {
      const { status } = await fetch(`${url}${path}`, { method: 'POST', headers: HEADERS, body });
      if (!wanted.includes(status)) {
        throw new Error(`${program} answered ${status}, not ${wanted}:\n${lines.join('\n')}`);
      }
      return performance.now() - atMs;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

const HEADERS = { authorization: `Bearer ${platformToken()}`, 'content-type': 'application/json' };

function platformToken(): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1000);
  const who = { sub: '1', email: localAccount('push'), email_verified: true };
  const claims = { iss: 'https://accounts.google.com', aud: LOCAL_AUDIENCE, ...who };
  const payload = encode({ ...claims, iat, exp: iat + 3600 });
  return `${encode({ alg: 'RS256', kid: '1' })}.${payload}.SIGNATURE_REMOVED_BY_GOOGLE`;
}
