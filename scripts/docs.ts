// `npm run docs`: writes the pages under docs/ that are made from the sources. `npm run docs -- --check`
// writes nothing and fails when a page is not what its sources say.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { behavioursPage, readNamedTests } from '#scripts/docs/behaviours.ts';
import { inventoryFile } from '#scripts/docs/inventory.ts';
import { logEventsPage } from '#scripts/docs/log-events.ts';
import { referencePage } from '#scripts/docs/reference.ts';
import { SCHEMA_PAGES } from '#scripts/docs/schemas.ts';
import { securityPage } from '#scripts/docs/security.ts';
import { transcriptPage } from '#scripts/docs/transcript.ts';

const PAGES = [
  { path: 'docs/behaviours.md', make: async () => behavioursPage(await readNamedTests()) },
  { path: 'docs/log-events.md', make: async () => logEventsPage() },
  ...SCHEMA_PAGES,
  { path: 'docs/reference.md', make: referencePage },
  {
    path: 'docs/security.md',
    make: async () => securityPage(await readFile('docs/security.md', 'utf8')),
  },
  { path: 'docs/commands.md', make: transcriptPage },
  { path: 'terraform/inventory.json', make: async () => inventoryFile() },
] as const;

const checkOnly = process.argv.includes('--check');
for (const { path, make } of PAGES) {
  const text = await make();
  const stored = await readFile(path, 'utf8').catch(() => null);
  if (stored === text) {
    process.stdout.write(`${path}: up to date\n`);
  } else if (checkOnly) {
    process.stderr.write(`${path} is not what its sources say; run: npm run docs\n`);
    process.exitCode = 1;
  } else {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    process.stdout.write(`${path}: written\n`);
  }
}
