import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRequest } from '#shared/plan/request.ts';
import {
  faultFields,
  faultsOf,
  JOBS,
  makeRequest,
  makeSettings,
  parse,
  WORKER,
} from '#test/plan/fixtures.ts';

describe('defaults', () => {
  test('A15: what a request leaves out is what the contract says', () => {
    expect(makeRequest()).toEqual({
      runId: 'run-1',
      runtime: 'gce',
      image: 'alpine:3.20',
      command: null,
      args: [],
      workingDir: null,
      env: {},
      secrets: {},
      imageCredentials: null,
      package: null,
      inputs: {},
      outputs: {},
      resources: {
        machineTypes: [],
        cpus: 4,
        memoryGiB: 16,
        gpu: null,
        architecture: 'amd64',
        bootDiskGiB: 100,
        diskType: null,
        bootImage: null,
        localSsdCount: 0,
        class: null,
        base: null,
      },
      place: { regions: null, zones: null, subnetworks: {} },
      provisioning: 'standard',
      serviceAccount: WORKER,
      metadataAccess: false,
      capabilities: [],
      ttlSeconds: 7200,
      timeoutSeconds: 6900,
      retry: { preempted: 3, infrastructure: 2, outOfMemory: 1, failed: 0 },
      waitForCapacitySeconds: 3600,
      keepOnFailureSeconds: 0,
      gpuIdleSeconds: 0,
      budgetUsd: null,
      tasks: 1,
      checkpoint: {},
      labels: {},
      annotations: {},
    });
  });

  test('A68: the run id is the request’s, else the one derived from the message', () => {
    const options = { defaultRunId: 'run-1234', settings: makeSettings() };
    const named = parseRequest({ runId: 'mine', image: 'alpine' }, options);
    const derived = parseRequest({ image: 'alpine' }, options);
    expect(named).toMatchObject({ request: { runId: 'mine' } });
    expect(derived).toMatchObject({ request: { runId: 'run-1234' } });
    const neither = parseRequest({ image: 'alpine' }, { ...options, defaultRunId: null });
    expect(neither).toMatchObject({ kind: 'invalid', runId: null, faults: [{ field: 'runId' }] });
  });
});

describe('faults', () => {
  test('every fault is told at once, each with field, value, rule and what is accepted', () => {
    const fields = faultFields({
      image: 'UPPER',
      args: ['ok', 3],
      imagee: 'x',
      ttlSeconds: 1,
      env: { 'a b': '' },
      resources: { gpu: { count: 0 }, diskSize: 7 },
      place: { zones: ['nowhere'] },
    });
    expect(fields).toEqual([
      'image',
      'args[1]',
      'imagee',
      'ttlSeconds',
      'env["a b"]',
      'resources.gpu.count',
      'resources.diskSize',
      'place.zones[0]',
      'resources.gpu.type',
    ]);
  });

  test.each([
    { given: { imagee: 'x' }, field: 'imagee', near: 'image' },
    { given: { machine_type: 'x' }, field: 'machine_type', near: null },
    { given: { run_id: 'x' }, field: 'run_id', near: 'runId' },
    { given: { timeout: 5 }, field: 'timeout', near: null },
    { given: { ttlSecond: 5 }, field: 'ttlSecond', near: 'ttlSeconds' },
    { given: { resources: { memoryGB: 5 } }, field: 'resources.memoryGB', near: 'memoryGiB' },
    { given: JSON.parse('{"__proto__": 1}'), field: '__proto__', near: null },
    { given: { toString: 1 }, field: 'toString', near: null },
  ])('an unknown field $field is refused, with $near as the nearest', ({ given, field, near }) => {
    const [first] = faultsOf(given);
    expect(first).toMatchObject({ field });
    if (near !== null) expect(first).toMatchObject({ accepted: near });
  });

  test.each([null, 7, 'text', [], true])('%j is no request', (value) => {
    const parsed = parseRequest(value, { defaultRunId: 'r', settings: makeSettings() });
    expect(parsed).toMatchObject({ kind: 'invalid', runId: null, faults: [{ field: '' }] });
  });

  test('no JSON at all makes validation throw, and each fault is bounded', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (value, inner) => {
        const options = { defaultRunId: 'r', settings: makeSettings() };
        const requests = [value, { image: value, env: inner, place: value, resources: inner }];
        for (const request of requests) {
          const parsed = parseRequest(request, options);
          const faults = parsed.kind === 'invalid' ? parsed.faults : [];
          for (const fault of faults) expect(JSON.stringify(fault).length).toBeLessThan(3000);
        }
      }),
      { seed: 3, numRuns: 400 },
    );
  });

  test('a long value is cut in its fault, and its length told', () => {
    const [fault] = faultsOf({ runId: 'x'.repeat(5000) });
    expect(fault?.value.length).toBeLessThan(200);
    expect(fault?.value).toContain('5000 characters');
  });
});

