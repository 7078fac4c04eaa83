// The page of every verb is what the command says on the local cloud, the same each time.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { transcriptPage } from '#scripts/docs/transcript.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

test('docs/commands.md is what the command says, and says the same twice', async () => {
  const page = await transcriptPage();
  expect(await readFile('docs/commands.md', 'utf8')).toBe(page);
  expect(await transcriptPage()).toBe(page);
});

test('every verb of the help text is walked, and runs reach their ends', async () => {
  const page = await readFile('docs/commands.md', 'utf8');
  const help = (await callMayfly(['help'])).stdout;
  const verbs = [...help.matchAll(/^ {2}([a-z]+)(?: \S+)* {2,}/gm)].map(([, verb]) => verb);
  expect(verbs.length).toBeGreaterThanOrEqual(13);
  for (const verb of verbs) expect(page, verb).toContain(`$ mayfly ${verb}`);
  for (const said of ['SUCCEEDED', 'CANCELLED', 'mayfly.dev', '$? = 2', '$? = 4', '|####']) {
    expect(page, said).toContain(said.replace('mayfly.dev', 'second'));
  }
});
