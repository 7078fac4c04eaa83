// What on docs/security.md is made from sources: the rights of each account, from the table that Terraform
// makes its roles of, and the projects that boot images come from. The text around them is kept.
import { code, table } from '#scripts/docs/reference/markdown.ts';
import { GRANT_ROWS, type GrantRow } from '#scripts/local-cloud/deployment/grants.ts';
import { bootImagePath } from '#shared/plan/boot-image.ts';

const PARTS: Readonly<Record<string, () => string>> = {
  rights: rightsTable,
  'image projects': imageProjects,
};

/** The page as it stands, its made parts made anew. Throws when one of them has no place on it. */
export function securityPage(stored: string): string {
  return Object.entries(PARTS).reduce((page, [name, make]) => {
    const begin = `<!-- ${name}: made by npm run docs -->\n`;
    const [before = '', rest] = page.split(begin);
    const end = rest?.indexOf('<!-- end -->') ?? -1;
    if (rest === undefined || end < 0) throw new Error(`docs/security.md has no place for ${name}`);
    return `${before}${begin}${make()}${rest.slice(end)}`;
  }, stored);
}

function rightsTable(): string {
  const rows = GRANT_ROWS.map((row) => [
    code(`D-${row.account}`),
    placeOf(row),
    byResource(row.permissions),
  ]);
  return `\n${table(['account', 'on', 'may'], rows)}\n`;
}

function placeOf({ on, names = [], prefixes = [] }: GrantRow): string {
  const listed = names.map((name) => code(`D-${name}`)).join(', ');
  switch (on) {
    case 'project':
      return 'the project';
    case 'bucket':
      return `the bucket${prefixes.length === 0 ? '' : `, only ${prefixes.map(code).join(', ')}`}`;
    case 'data':
      return `buckets of ${code('data_buckets')}`;
    case 'topics':
      return `${names.length === 1 ? 'topic' : 'topics'} ${listed}`;
    case 'accounts':
      return names.includes('worker') ? `${listed}, ${code('worker_accounts')}` : listed;
    case 'instances':
      return `machines named ${code('D-…')}`;
    case 'secrets':
      return `secrets of ${code('secrets')}`;
    default:
      throw new Error(`no words for rights on ${on}`);
  }
}

/** `storage.objects.get` and `storage.objects.list` are `storage.objects`: get, list. */
function byResource(permissions: readonly string[]): string {
  const grouped = Object.groupBy(permissions, (name) => name.slice(0, name.lastIndexOf('.')));
  const parts = Object.entries(grouped).map(([resource, names = []]) => {
    const verbs = names.map((name) => name.slice(resource.length + 1));
    return `${code(resource)}: ${verbs.join(', ')}`;
  });
  return parts.join('; ');
}

function imageProjects(): string {
  const paths = ([null, 'deep-learning'] as const).flatMap((asked) =>
    (['amd64', 'arm64'] as const).map((architecture) => bootImagePath(asked, architecture)),
  );
  const projects = [...new Set(paths.map((path) => path.split('/').slice(0, 2).join('/')))];
  return `${projects.map((project) => `- ${code(project)}\n`).join('')}`;
}