describe('texts', () => {
  test('P08: arguments that begin with a dash or carry quotes stay eight as they are', () => {
    const args = ['-m', 'job.main', '--x=-1', 'a,b', '--', '"quoted"', '', "it's"];
    expect(makeRequest({ args }).args).toEqual(args);
  });

  test('P09: values that are empty or hold spaces, colons and equals signs stay as they are', () => {
    const env = { EMPTY: '', T: 'a b  c', URL: 'http://h:80/?a=b&c=d==', P: 'C:\\x' };
    expect(makeRequest({ env }).env).toEqual(env);
  });

  test('P105: our own variables are refused by name, others reach the container', () => {
    expect(faultFields({ env: { MAYFLY_ATTEMPT: '9' } })).toEqual(['env.MAYFLY_ATTEMPT']);
    expect(faultFields({ secrets: { MAYFLY_X: 'projects/p/secrets/s/versions/1' } })).toEqual([
      'secrets.MAYFLY_X',
    ]);
    const env = { LD_PRELOAD: '/x.so', PATH: '/evil', DOCKER_HOST: 'tcp://h:1' };
    expect(makeRequest({ env }).env).toEqual(env);
    const proto = JSON.parse('{"__proto__": "x", "constructor": "y"}');
    expect(Object.entries(makeRequest({ env: proto }).env)).toEqual(Object.entries(proto));
  });

  test.each([
    { given: { args: ['a\u0000b'] }, field: 'args[0]' },
    { given: { command: ['a', '\u0000'] }, field: 'command[1]' },
    { given: { env: { A: '\u0000' } }, field: 'env.A' },
    { given: { annotations: { a: '\u0000' } }, field: 'annotations.a' },
    { given: { args: ['\ud800'] }, field: 'args[0]' },
    { given: { workingDir: '/a\nb' }, field: 'workingDir' },
    { given: { args: Array.from({ length: 513 }, () => 'a') }, field: 'args' },
    { given: { command: [] }, field: 'command' },
  ])('D28: a text that no process can be given is refused: $field', ({ given, field }) => {
    expect(faultFields(given)).toEqual([field]);
  });

  test('P106: zones and paths are refused by pattern, object names are data', () => {
    expect(faultFields({ place: { zones: ["us-central1-a';id;'"] } })).toEqual(['place.zones[0]']);
    expect(faultFields({ inputs: { '/a\nb': 'gs://bucket/c' } })).toEqual(['inputs["/a\\nb"]']);
    const sha256 = 'a'.repeat(64);
    const literal = makeRequest({
      outputs: { '/o': 'gs://bucket/$(id)/' },
      package: { uri: 'gs://bucket/`id`.tar.gz', sha256 },
    });
    expect(literal.outputs).toEqual({ '/o': 'gs://bucket/$(id)/' });
    expect(literal.package).toEqual({ uri: 'gs://bucket/`id`.tar.gz', sha256 });
  });
});

