// A subscription's filter over attributes: `attributes.k = "v"`, `!=`, `attributes:k`,
// `hasPrefix(attributes.k, "p")`, NOT, AND, OR and parentheses.

export type AttributeTest = (attributes: Readonly<Record<string, string>>) => boolean;

const TOKEN = /\s*(hasPrefix|attributes|AND|OR|NOT|!=|[().:,=-]|"(?:[^"\\]|\\.)*"|[\w-]+)/y;

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const match = TOKEN.exec(text);
    if (match === null) {
      throw new SyntaxError(`unreadable filter: ${text}`);
    }
    tokens.push(match[1] ?? '');
  }
  return tokens;
}

const textOf = (token: string) =>
  token.startsWith('"') ? token.slice(1, -1).replace(/\\(.)/g, '$1') : token;

class FilterReader {
  readonly #tokens: readonly string[];
  #index = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  readAll(): AttributeTest {
    const test = this.#readTerms();
    if (this.#index < this.#tokens.length) {
      throw new SyntaxError(`unexpected ${this.#tokens[this.#index]}`);
    }
    return test;
  }

  /** AND and OR may not be mixed without parentheses. */
  #readTerms(): AttributeTest {
    const terms = [this.#readTerm()];
    const joint = this.#tokens[this.#index];
    while ((joint === 'AND' || joint === 'OR') && this.#takeIf(joint)) {
      terms.push(this.#readTerm());
    }
    return joint === 'OR'
      ? (attributes) => terms.some((term) => term(attributes))
      : (attributes) => terms.every((term) => term(attributes));
  }

  #readTerm(): AttributeTest {
    if (this.#takeIf('NOT') || this.#takeIf('-')) {
      const negated = this.#readTerm();
      return (attributes) => !negated(attributes);
    }
    if (this.#takeIf('(')) {
      const inner = this.#readTerms();
      this.#expect(')');
      return inner;
    }
    if (this.#takeIf('hasPrefix')) {
      return this.#readPrefix();
    }
    this.#expect('attributes');
    if (this.#takeIf(':')) {
      const key = textOf(this.#take());
      return (attributes) => attributes[key] !== undefined;
    }
    return this.#readComparison();
  }

  #readPrefix(): AttributeTest {
    this.#expect('(');
    this.#expect('attributes');
    this.#expect('.');
    const key = textOf(this.#take());
    this.#expect(',');
    const prefix = textOf(this.#take());
    this.#expect(')');
    return (attributes) => attributes[key]?.startsWith(prefix) === true;
  }

  #readComparison(): AttributeTest {
    this.#expect('.');
    const key = textOf(this.#take());
    const different = this.#takeIf('!=');
    if (!different) {
      this.#expect('=');
    }
    const wanted = textOf(this.#take());
    return (attributes) => (attributes[key] === wanted) !== different;
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

  #expect(word: string): void {
    if (!this.#takeIf(word)) {
      throw new SyntaxError(`expected ${word}`);
    }
  }
}

/** The filter as a test; the fault's text when it cannot be read. Empty lets everything through. */
export function compileAttributeFilter(text: string): AttributeTest | string {
  try {
    return text.trim() === '' ? () => true : new FilterReader(text).readAll();
  } catch (error) {
    return error instanceof SyntaxError ? error.message : String(error);
  }
}
