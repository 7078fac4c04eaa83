// The part about settings, from the one table that reads them.
import { block, code, compactJson, plain, table } from '#scripts/docs/reference/markdown.ts';
import type { Setting } from '#shared/cloud/setting.ts';
import { SETTINGS } from '#shared/cloud/settings-table.ts';
import { GUEST_DEFAULTS } from '#shared/plan/guest-settings.ts';

/** What each table is about, and the variables that it has; the first that fits. */
const TABLES: Readonly<Record<string, RegExp>> = {
  'Cloud Run Jobs': /^MAYFLY_JOBS_/,
  'Who may call': /^MAYFLY_(?:PUSH_|JWKS_)/,
  'Where services are': /^MAYFLY_ENDPOINT_|_EMULATOR_HOST$/,
  'The deployment and its runs': /^MAYFLY_/,
};

const HEAD = ['variable', 'default', 'effect', 'accepted', 'set by Terraform'];

/** `terraform`: the text of its functions.tf, which names what it sets by variables of its own. */
export function settingsPart(terraform: string): string {
  const own = new Set([...terraform.matchAll(/^ *(MAYFLY_[A-Z_]+) *=/gm)].map(([, name]) => name));
  const rest: Setting<unknown>[] = [...Object.values(SETTINGS)];
  const tables = Object.entries(TABLES).map(([title, names]) => {
    const settings = rest.filter(({ name }) => names.test(name));
    for (const setting of settings) rest.splice(rest.indexOf(setting), 1);
    const rows = settings.map((setting) => [...rowOf(setting), own.has(setting.name) ? 'yes' : '']);
    return `### ${title}\n\n${table(HEAD, rows)}`;
  });
  if (rest.length > 0) throw new Error(`no table for ${rest.map(({ name }) => name).join(', ')}`);
  return [...tables.reverse(), guestPart()].join('\n');
}

function rowOf({ name, initial, effect, parse }: Setting<unknown>): string[] {
  const broken = parse('');
  const accepted = broken.kind === 'broken' ? plain(broken.accepted) : '';
  return [code(name), defaultOf(initial), plain(effect), accepted];
}

function defaultOf(initial: string | null): string {
  if (initial === null) return 'has to be set';
  return initial === '' ? 'none' : code(initial);
}

const guestPart = () => `### The scripts on the machine

The object that ${code('MAYFLY_GUEST')} takes, with what stands for a part that is left out:

${block('json', compactJson(GUEST_DEFAULTS))}`;