describe('bounds', () => {
  test.each([
    { ttlSeconds: 599, fields: ['ttlSeconds'] },
    { ttlSeconds: 600, fields: [] },
    { ttlSeconds: 86_400, fields: [] },
    { ttlSeconds: 86_401, fields: ['ttlSeconds'] },
    { ttlSeconds: 1_000_000, fields: ['ttlSeconds'] },
    { ttlSeconds: 7200.5, fields: ['ttlSeconds'] },
    { ttlSeconds: '7200', fields: ['ttlSeconds'] },
  ])('A79, A97: $ttlSeconds is taken or refused, never clamped', ({ ttlSeconds, fields }) => {
    expect(faultFields({ ttlSeconds })).toEqual(fields);
    if (fields.length === 0) expect(makeRequest({ ttlSeconds }).ttlSeconds).toBe(ttlSeconds);
  });

  test('A79: the setting raises the ceiling, up to seven days', () => {
    const settings = makeSettings({ ttlSecondsMax: 604_800 });
    expect(faultFields({ ttlSeconds: 604_800 }, settings)).toEqual([]);
    expect(faultFields({ ttlSeconds: 604_801 }, settings)).toEqual(['ttlSeconds']);
  });

  test.each([
    { given: { ttlSeconds: 1e9 }, most: 604_800 },
    { given: { timeoutSeconds: 1e9 }, most: 604_680 },
    { given: { keepOnFailureSeconds: 1e9 }, most: 604_800 },
    { given: { gpuIdleSeconds: 1e9 }, most: 604_800 },
    { given: { waitForCapacitySeconds: 1e9 }, most: 604_800 },
    { given: { retry: { preempted: 1e9 } }, most: 9 },
    { given: { tasks: 1e9 }, most: 10_000 },
    { given: { budgetUsd: 1e9 }, most: 1_000_000 },
    { given: { resources: { localSsdCount: 1e9 } }, most: 64 },
  ])('A79: too large a number is told the largest, $most: $given', ({ given, most }) => {
    expect(faultsOf(given)[0]?.accepted).toMatch(new RegExp(`\\b${most}\\b`));
  });

  test('A79: what the deployment allows is in the rule, which lists show alone', () => {
    const settings = makeSettings({ ttlSecondsMax: 3600 });
    expect(faultsOf({ ttlSeconds: 3601 }, settings)[0]?.rule).toContain('3600 seconds');
  });

  test('D34: the container’s limit leaves 120 seconds of the machine’s time to report', () => {
    expect(faultFields({ ttlSeconds: 3600, timeoutSeconds: 3480 })).toEqual([]);
    expect(faultFields({ ttlSeconds: 3600, timeoutSeconds: 3481 })).toEqual(['timeoutSeconds']);
    expect(faultFields({ timeoutSeconds: 7081 })).toEqual(['timeoutSeconds']);
    expect(makeRequest({ ttlSeconds: 600 }).timeoutSeconds).toBe(300);
  });

  test.each([
    { given: { tasks: 2 }, field: 'tasks' },
    { given: { retry: { preempted: 10 } }, field: 'retry.preempted' },
    { given: { retry: { failed: -1 } }, field: 'retry.failed' },
    { given: { waitForCapacitySeconds: 604_801 }, field: 'waitForCapacitySeconds' },
    { given: { keepOnFailureSeconds: 7201 }, field: 'keepOnFailureSeconds' },
    { given: { budgetUsd: 0 }, field: 'budgetUsd' },
    { given: { annotations: { a: 'x'.repeat(8192) } }, field: 'annotations' },
    { given: { capabilities: ['SYS_ADMIN'] }, field: 'capabilities[0]' },
    { given: { gpuIdleSeconds: 60 }, field: 'gpuIdleSeconds' },
  ])('$field is bounded', ({ given, field }) => {
    expect(faultFields(given)).toEqual([field]);
  });

  test('a budget over the deployment’s is refused, and without one the deployment’s stands', () => {
    const settings = makeSettings({ budgetUsdMax: 50 });
    expect(faultFields({ budgetUsd: 51 }, settings)).toEqual(['budgetUsd']);
    expect(makeRequest({}, settings).budgetUsd).toBe(50);
  });
});

describe('contradictions', () => {
  const version = 'projects/p/secrets/s/versions/1';
  test.each([
    { given: { resources: { machineType: 'e2-standard-4', cpus: 2 } }, field: 'resources.cpus' },
    {
      given: { resources: { machineType: 'e2-standard-4', machineTypes: ['e2-standard-4'] } },
      field: 'resources.machineType',
    },
    { given: { env: { A: 'x' }, secrets: { A: version } }, field: 'secrets.A' },
    {
      given: { outputs: { '/o': 'gs://bucket/o/' }, inputs: { '/o/x': 'gs://bucket/x' } },
      field: 'inputs["/o/x"]',
    },
    {
      given: { outputs: { '/o': 'gs://bucket/o/' }, secrets: { '/o': version } },
      field: 'outputs["/o"]',
    },
    { given: { package: { uri: 'gs://bucket/app.tar.gz' } }, field: 'package.sha256' },
    {
      given: { package: { uri: `gs://bucket/a-${'a'.repeat(64)}.tar.gz`, sha256: 'b'.repeat(64) } },
      field: 'package.sha256',
    },
    { given: { outputs: { '/o': 'gs://bucket/o' } }, field: 'outputs["/o"]' },
    { given: { outputs: { '/mayfly/x': 'gs://bucket/o/' } }, field: 'outputs["/mayfly/x"]' },
  ])('$field is refused', ({ given, field }) => {
    expect(faultFields(given)).toEqual([field]);
  });

  test('A6: a package is named by its content: the hash of its name is what the machine checks', () => {
    const sha256 = 'c'.repeat(64);
    const uri = `gs://bucket/runs/code/app-${sha256}.tar.gz`;
    expect(makeRequest({ package: { uri } }).package).toEqual({ uri, sha256 });
    expect(makeRequest({ package: { uri, sha256 } }).package).toEqual({ uri, sha256 });
    const other = 'd'.repeat(64);
    expect(faultsOf({ package: { uri, sha256: other } })).toMatchObject([
      { field: 'package.sha256', accepted: sha256 },
    ]);
    expect(faultFields({ package: { uri: 'gs://bucket/app.tar.gz' } })).toEqual(['package.sha256']);
  });

  test('a secret’s newest version is taken with a warning', () => {
    const parsed = parse({ secrets: { A: 'projects/p/secrets/s/versions/latest' } });
    expect(parsed).toMatchObject({ kind: 'valid' });
    expect(parsed.kind === 'valid' && parsed.warnings.join()).toContain('versions/latest');
  });
});

