// `mayfly local` in a process of its own, used as printed: the environment lines and the curl command.
import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

const run = promisify(execFile);
const LIMIT_MS = 240_000;

test(
  'mayfly local prints how to reach it, takes a request by the printed curl command, ends at Ctrl-C',
  async () => {
    const child = spawn(process.execPath, ['scripts/mayfly.ts', 'local', '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
    const commands: string[] = [];
    const { promise: up, resolve: isUp } = Promise.withResolvers<void>();
    createInterface({ input: child.stderr }).on('line', (line) => {
      commands.push(line.trim());
      if (line.includes('Ctrl-C ends everything')) isUp();
    });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    await Promise.race([up, exit]);
    try {
      const environment = JSON.parse(printed) as Record<string, string>;
      const curl = commands.find((line) => line.startsWith('curl') && line.includes(':publish'));
      const { stdout } = await run('sh', ['-c', curl ?? 'exit 9']);
      const [messageId] = JSON.parse(stdout).messageIds;
      // A request without an id is known by its message.
      const watched = await callMayfly(['watch', `run-${messageId}`, '--json'], { environment });
      expect(watched, watched.stderr).toMatchObject({ code: 0 });
      const result = JSON.parse(watched.stdout);
      expect(result).toMatchObject({ status: 'SUCCEEDED', exitCode: 0 });
      expect(result.log.tail).toContain(`"MAYFLY_RUN_ID":"run-${messageId}"`);
    } finally {
      child.kill('SIGINT');
    }
    expect(await exit).toBe(0);
    const { STORAGE_EMULATOR_HOST = '' } = JSON.parse(printed) as Record<string, string>;
    await expect(fetch(STORAGE_EMULATOR_HOST)).rejects.toThrow();
  },
  LIMIT_MS,
);
