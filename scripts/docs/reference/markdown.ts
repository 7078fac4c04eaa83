// Markdown of the pages that are made from sources: tables, code, and JSON that a person can read.

const LINE_CHARACTERS_MAX = 100;

export const code = (text: string) => `\`${text}\``;

/** Code where it is a value, words where it is a sentence. */
export const codeOrWords = (text: string) => (/^[[{"]/.test(text) ? code(text) : plain(text));

/** Text in which nothing is markup. */
export const plain = (text: string) => text.replaceAll(/[<*_]/g, (mark) => `\\${mark}`);

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  const lines = [head, head.map(() => '---'), ...rows].map(line);
  return `${lines.join('\n')}\n`;
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export const block = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n`;

/** JSON in which whatever fits stands on one line. */
export function compactJson(value: unknown, indent = ''): string {
  const flat = oneLine(value);
  if (indent.length + flat.length <= LINE_CHARACTERS_MAX) return flat;
  if (typeof value !== 'object' || value === null) return flat;
  const inner = `${indent}  `;
  const list = Array.isArray(value);
  const parts = Object.entries(value).map(([key, child]) =>
    list ? compactJson(child, inner) : `${JSON.stringify(key)}: ${compactJson(child, inner)}`,
  );
  const [open, close] = list ? '[]' : '{}';
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`;
}

/** JSON without line ends. */
export function oneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  const parts = Object.entries(value).map(
    ([key, child]) => `${JSON.stringify(key)}: ${oneLine(child)}`,
  );
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
}
