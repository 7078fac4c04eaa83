// The images of the Jobs: what their Dockerfiles say, and the bundled supervisor run by Node alone, in a
// root with nothing but Node and the libraries that it names.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleSupervisor, SUPERVISOR_ENTRY } from '#scripts/images/bundle.ts';
import { readSettings } from '#shared/cloud/config.ts';
import { basesOf, GPU_BASE } from '#shared/plan/jobs-inventory.ts';
import { TaskMachine } from '#test/guest/supervisor/task-machine.ts';

const IMAGES = fileURLToPath(new URL('../../scripts/images/', import.meta.url));
const dockerfile = (base: string) => readFileSync(join(IMAGES, base, 'Dockerfile'), 'utf8');
const bases = readdirSync(IMAGES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

let folder = '';
let bundle = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-images-'));
  bundle = join(folder, 'supervisor.mjs');
  execFileSync(process.execPath, ['scripts/images/build.ts', '--bundle', bundle]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('C20, C21, C22, C23: there is an image for each base of the inventory, and no other', () => {
  const { plan } = readSettings({
    MAYFLY_PROJECT: 'p-123456',
    MAYFLY_BUCKET: 'b-123456',
    MAYFLY_REGIONS: 'europe-west1',
    MAYFLY_WORKER_SERVICE_ACCOUNTS: 'w@p-123456.iam.gserviceaccount.com',
    MAYFLY_PUSH_AUDIENCE: 'a',
    MAYFLY_PUSH_SERVICE_ACCOUNTS: 'p@p-123456.iam.gserviceaccount.com',
  });
  expect(bases.sort()).toEqual([...basesOf(plan.jobs)].sort());
});

test.each(bases)('%s begins with the supervisor, run by the Node of the official image', (base) => {
  const text = dockerfile(base);
  expect(text).toContain('FROM node:24-bookworm-slim AS node\n');
  expect(text).toContain('COPY --from=node /usr/local/bin/node /usr/local/bin/node\n');
  expect(text).toContain('COPY supervisor.mjs /mayfly/supervisor.mjs\n');
  expect(text).toContain('WORKDIR /mayfly/package\n');
  expect(text.trimEnd().split('\n').at(-1)).toBe(
    'ENTRYPOINT ["/usr/local/bin/node", "/mayfly/supervisor.mjs"]',
  );
});

test('C34: the GPU image has CUDA from pip wheels on Python’s slim image, no NVIDIA base', () => {
  const text = dockerfile(GPU_BASE);
  const froms = text.split('\n').filter((line) => line.startsWith('FROM '));
  expect(froms.at(-1)).toMatch(/^FROM python:3\.\d+-slim(-\w+)?$/);
  expect(froms.join('\n')).not.toMatch(/nvidia|cuda/i);
  expect(text).toMatch(/RUN pip install .*requirements\.txt/);
  const wanted = readFileSync(join(IMAGES, GPU_BASE, 'requirements.txt'), 'utf8');
  expect(wanted).toMatch(/^torch==\d/m);
  // The build of PyTorch without CUDA has an index of its own.
  expect(`${text}${wanted}`).not.toMatch(/index-url|\+cpu/);
});

test('what is installed is pinned', () => {
  for (const base of bases) {
    const lines = readFileSync(join(IMAGES, base, 'requirements.txt'), 'utf8')
      .trim()
      .split('\n');
    for (const line of lines.filter((one) => !one.startsWith('#')))
      expect(line).toMatch(/^[\w-]+==[\d.]+$/);
  }
});

const doc = readFileSync(new URL('../../docs/cloud-run-jobs.md', import.meta.url), 'utf8');

/** A step of the page for people. */
const step = (title: string, text: RegExp) => test(title, () => expect(doc).toMatch(text));

step(
  'C39: choose a region with L4 and get the quota',
  /1\. Choose a region where Cloud Run has L4, and ask for the quota/,
);
step(
  'C40: build and push the image of about 3 GB',
  /2\. Build and push the image, about 3 GB[\s\S]*--base base-dl --push/,
);
step(
  'C41: the switch, false by default, and the images file',
  /3\. Set `gpu_jobs = true` \(it is false by default\) and give the images file/,
);
step(
  'C42: without the switch the class is not offered',
  /Without\s+that the class `GPU` is not offered/,
);
step('C43: submit a small run of the class', /4\. Submit a small run: .*"class": "GPU"/);
step('C8: what is not confirmed is listed', /## What is not documented/);
step('C175: real cold starts add time', /Real cold starts add to the times/);

test('the build script says what it lacks and which bases there are', () => {
  const build = (...words: string[]) =>
    spawnSync(process.execPath, ['scripts/images/build.ts', ...words], { encoding: 'utf8' });
  expect(build()).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--registry is needed'),
  });
  expect(build('--registry', 'r', '--base', 'base-x')).toMatchObject({
    status: 2,
    stderr: `no such base: base-x; there are ${bases.sort().join(', ')}\n`,
  });
});

test('the bundle needs nothing of its folder and nothing of its environment to say what it lacks', () => {
  const run = spawnSync(process.execPath, [bundle], { cwd: folder, env: {}, encoding: 'utf8' });
  expect(run).toMatchObject({ status: 18, stderr: '' });
  expect(run.stdout).toContain('missing or wrong: MAYFLY_NONCE');
  expect(readFileSync(bundle, 'utf8')).not.toMatch(/from "(?!node:)/);
});

/** Node's binary and the libraries that its loader names, as an image without shell, tar or certificates. */
function barest(root: string): void {
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' });
  const files = [...libraries.matchAll(/(\/\S+) \(0x/g)].map(([, file = '']) => file);
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    copyFileSync(file, join(root, file));
  }
  for (const name of ['usr/local/bin', 'mayfly/package', 'tmp', 'dev']) {
    mkdirSync(join(root, name), { recursive: true });
  }
  writeFileSync(join(root, 'dev/null'), '');
  copyFileSync(process.execPath, join(root, 'usr/local/bin/node'));
  bundleSupervisor(SUPERVISOR_ENTRY, join(root, 'mayfly/supervisor.mjs'));
}

test.skipIf(process.getuid?.() !== 0)(
  'in a root with Node alone the supervisor brings a package, runs it, and takes its outputs away',
  async () => {
    await using machine = await TaskMachine.start();
    barest(machine.root);
    const program =
      "require('fs').writeFileSync('/out/seen', require('fs').readFileSync('/data/in.csv', 'utf8').toUpperCase())";
    mkdirSync(join(folder, 'app'));
    writeFileSync(join(folder, 'app/fit.js'), program);
    const bytes = execFileSync('tar', ['-czf', '-', '-C', join(folder, 'app'), 'fit.js']);
    const sha256 = execFileSync('sha256sum', { input: bytes, encoding: 'utf8' }).slice(0, 64);
    machine.server.put('app.tar.gz', bytes);
    machine.server.put('in.csv', 'a,b\n');
    const end = await machine.run({
      chroot: true,
      bootstrap: {
        command: ['node', 'fit.js'],
        args: [],
        workingDir: '/mayfly/package',
        package: { get: machine.server.signed('app.tar.gz'), sha256 },
        inputs: [{ path: '/data/in.csv', get: machine.server.signed('in.csv'), bytes: 4 }],
        outputs: [
          { path: '/out', form: machine.server.form('res/'), bucket: 'b1', prefix: 'res/' },
        ],
      },
    });
    expect(end, JSON.stringify(machine.marker())).toMatchObject({ code: 0, stderr: '' });
    expect(machine.server.text('res/seen')).toBe('A,B\n');
    expect(machine.marker()).toMatchObject({
      status: 'SUCCEEDED',
      outputs: [{ path: '/out/seen' }],
    });
  },
);
