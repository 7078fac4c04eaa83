// The run id: the idempotency key of a run (contract §1).
import type { Broken } from '#shared/plan/fault.ts';

export const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

export const RUN_ID_RULE: Broken = {
  rule: 'a run id has 1 to 128 letters, digits, ".", "_", "~" or "-", and begins with a letter or digit',
  accepted: 'for example forecast-2026-12-01.eu',
};

export const isRunId = (value: unknown): value is string =>
  typeof value === 'string' && RUN_ID.test(value);
