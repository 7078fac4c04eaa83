// What a machine asks of Google beside its bucket, in a whole local deployment: secrets at boot, its
// container's full output to Cloud Logging, its boot's guest attributes.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientEnvironment } from '#scripts/local-cloud/deployment/client-lines.ts';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

const LIMIT_MS = 240_000;
const SECRETS = 'projects/local-project/secrets';
const SECRET = 'not for every eye';

let installation: Installation;
beforeAll(async () => {
  const { env: environment } = process;
  installation = await openInstallation({
    port: 0,
    environment,
    objects: [],
    secrets: { token: SECRET },
    onLog: () => {},
  });
}, LIMIT_MS);
afterAll(() => installation[Symbol.asyncDispose](), LIMIT_MS);

async function run(request: object) {
  const base = { image: 'mayfly.local/examples/echo-args:1', resources: { cpus: 2, memoryGiB: 4 } };
  const ended = await callMayfly(['submit', '-', '--wait', '--json'], {
    environment: clientEnvironment(installation.deployment),
    stdin: JSON.stringify({ ...base, ...request }),
  });
  return { ...ended, result: ended.stdout === '' ? null : JSON.parse(ended.stdout) };
}

test(
  'a secret reaches the container, its output reaches the log of the run, and neither the metadata nor the log hold it',
  async () => {
    const { cloud } = installation;
    const program = 'for (const n of [1, 2, 3]) console.log("line", n, process.env.TOKEN.length)';
    const { code, result, stderr } = await run({
      runId: 'with-secret',
      command: ['node', '-e', program],
      secrets: { TOKEN: `${SECRETS}/token/versions/1` },
    });
    expect(code, stderr).toBe(0);
    expect(result.log.query).toContain('labels.run_id="with-secret"');
    const reply = cloud.call(
      'logging.entries.list',
      {},
      {
        resourceNames: ['projects/local-project'],
        filter: result.log.query,
      },
    );
    const { entries } = reply.body as { entries: { textPayload: string; insertId: string }[] };
    expect(entries.map(({ textPayload }) => textPayload)).toEqual([
      `line 1 ${SECRET.length}`,
      `line 2 ${SECRET.length}`,
      `line 3 ${SECRET.length}`,
    ]);
    expect(JSON.stringify(cloud.world.logging.entries)).not.toContain(SECRET);
    const bucket = cloud.world.storage.buckets.get('local-bucket');
    for (const [name, object] of bucket?.objects ?? []) {
      expect(Buffer.from(object.bytes).toString(), name).not.toContain(SECRET);
    }
  },
  LIMIT_MS,
);

test(
  'a secret that is not there fails the run at its step, for good, and is named',
  async () => {
    const { code, result, stderr } = await run({
      runId: 'without-secret',
      secrets: { TOKEN: `${SECRETS}/nowhere/versions/1` },
      retry: { infrastructure: 2 },
    });
    expect(code, stderr).toBe(70);
    expect(result).toMatchObject({ status: 'FAILED', cause: 'step-failed', step: 'credentials' });
    expect(result.attempts).toHaveLength(1);
    expect(result.detail).toContain('nowhere');
  },
  LIMIT_MS,
);
