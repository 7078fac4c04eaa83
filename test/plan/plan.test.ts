import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as limits from '#shared/plan/limits.ts';
import { scriptSizeFaults } from '#shared/plan/metadata-size.ts';
import type { PlanSettings } from '#shared/plan/model.ts';
import { planRun } from '#shared/plan/plan.ts';
import {
  type Fields,
  faultFields,
  faultsOf,
  makeIntent,
  makePlan,
  makeRequest,
  makeSettings,
} from '#test/plan/fixtures.ts';

const texts = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !/\0/.test(text));

/** Requests of every kind that a plan is made for. */
const requests = fc.record(
  {
    runId: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/),
    args: fc.array(texts, { maxLength: 6 }),
    env: fc.dictionary(fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/), texts, { maxKeys: 5 }),
    labels: fc.dictionary(fc.stringMatching(/^x[A-Z.]{1,9}$/), texts, { maxKeys: 4 }),
    ttlSeconds: fc.integer({ min: 600, max: 86_400 }),
    provisioning: fc.constantFrom('standard', 'spot', 'spot-then-standard'),
    resources: fc.constantFrom(
      { cpus: 8 },
      { gpu: { type: 'L4' } },
      { machineTypes: ['n2-standard-8', 'n2d-standard-8'] },
      { machineType: 'c9-standard-4' },
      { machineType: 'n1-standard-8', gpu: { type: 't4', count: 2 } },
      { architecture: 'arm64', localSsdCount: 0 },
    ),
  },
  { requiredKeys: ['runId'] },
);

/** Everything that planning makes of a request, or the faults that it tells. */
function bytesOf(fields: Fields): string {
  const faults = faultsOf(fields);
  return JSON.stringify(faults.length > 0 ? faults : makeIntent(fields));
}

describe('equal input, equal bytes', () => {
  test('A29: 1,000 random plans are the same bytes twice', () => {
    fc.assert(
      fc.property(requests, (fields) => {
        const copy = JSON.parse(JSON.stringify(fields));
        expect(bytesOf(copy)).toBe(bytesOf(fields));
      }),
      { seed: 29, numRuns: 1000 },
    );
  });

  test('A29: planning changes nothing that it is given', () => {
    const settings = freeze(makeSettings());
    const request = freeze(makeRequest({ labels: { a: 'b' }, resources: { cpus: 2 } }, settings));
    expect(planRun(request, settings)).toMatchObject({ kind: 'planned' });
    expect(makeIntent({}, settings, { plan: freeze(makePlan({}, settings)) }).body.name).toMatch(
      /^m/,
    );
  });

  test('A17: a planned intent has its fields in one fixed order', () => {
    expect(Object.keys(makeIntent())).toEqual([
      'instanceName',
      'diskName',
      'requestId',
      'deadlineSeconds',
      'startupScript',
      'shutdownScript',
      'body',
    ]);
    expect(Object.keys(makePlan())).toEqual(['request', 'candidates', 'warnings', 'estimate']);
  });

  test('A18: a GPU need is nested, or null', () => {
    const gpu = (fields: Fields) => makePlan(fields).request.resources.gpu;
    expect(gpu({ resources: { gpu: { type: 'L4' } } })).toEqual({ type: 'nvidia-l4', count: 1 });
    expect(gpu({})).toBeNull();
  });
});

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(freeze);
    Object.freeze(value);
  }
  return value;
}

