// Doctor against the whole local deployment, its functions running as processes.
import { expect, test } from 'vitest';
import { clientEnvironment } from '#scripts/local-cloud/deployment/client-lines.ts';
import { openInstallation } from '#scripts/local-cloud/deployment/installation.ts';
import { runMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

const LIMIT_MS = 120_000;

test(
  'P123, P126: nothing is wrong with the deployment that npm start lays out',
  async () => {
    const { env: environment } = process;
    await using installation = await openInstallation({
      ...{ port: 0, environment, objects: [], onLog: () => {} },
    });
    const ended = await runMayfly(['doctor'], {
      environment: clientEnvironment(installation.deployment),
    });
    expect(ended, ended.stdout).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^\d+ checks: \d+ ok, 0 fault, 0 warning, 0 unknown\n$/);
  },
  LIMIT_MS,
);