describe('fields by runtime', () => {
  const faultsOnJobs = (fields: object) => {
    const json = { runId: 'r', runtime: 'cloudrun-jobs', command: ['fit'], ...fields };
    const settings = makeSettings({ jobs: { ...JOBS, gpuJobs: true } });
    const parsed = parseRequest(json, { defaultRunId: null, settings });
    return parsed.kind === 'invalid' ? parsed.faults.map(({ field }) => field) : [];
  };

  test('what the contract’s example of Cloud Run Jobs asks for is valid', () => {
    const fields = {
      resources: { class: 'M', base: 'base-ml' },
      command: ['python', 'fit.py'],
      tasks: 8,
      checkpoint: { '/ckpt': 'gs://bucket/ckpt/' },
    };
    expect(faultsOnJobs(fields)).toEqual([]);
  });

  test.each([
    { given: { image: 'alpine' }, field: 'image' },
    { given: { imageCredentials: 'projects/p/secrets/s/versions/1' }, field: 'imageCredentials' },
    { given: { secrets: {} }, field: 'secrets' },
    { given: { resources: { machineType: 'e2-standard-4' } }, field: 'resources.machineType' },
    { given: { resources: { machineTypes: ['e2-small'] } }, field: 'resources.machineTypes' },
    { given: { resources: { cpus: 4 } }, field: 'resources.cpus' },
    { given: { resources: { memoryGiB: 4 } }, field: 'resources.memoryGiB' },
    { given: { resources: { gpu: { type: 'L4' } } }, field: 'resources.gpu.type' },
    { given: { resources: { architecture: 'amd64' } }, field: 'resources.architecture' },
    { given: { resources: { bootDiskGiB: 10 } }, field: 'resources.bootDiskGiB' },
    { given: { resources: { diskType: 'pd-ssd' } }, field: 'resources.diskType' },
    { given: { resources: { bootImage: 'cos' } }, field: 'resources.bootImage' },
    { given: { resources: { localSsdCount: 0 } }, field: 'resources.localSsdCount' },
    { given: { place: { zones: ['us-central1-a'] } }, field: 'place.zones' },
    { given: { place: { subnetworks: {} } }, field: 'place.subnetworks' },
    { given: { provisioning: 'spot' }, field: 'provisioning' },
    { given: { serviceAccount: WORKER }, field: 'serviceAccount' },
    { given: { metadataAccess: true }, field: 'metadataAccess' },
    { given: { capabilities: [] }, field: 'capabilities' },
    { given: { keepOnFailureSeconds: 0 }, field: 'keepOnFailureSeconds' },
    { given: { gpuIdleSeconds: 0 }, field: 'gpuIdleSeconds' },
    { given: { command: undefined }, field: 'command' },
    { given: { resources: { class: 'XL' } }, field: 'resources.class' },
    { given: { resources: { base: 'base-none' } }, field: 'resources.base' },
    { given: { resources: { class: 'GPU', base: 'base-ml' } }, field: 'resources.base' },
    { given: { resources: { class: 'GPU' }, timeoutSeconds: 3481 }, field: 'timeoutSeconds' },
  ])('cloudrun-jobs refuses $field, never ignores it', ({ given, field }) => {
    expect(faultsOnJobs(given)).toEqual([field]);
  });

  test.each([
    { given: { resources: { class: 'M' } }, field: 'resources.class' },
    { given: { resources: { base: 'base-ml' } }, field: 'resources.base' },
    { given: { checkpoint: { '/c': 'gs://bucket/c/' } }, field: 'checkpoint' },
    { given: { service: { port: 80 } }, field: 'service' },
    { given: { provisioning: 'flex-start' }, field: 'provisioning' },
    { given: { provisioning: 'reservation' }, field: 'provisioning' },
  ])('gce refuses $field, never ignores it', ({ given, field }) => {
    expect(faultFields(given)).toEqual([field]);
  });

  test.each(['flex-start', 'reservation'])('%s is refused with "not yet"', (provisioning) => {
    expect(faultsOf({ provisioning })[0]?.rule).toContain('not yet');
  });
});

test('P105: a secret cannot take the name of a variable that steers the machine’s own programs', () => {
  const version = 'projects/p/secrets/s/versions/1';
  const names = ['PATH', 'UID', 'DOCKER_HOST', 'BASH_ENV', 'LD_PRELOAD', 'OWN', 'PATHS'];
  const secrets = Object.fromEntries(names.map((name) => [name, version]));
  expect(faultFields({ secrets })).toEqual(names.slice(0, 5).map((name) => `secrets.${name}`));
});
