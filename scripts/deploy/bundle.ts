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
import { join } from 'node:path';
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

/** CommonJS modules look for these; an ES module has to make them. Most ask for Node's own modules. */
const BANNER = `let made;
const builtin = process.getBuiltinModule;
const require = (name) => builtin(name)
  ?? (made ??= builtin('node:module').createRequire(import.meta.url))(name);
const __filename = import.meta.filename, __dirname = import.meta.dirname;`;

/** Packages of the framework that it calls for bodies and types that no caller of ours sends. */
const READ_LATE = ['iconv-lite', 'mime-types', 'qs'];

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
    ...BUILD,
    entryPoints: ['functions/server.ts'],
    outdir: PROJECT_FOLDER,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    format: 'esm',
    banner: { js: BANNER },
    plugins: [GUEST_SCRIPTS, NAMED_EXPORTS, LATE_PACKAGES],
    metafile: true,
  });
  const late = await build({
    ...BUILD,
    entryPoints: READ_LATE,
    outdir: join(PROJECT_FOLDER, 'late'),
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
  });
  const made = [...outputFiles, ...late.outputFiles].map(
    ({ path, text }) => [path.slice(PROJECT_FOLDER.length), askForBuiltins(text)] as const,
  );
  const files = new Map([...made, ...packageFiles()].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const zip = zipSync(Object.fromEntries([...files].map(zipEntry)), { mtime: MTIME, level: 9 });
  const sha256 = createHash('sha256').update(zip).digest('hex');
  return { files, zip, sha256, metafile };
}

const BUILD = {
  absWorkingDir: PROJECT_FOLDER,
  bundle: true,
  platform: 'node',
  target: 'node24',
  // Names stay: stack traces in the log are read by people.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  write: false,
  logLevel: 'error',
} as const;

/**
 * An `import` of one of Node's own modules reads all that it could give: undici with `node:http`, a
 * third of the start of a bare server. Asked for by name, it reads what is used.
 */
function askForBuiltins(text: string): string {
  return text.replaceAll(
    /import\s*(?:\*as )?(\w+)?,?(\{[^}]*\})?\s*from"(node:[^"]+)";/g,
    (_, whole: string | undefined, parts: string | undefined, name: string) =>
      [whole, parts?.replaceAll(' as ', ':')]
        .flatMap((names) => names ?? [])
        .map((names) => `const ${names}=process.getBuiltinModule("${name}");`)
        .join(''),
  );
}

/**
 * Stands for a package that has a file of its own in the archive, read when something of it is first
 * asked for: half a megabyte of tables would be read at every cold start otherwise.
 */
const LATE_PACKAGES: Plugin = {
  name: 'late-packages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(${READ_LATE.join('|')})$`) }, ({ path }) => ({
      path,
      namespace: 'late-packages',
    }));
    onLoad({ filter: /.*/, namespace: 'late-packages' }, ({ path }) => ({
      contents: `let read;
module.exports = new Proxy({}, { get: (_, name) => (read ??= require('#${path}'))[name] });`,
      loader: 'js',
    }));
    onResolve({ filter: /^#/, namespace: 'late-packages' }, ({ path }) => ({
      path,
      external: true,
    }));
  },
};

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
  const imports = Object.fromEntries(READ_LATE.map((name) => [`#${name}`, `./late/${name}.cjs`]));
  const main = { ...own, private: true, type: 'module', main: 'server.js', scripts, imports };
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
const builtin = process.getBuiltinModule;
const { enableCompileCache, flushCompileCache } = builtin('node:module');
const hint = Number(process.env.GOOGLE_CONTAINER_MEMORY_HINT_MB ?? 0);
if (process.argv[2] === '--fill-cache' && hint > 64) {
  const NODE_OPTIONS = \`--max-old-space-size=\${hint - 64}\`;
  const again = [import.meta.filename, '--fill-cache-now'];
  const env = { ...process.env, NODE_OPTIONS };
  process.exitCode = builtin('node:child_process').spawnSync(process.execPath, again, { env, stdio: 'inherit' }).status ?? 1;
} else {
  enableCompileCache(\`\${import.meta.dirname}/../.compile-cache\`);
  const { serveProcess } = await import('../server.js');
  if (process.argv[2] === undefined) await serveProcess(process.env);
  else {
    const chunks = builtin('node:fs').readdirSync(\`\${import.meta.dirname}/../chunks\`);
    for (const name of chunks) await import(\`../chunks/\${name}\`);
    flushCompileCache();
  }
}
`;

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function zipEntry([path, text]: readonly [string, string]): readonly [string, Zippable[string]] {
  const mode = path === 'framework/start.js' ? EXECUTABLE : 0o644;
  return [path, [new TextEncoder().encode(text), { os: UNIX, attrs: (0o100000 | mode) * 0x10000 }]];
}
