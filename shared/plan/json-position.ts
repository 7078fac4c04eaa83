// Where a text stops being JSON (RFC 8259): engines word their errors as they please and often give
// no position, and a person who lost quotes to a shell needs one.

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\n\r]*/y;

/** The index of the first character that no JSON text could have there, or the text's length. */
export function firstNonJson(text: string): number {
  const scan = { text, at: 0, closers: [] as ('}' | ']')[] };
  if (!value(scan)) return scan.at;
  while (scan.closers.length > 0) if (!afterValue(scan)) return scan.at;
  skip(scan, SPACE);
  return scan.at;
}

interface Scan {
  readonly text: string;
  at: number;
  readonly closers: ('}' | ']')[];
}

/** Reads a scalar, or opens arrays and objects down to the first scalar or empty one. */
function value(scan: Scan): boolean {
  for (;;) {
    skip(scan, SPACE);
    const first = scan.text[scan.at];
    if (first !== '{' && first !== '[') return scalar(scan);
    scan.at += 1;
    scan.closers.push(first === '{' ? '}' : ']');
    skip(scan, SPACE);
    if (scan.text[scan.at] === scan.closers.at(-1)) return close(scan);
    if (first === '{' && !key(scan)) return false;
  }
}

/** After a value inside an array or object: a comma and the next value, or the end of it. */
function afterValue(scan: Scan): boolean {
  skip(scan, SPACE);
  const closer = scan.closers.at(-1);
  if (scan.text[scan.at] === closer) return close(scan);
  if (scan.text[scan.at] !== ',') return false;
  scan.at += 1;
  if (closer === '}' && !key(scan)) return false;
  return value(scan);
}

function key(scan: Scan): boolean {
  skip(scan, SPACE);
  if (!string(scan)) return false;
  skip(scan, SPACE);
  if (scan.text[scan.at] !== ':') return false;
  scan.at += 1;
  return true;
}

function scalar(scan: Scan): boolean {
  return string(scan) || skip(scan, NUMBER) || skip(scan, WORD);
}

function close(scan: Scan): boolean {
  scan.at += 1;
  scan.closers.pop();
  return true;
}

function skip(scan: Scan, pattern: RegExp): boolean {
  pattern.lastIndex = scan.at;
  const found = pattern.test(scan.text);
  if (found) scan.at = pattern.lastIndex;
  return found;
}

/** A string by hand: an expression would need a stack as deep as the string is long. */
function string(scan: Scan): boolean {
  const { text } = scan;
  if (text[scan.at] !== '"') return false;
  for (let at = scan.at + 1; at < text.length; at = scan.at) {
    scan.at = at;
    if (text[at] === '"') return endOfString(scan);
    if (text[at] === '\\' && !skip(scan, ESCAPE)) return false;
    if (text.charCodeAt(at) < 0x20) return false;
    if (text[at] !== '\\') scan.at = at + 1;
  }
  scan.at = text.length;
  return false;
}

function endOfString(scan: Scan): boolean {
  scan.at += 1;
  return true;
}
