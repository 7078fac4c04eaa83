// The host itself killed without a chance to tidy up: its machines' processes end all the same.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { endProcesses, findProcesses } from '#scripts/local-cloud/sandbox/processes.ts';
import { eventually, namespacesMissing } from '#test/local-cloud/host/host-fixture.ts';

const HOST = `
  import { ProcessMachineHost } from '#scripts/local-cloud/host/process-host.ts';
  const [folder, isolation] = process.argv.slice(1);
  const host = new ProcessMachineHost(
    { folder, isolation, cloudPort: () => 9, failed: console.error, env: process.env, engine: null },
    () => {},
  );
  await host.start({
    ...{ id: '1', name: 'm', zone: 'z', project: 'p', boot: 1, principal: null },
    metadataHost: '127.0.0.1:9',
    metadata: { 'startup-script': 'setsid sleep 1005 & (sleep 1006 &); echo up; sleep 1007' },
  });
  while (!host.console('1').includes('up')) await new Promise((resolve) => setTimeout(resolve, 10));
  console.log(host.mark);
  setInterval(() => {}, 1000);
`;

describe.each([
  { isolation: 'namespace', missing: namespacesMissing() },
  { isolation: 'process', missing: null },
] as const)('a host that is killed', ({ isolation, missing }) => {
  test.skipIf(missing !== null)(`leaves no process (isolation: ${isolation})`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mayfly-killed-'));
    const words = ['--input-type=module', '--eval', HOST, folder, isolation];
    const host = spawn(process.execPath, words, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: folder },
    });
    for await (const mark of createInterface({ input: host.stdout })) {
      const running = () => findProcesses({ marks: [mark], groups: [] });
      onTestFinished(async () => void (await endProcesses({ marks: [mark], groups: [] })));
      expect(running().length).toBeGreaterThanOrEqual(3);
      host.kill('SIGKILL');
      await eventually(() => running().length === 0);
      // Process 1 of a namespace has no mark; its words name a file of the folder.
      await eventually(() => !commandLines().includes(folder));
      break;
    }
    rmSync(folder, { recursive: true, force: true });
  });
});

function commandLines(): string {
  return execFileSync('ps', ['-axww', '-o', 'command='], { encoding: 'utf8' });
}
