// The part about Terraform's variables, from the text that declares them.
import { code, plain, table } from '#scripts/docs/reference/markdown.ts';

/** `text` is Terraform's, as `terraform fmt` writes it: attributes of a variable are two spaces in. */
export function variablesPart(text: string): string {
  const blocks = text.matchAll(/^variable "(\w+)" \{\n([\s\S]*?)^\}$/gm);
  const rows = [...blocks].map(([, name = '', body = '']) => {
    const description = attribute(body, 'description');
    const about = description === null ? null : (JSON.parse(description) as string);
    if (about === null) throw new Error(`the variable ${name} has no description`);
    const fallback = attribute(body, 'default');
    return [code(name), fallback === null ? 'has to be set' : code(fallback), told(about)];
  });
  return table(['variable', 'default', 'is'], rows);
}

const attribute = (body: string, name: string) =>
  new RegExp(`^  ${name} *= (.+)$`, 'm').exec(body)?.[1] ?? null;

/** What stands between backticks is code already. */
const told = (text: string) =>
  text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : plain(part)))
    .join('');
