import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { legalLabels, machineLabels, runIdLabel } from '#shared/plan/labels.ts';
import { instanceName, runHash } from '#shared/plan/names.ts';
import { faultsOf, makeBody, makeIntent, makeRequest, parse } from '#test/plan/fixtures.ts';

const LEGAL_KEY = /^[a-z][a-z0-9_-]{0,62}$/;
const LEGAL_VALUE = /^[a-z0-9_-]{0,63}$/;

const labelsOf = (fields: object) => makeBody({ ...fields }).labels;

describe('labels of ours', () => {
  test('P01: ids longer than a label give legal slugs with a hash, different for each run', () => {
    const start = 'ci-nightly-staging-team-blue-upgrade-operator-integration-europe-west-00';
    const runs = ['15', '16'].map((end) => start + end);
    const labels = runs.map((runId) => labelsOf({ runId }));
    for (const { run_id = '' } of labels) expect(run_id).toMatch(/^[a-z0-9-]{1,46}-[0-9a-f]{16}$/);
    for (const key of ['run_id', 'run-hash']) {
      expect(new Set(labels.map((each) => each[key])).size).toBe(2);
    }
    expect(new Set(runs.map((runId) => instanceName('mayfly', runId, 1))).size).toBe(2);
    expect(runs.map((runId) => makeRequest({ runId }).runId)).toEqual(runs);
  });

  test('D25: the run id label is the id itself only when that is legal', () => {
    expect(runIdLabel('run_1-a')).toBe('run_1-a');
    expect(runIdLabel('Run.1')).toBe(`run-1-${runHash('Run.1')}`);
    expect(runIdLabel('a'.repeat(63))).toBe('a'.repeat(63));
    expect(runIdLabel('a'.repeat(64))).toHaveLength(63);
  });

  test('A106, D25: a machine and its disk carry every label that a sweep reads', () => {
    const { body, deadlineSeconds } = makeIntent({ labels: { team: 'blue' } });
    const labels = {
      team: 'blue',
      'managed-by': 'mayfly',
      deployment: 'mayfly',
      run_id: 'run-1',
      'run-hash': runHash('run-1'),
      attempt: '1',
      intent: '1',
      deadline: String(deadlineSeconds),
      created: '1796126400',
      runtime: 'gce',
    };
    expect(body.labels).toEqual(labels);
    expect(body).toMatchObject({ disks: [{ initializeParams: { labels } }] });
  });

  test('A28: labels of ours always stand, beside those of the request', () => {
    expect(Object.keys(labelsOf({}))).toHaveLength(9);
    expect(labelsOf({ labels: { team: 'blue' } })).toMatchObject({ team: 'blue', attempt: '1' });
    const facts = { deployment: 'd', runId: 'r', attempt: 1, intent: 1, deadlineSeconds: 2 };
    const theirs = { attempt: '9', deadline: '9', 'managed-by': 'x' };
    expect(machineLabels(theirs, { ...facts, createdSeconds: 1 })).toMatchObject({
      attempt: '1',
      deadline: '2',
      'managed-by': 'mayfly',
    });
  });
});

describe('labels of a request', () => {
  test('P02: values are made legal with a warning for each change', () => {
    const parsed = parse({ labels: { app: 'head.default', owner: 'Test-By-Ann', 'A.b': 'x' } });
    expect(parsed).toMatchObject({
      request: { labels: { app: 'head-default', owner: 'test-by-ann', 'a-b': 'x' } },
    });
    const warnings = parsed.kind === 'valid' ? parsed.warnings : [];
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toContain('head.default');
  });

  test('P02: keys that collide in lower case are refused with both names', () => {
    const faults = faultsOf({ labels: { Team: 'x', team: 'y' } });
    expect(faults).toHaveLength(1);
    expect(faults[0]?.rule).toContain('"Team"');
    expect(faults[0]?.field).toBe('labels.team');
  });

  test.each([
    'managed-by',
    'deployment',
    'run_id',
    'run-hash',
    'attempt',
    'intent',
    'deadline',
    'created',
    'runtime',
    'Run_ID',
  ])('P02: %s is ours and cannot be set', (key) => {
    expect(faultsOf({ labels: { [key]: 'x' } })).toHaveLength(1);
  });

  test('P04: values that look odd but are legal stay, without a warning', () => {
    const labels = { task: '7', job: 'nfs_server', empty: '' };
    expect(parse({ labels })).toMatchObject({ kind: 'valid', request: { labels }, warnings: [] });
  });

  test('55 labels are taken, one more is refused', () => {
    const labels = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'x']));
    expect(faultsOf({ labels: labels(55) })).toEqual([]);
    expect(faultsOf({ labels: labels(56) }).map(({ field }) => field)).toEqual(['labels']);
  });

  test('D25: whatever is asked for, what is written is legal, and nothing vanishes unsaid', () => {
    const texts = fc.string({ unit: 'grapheme', maxLength: 80 });
    fc.assert(
      fc.property(fc.dictionary(texts, texts, { maxKeys: 12 }), (asked) => {
        const { labels, faults } = legalLabels(asked);
        expect(Object.keys(labels).length + faults.length).toBe(Object.keys(asked).length);
        const facts = { deployment: 'd', runId: 'R', attempt: 1, intent: 1 };
        const all = machineLabels(labels, { ...facts, deadlineSeconds: 2, createdSeconds: 1 });
        for (const [key, value] of Object.entries(all)) {
          expect(key).toMatch(LEGAL_KEY);
          expect(value).toMatch(LEGAL_VALUE);
        }
      }),
      { seed: 25, numRuns: 1000 },
    );
  });
});
