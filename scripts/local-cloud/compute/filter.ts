// The `filter` parameter of Compute's lists, in both styles: AIP-160 (`labels.k = v`, `labels.k:*`,
// AND, OR, NOT, parentheses) and the older `field eq regular-expression` (whole value, RE2 syntax).
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

function tokensOf(text: string): string[] | null {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const match = TOKEN.exec(text);
    if (match === null) {
      return null;
    }
    tokens.push(match[0].trim());
  }
  return tokens;
}

function valueAt(resource: JsonObject, path: string): string | undefined {
  let value: unknown = resource;
  for (const part of path.split('.')) {
    value = asObject(value)[part];
  }
  return value === undefined || value === null ? undefined : String(value);
}

const unquote = (token: string) =>
  token.startsWith('"') ? token.slice(1, -1).replace(/\\(.)/g, '$1') : token;

/** A reader of the tokens by recursive descent; any token out of place throws a SyntaxError. */
class FilterReader {
  readonly #tokens: readonly string[];
  #index = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  readAll(): Matcher {
    const matcher = this.#readAlternatives();
    if (this.#index < this.#tokens.length) {
      throw new SyntaxError(`unexpected ${this.#tokens[this.#index]}`);
    }
    return matcher;
  }

  #readAlternatives(): Matcher {
    const terms = [this.#readSequence()];
    while (this.#takeIf('OR')) {
      terms.push(this.#readSequence());
    }
    return (resource) => terms.some((term) => term(resource));
  }

  /** Terms side by side are joined as by AND. */
  #readSequence(): Matcher {
    const terms = [this.#readTerm()];
    for (;;) {
      this.#takeIf('AND');
      const next = this.#tokens[this.#index];
      if (next === undefined || next === ')' || next === 'OR') {
        return (resource) => terms.every((term) => term(resource));
      }
      terms.push(this.#readTerm());
    }
  }

  #readTerm(): Matcher {
    if (this.#takeIf('NOT')) {
      const negated = this.#readTerm();
      return (resource) => !negated(resource);
    }
    if (this.#takeIf('(')) {
      const inner = this.#readAlternatives();
      if (!this.#takeIf(')')) {
        throw new SyntaxError('missing )');
      }
      return inner;
    }
    const path = this.#take();
    const operator = OPERATORS[this.#take()];
    const wanted = unquote(this.#take());
    if (operator === undefined || !/^[a-zA-Z][\w.-]*$/.test(path)) {
      throw new SyntaxError(`no comparison at ${path}`);
    }
    const test = operator(wanted);
    return (resource) => test(valueAt(resource, path));
  }

  #take(): string {
    const token = this.#tokens[this.#index];
    if (token === undefined) {
      throw new SyntaxError('the filter ends too early');
    }
    this.#index += 1;
    return token;
  }

  #takeIf(word: string): boolean {
    const found = this.#tokens[this.#index] === word;
    this.#index += found ? 1 : 0;
    return found;
  }
}

/** A test for resources; the fault's text when the filter cannot be read. Empty matches everything. */
export function compileFilter(text: string): Matcher | string {
  if (text.trim() === '') {
    return () => true;
  }
  const tokens = tokensOf(text);
  if (tokens === null) {
    return `unreadable filter: ${text}`;
  }
  try {
    return new FilterReader(tokens).readAll();
  } catch (error) {
    return error instanceof SyntaxError ? error.message : String(error);
  }
}
