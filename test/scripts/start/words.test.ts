// The words after `npm start --`: help, and refusals that name the word.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

function start(...words: readonly string[]) {
  const ended = spawnSync(process.execPath, ['scripts/start.ts', ...words], { encoding: 'utf8' });
  return { code: ended.status, out: ended.stdout, error: ended.stderr };
}

test('--help says what it does and what the words mean, and starts nothing', () => {
  for (const words of [['--help'], ['request.json', '--help']]) {
    const { code, out, error } = start(...words);
    expect({ code, error }).toEqual({ code: 0, error: '' });
    for (const word of ['usage: npm start', 'FILE', '--keep', '--help'])
      expect(out).toContain(word);
  }
});

test.each([
  { words: ['--kep'], said: 'unknown flag --kep; known here: --keep --help' },
  { words: ['-h'], said: 'unknown flag -h; known here: --keep --help' },
  { words: ['one.json', 'two.json'], said: 'one FILE at most, not two.json too' },
  { words: ['there-is-no.json'], said: 'there-is-no.json cannot be read' },
])('$words is refused in words of our own, with the way to write it', ({ words, said }) => {
  const { code, out, error } = start(...words);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(error).toContain(said);
  expect(error).not.toMatch(/positional|ERR_|^\s+at /m);
});
