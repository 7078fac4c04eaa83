// Ctrl-C while Terraform applies, sent as a terminal sends it: to the whole process group, and twice, as
// through npm. A program in Terraform's place counts what reaches it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

/** At apply it tells the test of each signal, and ends when it is told to, with much to say. */
const PROGRAM = `
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
const [, verb, ...rest] = process.argv.slice(2);
if (verb === 'plan') writeFileSync(rest.find((word) => word.startsWith('-out=')).slice(5), '');
if (verb === 'show') console.log('{}');
if (verb === 'apply') {
  let count = 0;
  const socket = connect(process.env.SOCKET, () => socket.write('applying '));
  process.on('SIGINT', () => { count += 1; socket.write('interrupted '); });
  socket.once('data', () => {
    console.log('x'.repeat(1 << 20));
    writeFileSync(process.env.STATE, String(count));
    socket.end();
    process.exitCode = 1;
  });
}
`;

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s twice during an apply: Terraform is interrupted once, writes its state, and is waited for',
  async (signal) => {
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-deploy-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await cp('terraform/variables.tf', join(folder, 'variables.tf'));
    await writeFile(join(folder, 'terraform.mjs'), PROGRAM);
    const server = createServer().listen(join(folder, 'socket'));
    onTestFinished(() => void server.close());
    const words = ['--project', 'my-project', '--region', 'europe-west1', '--dir', folder, '--yes'];
    const child = spawn(process.execPath, ['scripts/mayfly.ts', 'deploy', ...words], {
      env: {
        ...{ PATH: process.env.PATH ?? '', HOME: folder, MAYFLY_CALLER_DIR: folder },
        MAYFLY_TERRAFORM: `${process.execPath} ${join(folder, 'terraform.mjs')}`,
        ...{ SOCKET: join(folder, 'socket'), STATE: join(folder, 'state') },
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    const group = -(child.pid ?? 0);
    const ended = once(child, 'close');
    const stderr = text(child.stderr);
    const [socket] = (await once(server, 'connection')) as [Socket];
    await once(socket, 'data');
    process.kill(group, signal);
    await once(socket, 'data');
    process.kill(group, signal);
    socket.write('end');
    expect((await ended)[0]).toBe(130);
    expect(await stderr).toContain('Terraform ended what it had begun and wrote its state');
    expect(await readFile(join(folder, 'state'), 'utf8')).toBe('1');
  },
  120_000,
);
