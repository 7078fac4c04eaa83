import { describe, expect, test } from 'vitest';
import { readTraceparent, traceNames, traceparentOf } from '#shared/plan/trace-context.ts';

// The example of the specification.
const ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const SAMPLED = `00-${ID}-${SPAN}-01`;

describe('readTraceparent', () => {
  test.each([
    ['version 00', SAMPLED, SAMPLED],
    ['not sampled', `00-${ID}-${SPAN}-00`, `00-${ID}-${SPAN}-00`],
    ['a later version, as 00', `01-${ID}-${SPAN}-01`, SAMPLED],
    ['a later version with more at its end', `cc-${ID}-${SPAN}-01-what`, SAMPLED],
    ['version 00 with more at its end', `${SAMPLED}-what`, null],
    ['version ff', `ff-${ID}-${SPAN}-01`, null],
    ['capitals', SAMPLED.toUpperCase(), null],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`, null],
    ['a span id of zeros', `00-${ID}-${'0'.repeat(16)}-01`, null],
    ['a short trace id', `00-${ID.slice(1)}-${SPAN}-01`, null],
    ['something glued to a later version', `01-${ID}-${SPAN}-01x`, null],
    ['a line feed at the end', `${SAMPLED}\n`, null],
    ['a quote', `00-${ID}-${SPAN}-0"`, null],
    ['nothing', '', null],
    ['no attribute', undefined, null],
  ])('%s', (_, text, read) => {
    expect(readTraceparent(text)).toBe(read);
  });
});

test("the publisher's own attribute comes before that of Google's client, unless it is not valid", () => {
  const other = SAMPLED.replace('4b', '5c');
  expect(traceparentOf({ traceparent: SAMPLED, googclient_traceparent: other })).toBe(SAMPLED);
  expect(traceparentOf({ googclient_traceparent: other })).toBe(other);
  expect(traceparentOf({ traceparent: 'x', googclient_traceparent: other })).toBe(other);
  expect(traceparentOf({ traceparent: 'x' })).toBeNull();
});

test('Cloud Logging names a trace by its project', () => {
  const trace = `projects/p/traces/${ID}`;
  expect(traceNames('p', SAMPLED)).toEqual({ trace, spanId: SPAN, sampled: true });
  expect(traceNames('p', `00-${ID}-${SPAN}-02`).sampled).toBe(false);
  expect(traceNames('p', `00-${ID}-${SPAN}-03`).sampled).toBe(true);
});
