import { expect, test } from 'vitest';
import { parseCall, type Verb } from '#scripts/mayfly/call.ts';
import { CommandError } from '#scripts/mayfly/exit-codes.ts';
import { applyRequestFlags, parseDuration, REQUEST_FLAGS } from '#scripts/mayfly/request-flags.ts';

const verb: Verb = {
  name: 'submit',
  operands: '[FILE|-]',
  operandsMin: 0,
  operandsMax: 1,
  takesRest: true,
  summary: 'asks for a run',
  details: [],
  flags: REQUEST_FLAGS,
  run: async () => 0,
};
const parse = (...words: string[]) => parseCall(verb, words);

test('flags lay the common fields over the request, arguments come after --', () => {
  const call = parse(
    ...['req.json', '--image', 'eu.gcr.io/p/i:1', '--gpu', 'L4:2', '--spot', '--ttl', '2h'],
    ...['--env', 'A=1', '--env', 'B=x=y', '--memory', '32', '--zone', 'europe-west1-b'],
    ...['--', '--image', '-', 'αβ "x" $y', ''],
  );
  expect(call.operands).toEqual(['req.json']);
  const request = { runId: 'r1', env: { A: '0', C: 'c' }, resources: { cpus: 8 }, args: ['old'] };
  expect(applyRequestFlags(request, call)).toEqual({
    runId: 'r1',
    image: 'eu.gcr.io/p/i:1',
    provisioning: 'spot',
    ttlSeconds: 7200,
    env: { A: '1', B: 'x=y', C: 'c' },
    resources: { cpus: 8, memoryGiB: 32, gpu: { type: 'L4', count: 2 } },
    place: { zones: ['europe-west1-b'] },
    args: ['--image', '-', 'αβ "x" $y', ''],
  });
});

test('a request without flags stays what it was', () => {
  const request = { image: 'x', resources: 'not an object', more: [1] };
  expect(applyRequestFlags(request, parse('req.json'))).toEqual(request);
});

test.each([
  ['90', 90],
  ['90s', 90],
  ['15m', 900],
  ['2h', 7200],
  ['1d', 86_400],
])('the time %s is %d seconds', (text, seconds) => {
  expect(parseDuration('ttl', text)).toBe(seconds);
});

test.each([
  {
    name: 'an unknown flag',
    words: ['--imge', 'x'],
    says: /unknown flag --imge; known here: .*--image/,
  },
  { name: 'a flag without its value', words: ['--image'], says: /--image/ },
  { name: 'too many operands', words: ['a', 'b'], says: /submit does not take "b"/ },
  {
    name: 'a time that is none',
    words: ['--ttl', '2 hours'],
    says: /--ttl "2 hours" is not a time/,
  },
  { name: 'a GPU that is none', words: ['--gpu', 'L4:x'], says: /--gpu "L4:x" is not TYPE/ },
  { name: 'a pair that is none', words: ['--env', 'A'], says: /--env "A" is not NAME=VALUE/ },
  {
    name: 'a number that is none',
    words: ['--cpus', 'four'],
    says: /--cpus "four" is not a number/,
  },
])('a wrong command line ends with code 2 and the wrong word: $name', ({ words, says }) => {
  const failure = catchFailure(() => applyRequestFlags({}, parse(...words)));
  expect(failure).toBeInstanceOf(CommandError);
  expect(failure).toMatchObject({ exitCode: 2, message: expect.stringMatching(says) });
});

function catchFailure(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return null;
}
