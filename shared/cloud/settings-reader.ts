// Reads environment variables one by one and keeps what is wrong with them, to be told all at once.

import type { Setting } from '#shared/cloud/setting.ts';
import type { Parsed } from '#shared/cloud/settings-parse.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One wrong or missing variable. */
export interface SettingFault {
  readonly name: string;
  /** Null when the variable is not set, or is a secret. */
  readonly value: string | null;
  readonly rule: string;
  readonly accepted: string;
}

/** Names every wrong and missing variable, a line each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly faults: readonly SettingFault[];

  constructor(faults: readonly SettingFault[]) {
    const lines = faults.map(({ name, value, rule, accepted }) => {
      const shown = value === null ? '' : ` = ${JSON.stringify(value.slice(0, 100))}`;
      return `  ${name}${shown}: ${rule}; accepted: ${accepted}`;
    });
    const count = faults.length === 1 ? '1 setting is' : `${faults.length} settings are`;
    super(`${count} wrong or missing; set these environment variables:\n${lines.join('\n')}`);
    this.faults = faults;
  }
}

/** Reads variable by variable and keeps the faults for the end. An empty variable is an unset one. */
export class SettingsReader {
  readonly faults: SettingFault[] = [];
  private readonly environment: Environment;

  constructor(environment: Environment) {
    this.environment = environment;
  }

  /** Null when it is neither set nor has a default, or is wrong. */
  optional<Value>(setting: Setting<Value>): Value | null {
    const text = this.environment[setting.name] || setting.initial;
    if (!text) return null;
    const parsed: Parsed<Value> = setting.parse(text);
    if (parsed.kind === 'value') return parsed.value;
    this.refuse(setting, parsed.rule, parsed.accepted);
    return null;
  }

  /** As `optional`, but a missing one is a fault; then `standIn` lets the reading go on. */
  needed<Value>(setting: Setting<Value>, standIn: Value): Value {
    const read = this.optional(setting);
    if (read === null) this.refuseMissing(setting, 'it has to be set');
    return read ?? standIn;
  }

  refuse(setting: Setting<unknown>, rule: string, accepted: string): void {
    const set = this.environment[setting.name] || null;
    this.faults.push({
      name: setting.name,
      value: setting.secret === true ? null : set,
      rule,
      accepted,
    });
  }

  /** Tells what would be accepted, unless the variable has a fault already. */
  refuseMissing(setting: Setting<unknown>, rule: string): void {
    if (this.faults.some(({ name }) => name === setting.name)) return;
    const parsed = setting.parse('');
    this.refuse(setting, rule, parsed.kind === 'broken' ? parsed.accepted : setting.effect);
  }
}
