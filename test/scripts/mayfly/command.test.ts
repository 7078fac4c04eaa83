// What holds for every verb: errors as data with --json, and nothing that moves where no terminal is.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { callMayfly, runMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf } from '#test/scripts/mayfly/stored-run.ts';

const REQUEST = ['--image', 'alpine:3.20', '--ttl', '1s'];

test.each([
  { name: 'no such verb', words: ['lst'], code: 2, data: {} },
  { name: 'a word that every object has', words: ['constructor'], code: 2, data: {} },
  { name: 'an operand too few', words: ['show'], code: 2, data: {} },
  { name: 'words after --', words: ['list', '--', 'x'], code: 2, data: {} },
  { name: 'no such flag', words: ['list', '--sinse', '2h'], code: 2, data: {} },
  { name: 'no such run', words: ['show', 'nobody'], code: 4, data: {} },
  {
    name: 'no such bucket',
    words: ['list', '--bucket', 'elsewhere'],
    code: 3,
    data: { reason: 'bucket-missing' },
  },
  {
    name: 'no such bucket, and no end to wait for',
    words: ['watch', 'r', '--bucket', 'elsewhere'],
    code: 3,
    data: { reason: 'bucket-missing' },
  },
  {
    name: 'a request that breaks a rule',
    words: ['submit', ...REQUEST],
    code: 2,
    data: { errors: [expect.objectContaining({ field: 'ttlSeconds', value: '1' })] },
  },
  {
    name: 'a plan that breaks a rule',
    words: ['plan', ...REQUEST],
    code: 2,
    data: { errors: [expect.objectContaining({ field: 'ttlSeconds', value: '1' })] },
  },
])('with --json an error is one JSON value beside its words: $name', async (row) => {
  await using cloud = await startLocalCloud();
  const options = { environment: environmentOf(cloud) };
  const plain = await callMayfly(row.words, options);
  expect(plain).toMatchObject({ code: row.code, stdout: '' });
  const [before, after] = splitAtRest(row.words);
  const json = await callMayfly([...before, '--json', ...after], options);
  expect(json).toMatchObject({ code: row.code, stderr: plain.stderr });
  const { error, ...data } = JSON.parse(json.stdout);
  expect(plain.stderr).toBe(`mayfly: ${error}\n`);
  expect(data).toEqual({ exitCode: row.code, ...row.data });
  if ('reason' in row.data) expect(error).toContain('is it deployed there?');
});

test.each([
  { name: 'data', words: ['help'], code: 0, stderr: '' },
  {
    name: 'an error',
    words: ['list', '--json', '--limit', '0'],
    code: 2,
    stderr: /^mayfly: --limit .*\n$/,
  },
])('who reads no further, as `| head`, ends the command quietly: $name', async (row) => {
  const child = spawn(process.execPath, ['scripts/mayfly.ts', ...row.words], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stderr, code] = await Promise.all([text(child.stderr), ended]);
  expect({ stderr, code }).toEqual({
    code: row.code,
    stderr: expect.stringMatching(row.stderr || /^$/),
  });
});

function splitAtRest(words: readonly string[]) {
  const rest = words.includes('--') ? words.indexOf('--') : words.length;
  return [words.slice(0, rest), words.slice(rest)] as const;
}

test('--json after -- is the container’s', async () => {
  const { code, stdout } = await callMayfly(['submit', '--ttl', 'soon', '--', '--json']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});

test('off a terminal nothing moves, and --quiet leaves data and errors alone', async () => {
  await using cloud = await startLocalCloud();
  const environment = environmentOf(cloud);
  const report = await runMayfly(['report'], { environment });
  expect(report).toMatchObject({ code: 0, stderr: '' });
  expect(report.stdout).toMatch(/^since /);
  const noted = await runMayfly(['list'], { environment });
  expect(noted).toMatchObject({
    code: 0,
    stdout: '',
    stderr:
      'nothing; --since 7d looks further back\nrefused requests and dead letters: mayfly list --dead\n',
  });
  expect(await runMayfly(['list', '--quiet'], { environment })).toMatchObject({
    code: 0,
    stderr: '',
  });
  const wrong = await runMayfly(['show', 'nobody', '--quiet'], { environment });
  expect(wrong).toMatchObject({ code: 4, stdout: '' });
  expect(wrong.stderr).toMatch(/^mayfly: nothing is known of a run nobody/);
});
