// Parsers of single settings: text in, a typed value or the broken rule out.
import { isServiceAccount, SERVICE_ACCOUNT_RULE } from '#shared/plan/service-account.ts';
import type { TextRule } from '#shared/plan/setting-rules.ts';

export type Parsed<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'broken'; readonly rule: string; readonly accepted: string };

export type Parse<Value> = (text: string) => Parsed<Value>;

const value = <Value>(read: Value): Parsed<Value> => ({ kind: 'value', value: read });
const broken = (rule: string, accepted: string): Parsed<never> => ({
  kind: 'broken',
  rule,
  accepted,
});

/** Text of one form. */
export function textOf({ pattern, rule, accepted }: TextRule): Parse<string> {
  return (text) => (pattern.test(text) ? value(text) : broken(rule, accepted));
}

/** One of a few words. */
export function oneOf<Word extends string>(...words: readonly Word[]): Parse<Word> {
  return (text) => {
    const word = words.find((known) => known === text);
    return word === undefined
      ? broken('it is one of a few words', words.join(', '))
      : value<Word>(word);
  };
}

/** A whole number within bounds, both included. */
export function wholeNumber(least: number, most: number): Parse<number> {
  return (text) => {
    const number = /^[0-9]{1,12}$/.test(text) ? Number(text) : Number.NaN;
    return number >= least && number <= most
      ? value(number)
      : broken('it is a whole number within bounds', `${least} to ${most}`);
  };
}

/** An amount of money above zero. */
export function amount(text: string): Parsed<number> {
  const number = /^[0-9]{1,9}(\.[0-9]{1,6})?$/.test(text) ? Number(text) : 0;
  return number > 0 ? value(number) : broken('it is an amount above 0', '25 or 0.50');
}

export function flag(text: string): Parsed<boolean> {
  if (text !== 'true' && text !== 'false') return broken('it is a yes or a no', 'true, false');
  return value(text === 'true');
}

/** A list of such texts, separated by commas; blanks around the commas do not count. */
export function listOf(parse: Parse<string>): Parse<readonly string[]> {
  return (text) => {
    const items = text.split(/\s*,\s*/);
    for (const item of items) {
      const parsed = parse(item);
      if (parsed.kind === 'broken') {
        return broken(
          `${JSON.stringify(item)}: ${parsed.rule}`,
          `${parsed.accepted}; several are separated by commas`,
        );
      }
    }
    return value([...new Set(items)]);
  };
}

/** P22 forms: `name@project.iam…`, `number-compute@developer…`, `project@appspot…`. */
export function serviceAccount(text: string): Parsed<string> {
  return isServiceAccount(text)
    ? value(text)
    : broken(SERVICE_ACCOUNT_RULE.rule, SERVICE_ACCOUNT_RULE.accepted);
}

/** A base URL; a slash at its end is dropped. */
export function baseUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url !== null && url.search === '' && url.hash === '' && url.username === '';
  return plain && (url.protocol === 'https:' || url.protocol === 'http:')
    ? value(text.replace(/\/+$/, ''))
    : broken('it is a base URL without user, query or fragment', 'http://127.0.0.1:8080');
}

/** An emulator's address as Google's own tools print it: with or without a scheme. */
export function emulatorHost(text: string): Parsed<string> {
  return baseUrl(text.includes('://') ? text : `http://${text}`);
}

/** Names and values: a JSON object of strings, or `name=value,name=value`. */
export function namesAndValues(text: string): Parsed<Readonly<Record<string, string>>> {
  const accepted = '{"name": "value"} or name=value,name=value';
  const entries = text.trimStart().startsWith('{') ? jsonEntries(text) : pairEntries(text);
  if (entries === null) return broken('it gives a text to each name', accepted);
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return broken(`${JSON.stringify(twice)} stands there twice`, accepted);
  return value(Object.fromEntries(entries));
}

function jsonEntries(text: string): readonly (readonly [string, string])[] | null {
  try {
    const entries = Object.entries(JSON.parse(text) as object);
    return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
      ? entries
      : null;
  } catch {
    return null;
  }
}

function pairEntries(text: string): readonly (readonly [string, string])[] | null {
  const entries = text.split(',').map((pair): readonly [string, string] => {
    const at = pair.indexOf('=');
    return at < 1 ? ['', ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
  return entries.some(([name]) => name === '') ? null : entries;
}