describe('sizes', () => {
  test('P20: an argument over the metadata limit is refused by name, with its size', () => {
    const [fault, ...more] = faultsOf({ args: ['a'.repeat(300_000)] });
    expect(more).toEqual([]);
    expect(fault?.field).toBe('args[0]');
    expect(fault?.value).toContain('300003 bytes');
    expect(fault?.rule).toContain('256 KiB');
  });

  test('P20: sizes are bytes as they stand in the script, not characters', () => {
    expect(faultFields({ args: ['x', 'α'.repeat(120_000)] })).toEqual(['args[1]']);
    expect(faultFields({ args: ["'".repeat(60_000)] })).toEqual(['args[0]']);
    expect(faultFields({ env: { A: 'x', BIG: 'a'.repeat(220_000) } })).toEqual(['env.BIG']);
    expect(faultFields({ args: Array(2).fill('a'.repeat(100_000)) })).toEqual([]);
  });

  test('D28: an argument or variable that no process can be given is refused by name', () => {
    // Measured: bash starts /bin/true with 131,071 bytes, and says E2BIG (exit code 126) for one more.
    expect(faultFields({ args: ['x', 'a'.repeat(131_071)] })).toEqual([]);
    const [fault] = faultsOf({ args: ['x', 'a'.repeat(131_072)] });
    expect(fault).toMatchObject({
      field: 'args[1]',
      value: expect.stringContaining('131072 bytes'),
    });
    expect(faultFields({ command: ['a', 'é'.repeat(65_536)] })).toEqual(['command[1]']);
    expect(faultFields({ env: { NAME: 'a'.repeat(131_066) } })).toEqual([]);
    expect(faultFields({ env: { NAME: 'a'.repeat(131_067) } })).toEqual(['env.NAME']);
    expect(faultFields({ args: ['a'.repeat(200_000)] })).toEqual(['args[0]']);
  });

  test.skipIf(process.platform !== 'linux')(
    'D28: what planning takes as one argument this kernel takes too, and one byte more it does not',
    () => {
      const start = (bytes: number) => spawnSync('/bin/true', ['a'.repeat(bytes)]).error;
      expect(start(limits.PROCESS_TEXT_BYTES_MAX)).toBeUndefined();
      expect(start(limits.PROCESS_TEXT_BYTES_MAX + 1)).toMatchObject({ code: 'E2BIG' });
    },
  );

  test('P20: what passes fits into every metadata value and into all of them', () => {
    const { body } = makeIntent({ args: Array(2).fill('a'.repeat(106_490)) });
    let total = 0;
    for (const { key, value } of body.metadata.items) {
      expect(Buffer.byteLength(value)).toBeLessThanOrEqual(256 * 1024);
      total += Buffer.byteLength(key) + Buffer.byteLength(value);
    }
    expect(total).toBeLessThan(512_000);
    expect(faultFields({ args: Array(2).fill('a'.repeat(106_500)) })).toEqual(['args[0]']);
  });

  test('P20: inputs that were resolved to too many objects are refused by name', () => {
    const inputs = Array.from({ length: 1000 }, (_, index) => ({
      path: `/data/${index}`,
      bucket: 'bucket',
      object: `${'o'.repeat(index === 7 ? 900 : 200)}${index}`,
      generation: '1796126400000000',
      bytes: 1,
    }));
    const [fault] = scriptSizeFaults(makeRequest(), inputs);
    expect(fault?.field).toBe('inputs./data/7');
    expect(scriptSizeFaults(makeRequest(), inputs.slice(0, 100))).toEqual([]);
  });

  test('P20: the script around a run’s own texts is smaller than the room kept for it', () => {
    const { startupScript, shutdownScript } = makeIntent();
    for (const script of [startupScript, shutdownScript]) {
      expect(Buffer.byteLength(script)).toBeLessThan(limits.SCRIPT_BYTES_RESERVED - 4096);
    }
  });
});

describe('settings', () => {
  const wrong: readonly (Partial<PlanSettings> & { readonly name: string; readonly at: string })[] =
    [
      { name: 'no bucket', bucket: '', at: 'MAYFLY_BUCKET' },
      { name: 'a bucket that is none', bucket: 'a"b', at: 'MAYFLY_BUCKET' },
      { name: 'no project', project: '', at: 'MAYFLY_PROJECT' },
      { name: 'a long deployment', deployment: 'a'.repeat(17), at: 'MAYFLY_DEPLOYMENT' },
      {
        name: 'metadata of ours',
        instanceMetadata: { 'startup-script': 'x' },
        at: 'MAYFLY_INSTANCE_METADATA',
      },
      {
        name: 'metadata without end',
        instanceMetadata: { a: 'x'.repeat(255_000) },
        at: 'MAYFLY_INSTANCE_METADATA',
      },
    ];
  test.each(wrong)('D32: with $name there is no plan', ({ name: _, at, ...changes }) => {
    expect(faultFields({}, makeSettings(changes))).toContain(at);
  });

  test('D18: without a bucket there is no plan: no run could report', () => {
    expect(faultFields({}, makeSettings({ bucket: '' }))).toEqual(['MAYFLY_BUCKET']);
  });

  test('A16: the bucket is the deployment’s, in every script', () => {
    expect(makeIntent({}, makeSettings({ bucket: 'other-bucket' })).startupScript).toContain(
      "\nBUCKET='other-bucket'\n",
    );
  });

  test('A78: whatever buckets a request names, its machine reports to the deployment’s', () => {
    const { startupScript, shutdownScript } = makeIntent({
      package: { uri: `gs://code-bucket/app-${'a'.repeat(64)}.tar.gz` },
      inputs: { '/in': 'gs://data-bucket/in' },
      outputs: { '/out': 'gs://output-bucket/out/' },
    });
    for (const script of [startupScript, shutdownScript]) {
      expect(script).toContain("\nBUCKET='p-mayfly'\n");
    }
  });
});

describe('purity', () => {
  test('A29: no file of the plan reads a clock, chance, the environment or a network', () => {
    const folder = new URL('../../shared/plan/', import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    expect(files.length).toBeGreaterThan(40);
    for (const file of files) {
      const source = readFileSync(new URL(file, folder), 'utf8');
      expect(`${file}: ${/Date\.now|new Date|Math\.random|process\.|fetch\(/.exec(source)}`).toBe(
        `${file}: null`,
      );
      const modules = [...source.matchAll(/from 'node:([^']+)'/g)].map(([, name]) => name);
      expect([...modules, 'crypto'].every((name) => name === 'crypto')).toBe(true);
    }
  });
});
