// The page of every verb is what the command says on the local cloud, the same each time.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { transcriptPage } from '#scripts/docs/transcript.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

/** It bundles the functions, and asks for every permission three times. */
const LIMIT_MS = 240_000;

test(
  'docs/commands.md is what the command says, and says the same twice',
  async () => {
    const page = await transcriptPage();
    expect(await readFile('docs/commands.md', 'utf8')).toBe(page);
    expect(await transcriptPage()).toBe(page);
  },
  LIMIT_MS,
);

test('every verb of the help text is walked, and all but local do what they are for', async () => {
  const page = await readFile('docs/commands.md', 'utf8');
  const help = (await callMayfly(['help'])).stdout;
  const verbs = [...help.matchAll(/^ {2}([a-z]+)(?: \S+)* {2,}/gm)].map(([, verb]) => verb);
  expect(verbs.length).toBeGreaterThanOrEqual(13);
  const called = [...page.matchAll(/^\$ mayfly ([a-z]+)(?! --help)\b(.*)$/gm)];
  const walked = new Set(called.filter(([, , more]) => more !== ' --help').map(([, verb]) => verb));
  expect(verbs.filter((verb) => !walked.has(verb))).toEqual(['local']);
});

test.each([
  { name: 'a run that ends well', words: 'submit --run-id second', says: 'SUCCEEDED', code: 0 },
  { name: 'the container’s own code', words: 'submit --run-id broken', says: 'FAILED', code: 3 },
  { name: 'no capacity', words: 'submit big.json', says: 'RESOURCE_POOL_EXHAUSTED', code: 75 },
  { name: 'cancelled', words: 'watch long', says: 'cancelled: not needed', code: 73 },
  { name: 'rejected', words: 'submit --run-id week', says: 'TTL_SECONDS_MAX', code: 76 },
  { name: 'Ctrl-C', words: 'watch first', says: 'cancel it:', code: 130 },
  { name: 'wrong usage', words: 'lst', says: 'there is no verb', code: 2 },
  { name: 'a wrong request', words: 'submit --run-id wrong', says: 'nothing was sent', code: 2 },
  { name: 'a refusal', words: 'submit --run-id first', says: 'answered 403', code: 3 },
  { name: 'nothing found', words: 'show no-such-run', says: 'nothing is known', code: 4 },
])('the page shows $name with its exit code', async ({ words, says, code }) => {
  const page = await readFile('docs/commands.md', 'utf8');
  const [, ...blocks] = page.split(`$ mayfly ${words}`).map((text) => text.split('```')[0] ?? '');
  const ends = blocks.map((text) => ({
    said: text.includes(says),
    code: Number(/^\$\? = (\d+)$/m.exec(text)?.[1] ?? 0),
  }));
  expect(ends).toContainEqual({ said: true, code });
});

test('doctor has nothing to say of a right set-up, and the fix of each planted fault', async () => {
  const page = await readFile('docs/commands.md', 'utf8');
  const told = page.split('$ mayfly doctor\n').slice(1);
  const [right, paused, taken] = told.map((text) => text.split('```')[0] ?? '');
  expect(right).toMatch(/^(\d+) checks: \1 ok, 0 fault, 0 warning, 0 unknown\n$/);
  expect(paused).toContain('  fix: mayfly sweep --resume\n');
  expect(taken).toContain('fault: permission submit: compute.instances.create');
});
