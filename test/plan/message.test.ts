import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstNonJson } from '#shared/plan/json-position.ts';
import { parseJsonText, readMessage } from '#shared/plan/message.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);

function reasonOf(bytes: Uint8Array): string {
  const parsed = parseJsonText(bytes);
  return parsed.kind === 'unreadable' ? parsed.reason : 'it was read';
}

describe('bytes to JSON', () => {
  test('P91: bare words where a shell ate the quotes give the position and a hint', () => {
    const reason = reasonOf(Buffer.from('e2NvbW1hbmQ6c3RvcH0=', 'base64'));
    expect(reason).toContain('position 1 (line 1, column 2)');
    expect(reason).toContain('command:stop');
    expect(reason).toContain('single quotes');
  });

  test('P93: half a document says where it ends too early', () => {
    const reason = reasonOf(utf8('{"image":"alpine:3.20",'));
    expect(reason).toContain('ends too early');
    expect(reason).toContain('position 23');
  });

  test('a byte order mark and CRLF are accepted, UTF-16 is named', () => {
    const value = { kind: 'json', value: { a: 1 } };
    expect(parseJsonText(utf8('\ufeff{\r\n"a":1\r\n}\r\n'))).toEqual(value);
    expect(reasonOf(Buffer.from('\ufeff{"a":1}', 'utf16le'))).toContain('UTF-16 (little endian)');
    expect(reasonOf(Buffer.from('{"a":1}', 'utf16le'))).toContain('UTF-16 (little endian)');
    expect(reasonOf(Uint8Array.of(0xfe, 0xff, 0, 0x7b))).toContain('UTF-16 (big endian)');
  });

  test.each([
    { name: 'nothing', bytes: utf8(''), reason: 'no data' },
    { name: 'blanks', bytes: utf8(' \n'), reason: 'no data' },
    { name: 'bytes that are no UTF-8', bytes: Uint8Array.of(0x7b, 0xff, 0x7d), reason: 'UTF-8' },
    { name: 'single quotes', bytes: utf8("{'a':1}"), reason: 'double quotes' },
    { name: 'a comma too many', bytes: utf8('{"a":1,}'), reason: 'position 7' },
    { name: 'deep nesting', bytes: utf8('['.repeat(40) + ']'.repeat(40)), reason: 'nested' },
    { name: 'endless nesting', bytes: utf8('['.repeat(400_000)), reason: 'ends too early' },
    { name: 'a long broken string', bytes: utf8(`"${'a'.repeat(900_000)}`), reason: 'too early' },
    { name: '1 MiB and a byte', bytes: new Uint8Array(1_048_577), reason: '1048577 bytes' },
  ])('P93: $name is refused with a sentence that says so', ({ bytes, reason }) => {
    expect(reasonOf(bytes)).toContain(reason);
  });

  test('P93: whatever the engine takes as JSON has no wrong position', () => {
    const texts = fc.oneof(
      fc.json(),
      fc.json().chain((json) => fc.nat(json.length).map((at) => json.slice(0, at))),
      fc
        .tuple(fc.json(), fc.nat(), fc.constantFrom(...'{}[],:"\\ 01eE+-.tfn\n'))
        .map(([json, at, extra]) => {
          const cut = at % (json.length + 1);
          return json.slice(0, cut) + extra + json.slice(cut);
        }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        if (isComplete(text)) expect(firstNonJson(text)).toBe(text.length);
      }),
      { seed: 5, numRuns: 3000 },
    );
  });

  test('P91: nothing before the position is itself a wrong position', () => {
    const broken = fc
      .tuple(fc.json({ maxDepth: 2 }), fc.nat(), fc.constantFrom(...'}]:x\u0001'))
      .map(([json, at, extra]) => {
        const cut = at % (json.length + 1);
        return json.slice(0, cut) + extra + json.slice(cut);
      })
      .filter((text) => !isComplete(text));
    fc.assert(
      fc.property(broken, (text) => {
        const at = firstNonJson(text);
        expect(at).toBeLessThanOrEqual(text.length);
        // A cut before the position fails for its end alone, and so has no wrong character.
        expect(firstNonJson(text.slice(0, at))).toBe(at);
      }),
      { seed: 6, numRuns: 2000 },
    );
  });
});

function isComplete(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('kinds of messages', () => {
  test.each([
    { value: { image: 'alpine' }, kind: 'request' },
    { value: { cancel: 'run-1' }, kind: 'cancel' },
    { value: { cancel: 'run-1', reason: 'no more' }, kind: 'cancel' },
    { value: { look: 'run-1', intent: 0 }, kind: 'look' },
    { value: { cancel: 'run-1', image: 'alpine' }, kind: 'invalid' },
    { value: { cancel: 'run/1' }, kind: 'invalid' },
    { value: { cancel: 'run-1', reason: 7 }, kind: 'invalid' },
    { value: { look: 'run-1' }, kind: 'invalid' },
    { value: { look: 'run-1', intent: -1 }, kind: 'invalid' },
    { value: { look: 'run-1', intent: 1.5 }, kind: 'invalid' },
    { value: [], kind: 'invalid' },
    { value: 'text', kind: 'invalid' },
    { value: null, kind: 'invalid' },
  ])('$value is a $kind', ({ value, kind }) => {
    expect(readMessage(value).kind).toBe(kind);
  });

  test('a cancel carries its run and its reason, and names what is wrong', () => {
    expect(readMessage({ cancel: 'run-1', reason: 'no more' })).toEqual({
      kind: 'cancel',
      runId: 'run-1',
      reason: 'no more',
    });
    const wrong = readMessage({ cancel: 'run/1', extra: 1 });
    const fields = wrong.kind === 'invalid' ? wrong.faults.map(({ field }) => field) : [];
    expect(fields).toEqual(['extra', 'cancel']);
  });
});
