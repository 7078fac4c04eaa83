// A subscription's filter over attributes: `attributes.k = "v"`, `!=`, `attributes:k`,
// `hasPrefix(attributes.k, "p")`, NOT, AND, OR and parentheses.
import { readFilter, TokenReader, unquote } from '#scripts/local-cloud/filter-tokens.ts';

export type AttributeTest = (attributes: Readonly<Record<string, string>>) => boolean;

const TOKEN = /\s*(hasPrefix|attributes|AND|OR|NOT|!=|[().:,=-]|"(?:[^"\\]|\\.)*"|[\w-]+)/y;

class FilterReader {
  readonly #tokens: TokenReader;

  constructor(text: string) {
    this.#tokens = new TokenReader(text, TOKEN);
  }

  readAll(): AttributeTest {
    const test = this.#readTerms();
    this.#tokens.expectEnd();
    return test;
  }

  /** AND and OR may not be mixed without parentheses. */
  #readTerms(): AttributeTest {
    const terms = [this.#readTerm()];
    const joint = this.#tokens.next;
    while ((joint === 'AND' || joint === 'OR') && this.#tokens.takeIf(joint)) {
      terms.push(this.#readTerm());
    }
    return joint === 'OR'
      ? (attributes) => terms.some((term) => term(attributes))
      : (attributes) => terms.every((term) => term(attributes));
  }

  #readTerm(): AttributeTest {
    if (this.#tokens.takeIf('NOT') || this.#tokens.takeIf('-')) {
      const negated = this.#readTerm();
      return (attributes) => !negated(attributes);
    }
    if (this.#tokens.takeIf('(')) {
      const inner = this.#readTerms();
      this.#tokens.expect(')');
      return inner;
    }
    if (this.#tokens.takeIf('hasPrefix')) {
      return this.#readPrefix();
    }
    this.#tokens.expect('attributes');
    if (this.#tokens.takeIf(':')) {
      const key = unquote(this.#tokens.take());
      return (attributes) => attributes[key] !== undefined;
    }
    return this.#readComparison();
  }

  #readPrefix(): AttributeTest {
    this.#tokens.expect('(');
    this.#tokens.expect('attributes');
    this.#tokens.expect('.');
    const key = unquote(this.#tokens.take());
    this.#tokens.expect(',');
    const prefix = unquote(this.#tokens.take());
    this.#tokens.expect(')');
    return (attributes) => attributes[key]?.startsWith(prefix) === true;
  }

  #readComparison(): AttributeTest {
    this.#tokens.expect('.');
    const key = unquote(this.#tokens.take());
    const different = this.#tokens.takeIf('!=');
    if (!different) {
      this.#tokens.expect('=');
    }
    const wanted = unquote(this.#tokens.take());
    return (attributes) => (attributes[key] === wanted) !== different;
  }
}

/** The filter as a test; the fault's text when it cannot be read. Empty lets everything through. */
export function compileAttributeFilter(text: string): AttributeTest | string {
  return text.trim() === '' ? () => true : readFilter(() => new FilterReader(text).readAll());
}
