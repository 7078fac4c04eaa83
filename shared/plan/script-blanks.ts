// Fills the blanks of a guest script: the block of default assignments between two marker lines is
// replaced by the values, quoted for bash so that every byte arrives and nothing of it is run.

export type BlankValue = string | readonly string[];
export type BlankValues = Readonly<Record<string, BlankValue>>;

const BEGIN = '# --- blanks: planning fills these in ---\n';
export const BLANKS_END = '# --- end of blanks ---\n';
const SCRIPTS_CACHED_MAX = 16;

interface ScriptHalves {
  readonly before: string;
  readonly names: readonly string[];
  readonly after: string;
}

/** Constant script texts alone: nothing of a request is kept. */
const halvesOfScript = new Map<string, ScriptHalves>();

/**
 * The script with its blanks filled in; a list becomes a bash array. Throws when the names in `values` are
 * not those of the script's block.
 */
export function fillBlanks(script: string, values: BlankValues): string {
  const { before, names, after } = splitScript(script);
  let block = '';
  for (const name of names) {
    const value = values[name];
    if (value === undefined) throw wrongNames(names, values);
    block += `${name}=${typeof value === 'string' ? quote(value) : quoteList(value)}\n`;
  }
  if (Object.keys(values).length !== names.length) throw wrongNames(names, values);
  return before + block + after;
}

function splitScript(script: string): ScriptHalves {
  const known = halvesOfScript.get(script);
  if (known !== undefined) return known;
  const begin = script.indexOf(BEGIN) + BEGIN.length;
  const end = script.indexOf(BLANKS_END);
  if (begin < BEGIN.length || end < begin) throw new Error('a guest script has no block of blanks');
  const names = script
    .slice(begin, end)
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(0, line.indexOf('=')));
  const halves = { before: script.slice(0, begin), names, after: script.slice(end) };
  if (halvesOfScript.size >= SCRIPTS_CACHED_MAX) halvesOfScript.clear();
  halvesOfScript.set(script, halves);
  return halves;
}

/** Inside single quotes bash reads every byte as it is; only the quote itself must stand outside. */
const quote = (text: string) =>
  text.includes("'") ? `'${text.replaceAll("'", "'\\''")}'` : `'${text}'`;

const quoteList = (texts: readonly string[]) => `(${texts.map(quote).join(' ')})`;

function wrongNames(names: readonly string[], values: BlankValues): Error {
  const missing = names.filter((name) => values[name] === undefined);
  const unknown = Object.keys(values).filter((name) => !names.includes(name));
  return new Error(
    `the script's blanks and the values differ: no value for [${missing}], no blank for [${unknown}]`,
  );
}
