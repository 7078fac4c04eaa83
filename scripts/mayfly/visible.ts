// What others wrote, as a terminal may show it: characters that move its cursor, hide or turn text are
// written out as JSON writes them, so that a JSON text keeps its meaning.

/** Controls but tab and line feed, what turns the direction of text, and what some take for a new line. */
const UNSEEN = /[^\P{Cc}\t\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

export const visible = (text: string) => text.replace(UNSEEN, written);

/** The same for what must not look like several lines. */
export const oneLine = (text: string) => visible(text).replace(/[\t\n]/g, written);

function written(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
