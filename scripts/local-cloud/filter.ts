// The `filter` parameter of Compute's lists, in both styles: AIP-160 (`labels.k = v`, `labels.k:*`,
// AND, OR, NOT, parentheses) and the older `field eq regular-expression` (whole value, RE2 syntax).
import { readFilter, TokenReader, unquote } from '#scripts/local-cloud/filter-tokens.ts';
import { asObject, type JsonObject } from '#scripts/local-cloud/json.ts';

export type Matcher = (resource: JsonObject) => boolean;

const TOKEN = /\s*(?:([()])|("(?:[^"\\]|\\.)*")|(!=|<=|>=|=|<|>|:)|([^\s()"=<>:!]+))/y;

type Test = (actual: string | undefined) => boolean;

/** Operator → a test against the wanted value. */
const OPERATORS: Readonly<Record<string, (wanted: string) => Test>> = {
  '=': (wanted) => (actual) => actual === wanted,
  '!=': (wanted) => (actual) => actual !== wanted,
  ':': (wanted) => (actual) =>
    actual !== undefined && (wanted === '*' || actual.toLowerCase().includes(wanted.toLowerCase())),
  '<': (wanted) => (actual) => compare(actual, wanted) < 0,
  '<=': (wanted) => (actual) => compare(actual, wanted) <= 0,
  '>': (wanted) => (actual) => compare(actual, wanted) > 0,
  '>=': (wanted) => (actual) => compare(actual, wanted) >= 0,
  eq: wholeMatch,
  ne: (wanted) => {
    const equal = wholeMatch(wanted);
    return (actual) => !equal(actual);
  },
};

function wholeMatch(wanted: string): Test {
  const expression = new RegExp(`^(?:${wanted})$`);
  return (actual) => expression.test(actual ?? '');
}

function compare(actual: string | undefined, wanted: string): number {
  const difference = Number(actual) - Number(wanted);
  const textual = (actual ?? '') < wanted ? -1 : Number((actual ?? '') > wanted);
  return Number.isNaN(difference) ? textual : difference;
}

function valueAt(resource: JsonObject, path: string): string | undefined {
  let value: unknown = resource;
  for (const part of path.split('.')) {
    value = asObject(value)[part];
  }
  return value === undefined || value === null ? undefined : String(value);
}

/** Recursive descent over the tokens. */
class FilterReader {
  readonly #tokens: TokenReader;

  constructor(text: string) {
    this.#tokens = new TokenReader(text, TOKEN);
  }

  readAll(): Matcher {
    const matcher = this.#readAlternatives();
    this.#tokens.expectEnd();
    return matcher;
  }

  #readAlternatives(): Matcher {
    const terms = [this.#readSequence()];
    while (this.#tokens.takeIf('OR')) {
      terms.push(this.#readSequence());
    }
    return (resource) => terms.some((term) => term(resource));
  }

  /** Terms side by side are joined as by AND. */
  #readSequence(): Matcher {
    const terms = [this.#readTerm()];
    for (;;) {
      this.#tokens.takeIf('AND');
      const { next } = this.#tokens;
      if (next === undefined || next === ')' || next === 'OR') {
        return (resource) => terms.every((term) => term(resource));
      }
      terms.push(this.#readTerm());
    }
  }

  #readTerm(): Matcher {
    if (this.#tokens.takeIf('NOT')) {
      const negated = this.#readTerm();
      return (resource) => !negated(resource);
    }
    if (this.#tokens.takeIf('(')) {
      const inner = this.#readAlternatives();
      this.#tokens.expect(')');
      return inner;
    }
    const path = this.#tokens.take();
    const operator = OPERATORS[this.#tokens.take()];
    const wanted = unquote(this.#tokens.take());
    if (operator === undefined || !/^[a-zA-Z][\w.-]*$/.test(path)) {
      throw new SyntaxError(`no comparison at ${path}`);
    }
    const test = operator(wanted);
    return (resource) => test(valueAt(resource, path));
  }
}

/** A test for resources; the fault's text when the filter cannot be read. Empty matches everything. */
export function compileFilter(text: string): Matcher | string {
  return text.trim() === '' ? () => true : readFilter(() => new FilterReader(text).readAll());
}
