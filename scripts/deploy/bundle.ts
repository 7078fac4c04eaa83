// Makes what Cloud Run functions are deployed from: the functions with all that they need in one folder
// of JavaScript, zipped, the same bytes for the same sources. The Google clients are files of their own
// beside server.js, read when a function first uses one: in one file with it, their 4 MB would be read
// at every cold start.
//
// How it is started: for a function, Google's Node.js buildpack takes neither a start script nor a
// Procfile; it runs node_modules/.bin/functions-framework (GoogleCloudPlatform/buildpacks,
// cmd/nodejs/functions_framework/lib/lib.go and cmd/config/entrypoint/lib/lib.go). The framework's own
// program would parse bodies before headers are judged, so the package by that name is a folder of the
// archive, whose program starts our server with the framework in it. npm links it: nothing is downloaded.
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type Plugin } from 'esbuild';
import { type Zippable, zipSync } from 'fflate';
import { readGuestScripts } from '#shared/guest/scripts.ts';
import project from '../../package.json' with { type: 'json' };

const PROJECT_FOLDER = fileURLToPath(new URL('../../', import.meta.url));
const FRAMEWORK = '@google-cloud/functions-framework';
/** The earliest time that a zip can say. */
const MTIME = '1980-01-01T00:00:00';
const EXECUTABLE = 0o755;
const UNIX = 3;

/** CommonJS modules look for these; an ES module has to make them. */
const BANNER = `import { createRequire as makeRequire } from 'node:module';
const require = makeRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;`;

export interface Bundle {
  /** Path in the archive → text. */
  readonly files: ReadonlyMap<string, string>;
  readonly zip: Uint8Array;
  /** Of the zip, in hex. */
  readonly sha256: string;
  readonly metafile: Metafile;
}

export async function bundleFunctions(): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: PROJECT_FOLDER,
    entryPoints: ['functions/server.ts'],
    outdir: PROJECT_FOLDER,
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // Names stay: stack traces in the log are read by people.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    charset: 'utf8',
    banner: { js: BANNER },
    plugins: [GUEST_SCRIPTS, NAMED_EXPORTS],
    metafile: true,
    write: false,
    logLevel: 'error',
  });
  const made = outputFiles.map(
    ({ path, text }) => [path.slice(PROJECT_FOLDER.length), text] as const,
  );
  const files = new Map([...made, ...packageFiles()].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const zip = zipSync(Object.fromEntries([...files].map(zipEntry)), { mtime: MTIME, level: 9 });
  const sha256 = createHash('sha256').update(zip).digest('hex');
  return { files, zip, sha256, metafile };
}

/** The scripts as text: beside the bundle there are no files to read them from. */
const GUEST_SCRIPTS: Plugin = {
  name: 'guest-scripts',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]shared[/\\]guest[/\\]scripts\.ts$/ }, () => ({
      contents: `const SCRIPTS = ${JSON.stringify(readGuestScripts())};
export const readGuestScripts = () => SCRIPTS;`,
      loader: 'js',
    }));
  },
};

/** A CommonJS file of its own would give nothing but a default; Node gives its names, and so do we. */
const NAMED_EXPORTS: Plugin = {
  name: 'named-exports',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(@google-cloud\/|google-auth-library$)/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, namespace: 'named-exports' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'named-exports' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) =>
        /^(?!default$)\w+$/.test(name),
      );
      const contents = `export { ${names.join(', ')} } from ${JSON.stringify(path)};`;
      return { contents, loader: 'js', resolveDir: PROJECT_FOLDER };
    });
  },
};

function packageFiles(): readonly (readonly [string, string])[] {
  const version = project.dependencies[FRAMEWORK];
  const bin = { 'functions-framework': 'start.js' };
  const dependencies = { [FRAMEWORK]: 'file:framework' };
  const own = { name: 'mayfly-functions', version: '0.0.0', dependencies };
  const lock = {
    name: own.name,
    version: own.version,
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': own,
      framework: { name: FRAMEWORK, version, bin },
      [`node_modules/${FRAMEWORK}`]: { resolved: 'framework', link: true },
    },
  };
  // gcp-build is the buildpack's own hook: it runs where the function will run, with its Node.
  const scripts = { 'gcp-build': 'node framework/start.js --fill-cache' };
  const main = { ...own, private: true, type: 'module', main: 'server.js', scripts };
  return [
    ['package.json', json(main)],
    ['package-lock.json', json(lock)],
    ['framework/package.json', json({ name: FRAMEWORK, version, type: 'module', bin })],
    ['framework/start.js', START],
  ];
}

/**
 * The program that the buildpack starts. Node keeps compiled code by its version and V8's flags, and the
 * buildpack starts functions with a heap bound (getMaxOldSpaceSize there), so the cache is filled under
 * the same one; where they differ all the same, the cache is passed over and nothing else changes.
 */
const START = `#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
const hint = Number(process.env.GOOGLE_CONTAINER_MEMORY_HINT_MB ?? 0);
if (process.argv[2] === '--fill-cache' && hint > 64) {
  const NODE_OPTIONS = \`--max-old-space-size=\${hint - 64}\`;
  const again = [import.meta.filename, '--fill-cache-now'];
  const env = { ...process.env, NODE_OPTIONS };
  process.exitCode = spawnSync(process.execPath, again, { env, stdio: 'inherit' }).status ?? 1;
} else {
  enableCompileCache(\`\${import.meta.dirname}/../.compile-cache\`);
  const { serveProcess } = await import('../server.js');
  if (process.argv[2] === undefined) await serveProcess(process.env);
  else {
    for (const name of readdirSync(\`\${import.meta.dirname}/../chunks\`)) await import(\`../chunks/\${name}\`);
    flushCompileCache();
  }
}
`;

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function zipEntry([path, text]: readonly [string, string]): readonly [string, Zippable[string]] {
  const mode = path === 'framework/start.js' ? EXECUTABLE : 0o644;
  return [path, [new TextEncoder().encode(text), { os: UNIX, attrs: (0o100000 | mode) * 0x10000 }]];
}
