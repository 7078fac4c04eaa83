// What the readers of filters have in common: the tokens of a text one after another. Any token out of
// place throws a SyntaxError.

export class TokenReader {
  readonly #tokens: readonly string[];
  #index = 0;

  /** `pattern` is sticky and takes one token with the blanks before it. */
  constructor(text: string, pattern: RegExp) {
    const tokens: string[] = [];
    pattern.lastIndex = 0;
    while (pattern.lastIndex < text.trimEnd().length) {
      const match = pattern.exec(text);
      if (match === null) throw new SyntaxError(`unreadable filter: ${text}`);
      tokens.push(match[0].trim());
    }
    this.#tokens = tokens;
  }

  /** The next token, which stays; undefined at the end. */
  get next(): string | undefined {
    return this.#tokens[this.#index];
  }

  take(): string {
    const token = this.next;
    if (token === undefined) throw new SyntaxError('the filter ends too early');
    this.#index += 1;
    return token;
  }

  takeIf(word: string): boolean {
    const found = this.next === word;
    this.#index += found ? 1 : 0;
    return found;
  }

  expect(word: string): void {
    if (!this.takeIf(word)) throw new SyntaxError(`expected ${word}`);
  }

  expectEnd(): void {
    if (this.next !== undefined) throw new SyntaxError(`unexpected ${this.next}`);
  }
}

/** A quoted token without its quotes and escapes; any other as it is. */
export const unquote = (token: string) =>
  token.startsWith('"') ? token.slice(1, -1).replace(/\\(.)/g, '$1') : token;

/** What `read` makes of a filter; the fault's text when the filter cannot be read. */
export function readFilter<Test>(read: () => Test): Test | string {
  try {
    return read();
  } catch (error) {
    return error instanceof SyntaxError ? error.message : String(error);
  }
}
