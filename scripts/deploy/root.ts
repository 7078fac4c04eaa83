// What a Terraform root says of itself, read from its files: which variables it declares, whether it
// keeps its state somewhere, and which Terraform it wants.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { usageError } from '#scripts/mayfly/exit-codes.ts';

export interface Declared {
  readonly name: string;
  /** As written, for example `list(string)`; empty when there is none. */
  readonly type: string;
  readonly required: boolean;
}

export interface RootFiles {
  readonly variables: ReadonlyMap<string, Declared>;
  readonly hasBackend: boolean;
  readonly wanted: string | null;
}

/** Files that end in `_override.tf` change what the others declare, and declare nothing. */
export async function readRoot(folder: string): Promise<RootFiles> {
  const names = (await readdir(folder)).filter((name) => /(?<!override)\.tf$/.test(name));
  if (names.length === 0) throw usageError(`${folder} holds no Terraform files (*.tf)`);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const text = texts.join('\n').replaceAll(/^\s*(#|\/\/).*$/gm, '');
  const variables = [...text.matchAll(/^\s*variable\s+"(\w+)"\s*\{/gm)].map(
    ({ 1: name = '', 0: opening, index }) => {
      const block = bodyOf(text.slice(index + opening.length));
      const type = /^\s*type\s*=\s*(\S.*)$/m.exec(block)?.[1]?.trim() ?? '';
      return { name, type, required: !/(^|\n)\s*default\s*=/.test(block) };
    },
  );
  return {
    variables: new Map(variables.map((one) => [one.name, one])),
    hasBackend: /^\s*(backend\s+"\w+"|cloud)\s*\{/m.test(text),
    wanted: /required_version\s*=\s*"([^"]+)"/.exec(text)?.[1] ?? null,
  };
}

/** Up to the brace that closes the block; braces in texts do not count. */
function bodyOf(text: string): string {
  let depth = 1;
  for (const { 0: token, index } of text.matchAll(/"(?:\\.|[^"\\])*"|[{}]/g)) {
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
    if (depth === 0) return text.slice(0, index);
  }
  return text;
}
