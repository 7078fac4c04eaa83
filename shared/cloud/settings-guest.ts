// The setting of the machine's scripts: some of their periods, limits and folders, as JSON.
import type { Parsed } from '#shared/cloud/settings-parse.ts';
import { GUEST_DEFAULTS, type GuestSettings } from '#shared/plan/guest-settings.ts';

/** Names and types are those of the defaults; numbers are whole and not negative. */
export function guestSettings(text: string): Parsed<Partial<GuestSettings>> {
  const given = parseObject(text);
  if (given === null) return broken('it is a JSON object', '{"heartbeatSeconds": 60}');
  const defaults: Readonly<Record<string, unknown>> = { ...GUEST_DEFAULTS };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, name)) {
      return broken(`there is no ${JSON.stringify(name)}`, Object.keys(defaults).join(', '));
    }
    const isNumber = typeof defaults[name] === 'number';
    const right = isNumber
      ? Number.isSafeInteger(value) && Number(value) >= 0
      : typeof value === 'string';
    if (!right) return broken(`${name} is wrong`, isNumber ? 'a whole number from 0' : 'a text');
  }
  return { kind: 'value', value: given };
}

function broken(rule: string, accepted: string): Parsed<never> {
  return { kind: 'broken', rule, accepted };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
