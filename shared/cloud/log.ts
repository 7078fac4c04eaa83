// Structured logs: one JSON line each, with Cloud Logging's own field names. Never a token, a secret
// or a body.

export type Severity = 'DEBUG' | 'INFO' | 'NOTICE' | 'WARNING' | 'ERROR' | 'CRITICAL';

/** `event` is a stable kebab-case name that metrics and alerts count. */
export type Log = (
  severity: Severity,
  event: string,
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;
