// The page of behaviours: every test whose name begins with an id, as a table of id, claim and file.
import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';

export interface NamedTest {
  /** Its own title, as it stands in the file: of a table, with the placeholders. */
  readonly name: string;
  /** Relative to the project, with forward slashes. */
  readonly file: string;
}

/** A title is the first argument of a call, whatever the call: `test`, `it`, a table's, a suite's. */
const TITLE = /\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;
const ID = /^[ABCDEP]\d+(?:, [ABCDEP]\d+)*: /;

/**
 * All tests with an id, read from the sources and not from a run: quick, and shared suites that several
 * files call stand where they are written.
 */
export async function readNamedTests(folder = 'test'): Promise<readonly NamedTest[]> {
  const entries = await readdir(folder, { recursive: true });
  const files = entries.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name));
  const found = files.map(async (path) => {
    const file = path.split(sep).join('/');
    return namesIn(await readFile(path, 'utf8')).map((name) => ({ name, file }));
  });
  return (await Promise.all(found)).flat();
}

/** Titles that begin with an id; what stands in a line of comment does not count. */
export function namesIn(source: string): readonly string[] {
  const code = source.replaceAll(/^\s*\/\/.*$/gm, '');
  return [...code.matchAll(TITLE)]
    .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    .filter((title) => ID.test(title))
    .map((title) => title.replaceAll(/\\(['"`\\])/g, '$1'));
}

interface Behaviour {
  /** As the name of the test has it. */
  readonly id: string;
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
export function behavioursPage(tests: readonly NamedTest[]): string {
  const behaviours = tests.flatMap(readBehaviours).toSorted(compareBehaviours);
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

/** One for each of the ids that stand before the claim. */
function readBehaviours({ name, file }: NamedTest): Behaviour[] {
  const [ids = ''] = ID.exec(name) ?? [];
  const claim = name.slice(ids.length);
  return [...ids.matchAll(/([ABCDEP])(\d+)/g)].map(([id, letter = '', number]) => ({
    id,
    letter,
    number: Number(number),
    claim,
    file,
  }));
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

/** What a table puts at the end of its tests' titles says nothing without the table. */
const PLACEHOLDER_AT_END = /:? ?(?:\$\w+|%[sdj]|\$\{\w+\})$/;

function formatRow({ id, claim, file }: Behaviour): string {
  const text = claim
    .replace(PLACEHOLDER_AT_END, '')
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;');
  return `| ${id} | ${text} | \`${file}\` |`;
}
