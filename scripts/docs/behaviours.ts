// The page of behaviours: every test whose name begins with an id, as a table of id, claim and file.
import { execFile } from 'node:child_process';
import { join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const LIST_BYTES_MAX = 64 * 1024 * 1024;

export interface ListedTest {
  /** Titles of the suites around it and its own, joined by ` > `. */
  readonly name: string;
  /** Relative to the project, with forward slashes. */
  readonly file: string;
}

const listSchema = z.array(z.object({ name: z.string(), file: z.string() }));

/** All tests by name, from vitest's own listing: files are parsed, nothing runs. */
export async function listTests(): Promise<readonly ListedTest[]> {
  const { stdout } = await run(
    process.execPath,
    [join('node_modules', 'vitest', 'vitest.mjs'), 'list', '--json'],
    { maxBuffer: LIST_BYTES_MAX },
  );
  return listSchema
    .parse(JSON.parse(stdout.slice(stdout.indexOf('['))))
    .map(({ name, file }) => ({ name, file: relative('.', file).split(sep).join('/') }));
}

interface Behaviour {
  readonly letter: string;
  readonly number: number;
  readonly claim: string;
  readonly file: string;
}

const LISTS: Readonly<Record<string, string>> = {
  A: 'One run on one machine',
  B: 'GPU machines and their boot',
  C: 'Cloud Run Jobs',
  D: 'Known defects of earlier systems, not repeated',
  E: 'The protocol, by trace',
  P: 'Public cases: bugs that others have met',
};

/** The page as text; equal tests give equal bytes, whatever their order. */
export function behavioursPage(tests: readonly ListedTest[]): string {
  const behaviours = tests
    .map(readBehaviour)
    .filter((behaviour) => behaviour !== null)
    .toSorted(compareBehaviours);
  const sections = Object.entries(LISTS).flatMap(([letter, title]) => {
    const rows = behaviours.filter((behaviour) => behaviour.letter === letter).map(formatRow);
    if (rows.length === 0) return [];
    return [
      `## ${title}`,
      '',
      '| id | claim | test |',
      '| --- | --- | --- |',
      ...new Set(rows),
      '',
    ];
  });
  return [
    '# Behaviours',
    '',
    'What Mayfly does and does not do, each held by a test whose name begins with the id. This page is',
    'made from the names of the tests by `npm run docs`, and a test holds it to them.',
    '',
    ...sections,
  ].join('\n');
}

function readBehaviour(test: ListedTest): Behaviour | null {
  const match = /(?:^| > )([ABCDEP])(\d+): (.+)$/.exec(test.name);
  const [, letter, number, claim] = match ?? [];
  if (letter === undefined || number === undefined || claim === undefined) return null;
  return { letter, number: Number(number), claim, file: test.file };
}

/** By id, then claim, then file, each by code point, so that no locale changes the page. */
function compareBehaviours(a: Behaviour, b: Behaviour): number {
  return (
    compareText(a.letter, b.letter) ||
    a.number - b.number ||
    compareText(a.claim, b.claim) ||
    compareText(a.file, b.file)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function formatRow({ letter, number, claim, file }: Behaviour): string {
  const text = claim.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('<', '&lt;');
  return `| ${letter}${number} | ${text} | \`${file}\` |`;
}
