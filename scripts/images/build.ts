// Builds the images of the Jobs: bundles the supervisor, then builds each base by Docker, and with --push
// uploads it and writes down its digest, which is what Jobs are made from.
//   node scripts/images/build.ts --registry REGION-docker.pkg.dev/PROJECT/REPOSITORY [--base NAME]…
//     [--tag TAG] [--push] [--images-file FILE.json]
//   node scripts/images/build.ts --bundle FILE.mjs      the supervisor alone
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleSupervisor, SUPERVISOR_ENTRY } from '#scripts/images/bundle.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
/** Cloud Run runs nothing else. */
const PLATFORM = 'linux/amd64';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    registry: text,
    base: { ...text, multiple: true },
    tag: { ...text, default: 'latest' },
    push: { type: 'boolean', default: false },
    'images-file': { ...text, default: 'images.json' },
    bundle: text,
  },
});

if (values.bundle !== undefined) bundleSupervisor(SUPERVISOR_ENTRY, values.bundle);
else buildAll(values.registry ?? stop('--registry is needed: where the images belong'));

function buildAll(registry: string): void {
  const all = readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  const bases = values.base ?? all;
  const unknown = bases.filter((base) => !all.includes(base));
  if (unknown.length > 0) stop(`no such base: ${unknown.join(', ')}; there are ${all.join(', ')}`);
  const images = bases.map((base) => [base, build(base, `${registry}/${base}:${values.tag}`)]);
  if (!values.push) return;
  writeFileSync(values['images-file'], `${JSON.stringify(Object.fromEntries(images), null, 2)}\n`);
  console.log(`${values['images-file']}: the images of ${images.length} bases`);
}

/** The image by its digest once it is pushed, by its tag before. */
function build(base: string, image: string): string {
  const context = mkdtempSync(join(tmpdir(), 'mayfly-image-'));
  try {
    for (const name of readdirSync(join(FOLDER, base))) {
      copyFileSync(join(FOLDER, base, name), join(context, name));
    }
    bundleSupervisor(SUPERVISOR_ENTRY, join(context, 'supervisor.mjs'));
    docker('build', '--platform', PLATFORM, '--tag', image, context);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
  if (!values.push) return image;
  docker('push', image);
  const format = '{{index .RepoDigests 0}}';
  return String(execFileSync('docker', ['inspect', '--format', format, image])).trim();
}

function docker(...words: readonly string[]): void {
  execFileSync('docker', words, { stdio: 'inherit' });
}

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}
