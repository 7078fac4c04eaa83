// Fields that are not there: where they belong. Places by hand from the table of a request's fields (README,
// docs/reference.md), not from the code.
import { expect, test } from 'vitest';
import type { Field, FieldTable } from '#shared/plan/field.ts';
import { requestFields } from '#shared/plan/request-fields.ts';
import { OTHER_WORDS, unknownField } from '#shared/plan/unknown-field.ts';

test.each([
  ['machineType', 'resources.machineType', '{"resources": {"machineType": …}}'],
  ['machine_type', 'resources.machineType', '{"resources": {"machineType": …}}'],
  ['cpu', 'resources.cpus', '{"resources": {"cpus": …}}'],
  ['memoryMb', 'resources.memoryGiB', '{"resources": {"memoryGiB": …}}'],
  ['zone', 'place.zones', '{"place": {"zones": …}}'],
  ['region', 'place.regions', '{"place": {"regions": …}}'],
  ['type', 'resources.gpu.type', '{"resources": {"gpu": {"type": …}}}'],
  ['GPUs', 'resources.gpu', '{"resources": {"gpu": …}}'],
  ['spot', 'provisioning', '{"provisioning": …}'],
])('%s at the top belongs at %s', (name, path, accepted) => {
  expect(unknownField(name, requestFields, requestFields)).toEqual({
    ...{ rule: `there is no such field here; did you mean ${path}`, accepted },
  });
});

test('a field of the request within a group is sent to its place, a mistyped one of the group to its name', () => {
  const { fields } = requestFields.resources;
  const inResources = (name: string) => unknownField(name, fields, requestFields);
  expect(inResources('timeoutSeconds').rule).toMatch(/did you mean timeoutSeconds$/);
  expect(inResources('zone').accepted).toBe('{"place": {"zones": …}}');
  expect(inResources('machinetype')).toEqual({
    ...{ rule: 'there is no such field; did you mean machineType', accepted: 'machineType' },
  });
});

test('a name like nothing gets the list of what may stand there', () => {
  for (const name of ['xyz', 'constructor', '__proto__', 'x'.repeat(5000)]) {
    const { rule, accepted } = unknownField(name, requestFields, requestFields);
    expect(rule).toBe('there is no such field');
    expect(accepted).toMatch(/^runId, labels, .*resources, place/);
  }
});

test('every other word leads to a field, and is none itself', () => {
  const found = (path: string) =>
    path
      .split('.')
      .reduce<FieldTable | Field<unknown> | undefined>(
        (at, name) =>
          at === undefined || isField(at)
            ? undefined
            : ((entry) => (entry?.kind === 'group' ? entry.fields : entry))(at[name]),
        requestFields,
      );
  for (const [word, path] of Object.entries(OTHER_WORDS)) {
    expect(found(path), path).toBeDefined();
    expect(found(word), word).toBeUndefined();
  }
});

const isField = (at: FieldTable | Field<unknown>): at is Field<unknown> => at.kind === 'field';
