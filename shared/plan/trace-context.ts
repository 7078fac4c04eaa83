// The trace that a request belongs to (W3C Trace Context, level 1): handed on from the publisher to logs,
// machine and event, never begun here. What is not valid is as if it were not there.

/** `00-<trace id>-<span id>-<flags>`, as it is kept and handed on. */
export type Traceparent = string;

const SHAPE = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * The text as version 00, or null when it is none. A later version begins like 00 and may have more at
 * its end.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function readTraceparent(text: string | null | undefined): Traceparent | null {
  const [, version = '', traceId = '', spanId = '', flags = '', more] =
    SHAPE.exec(text ?? '') ?? [];
  if (version === '' || version === 'ff') return null;
  if (version === '00' && more !== undefined) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return `00-${traceId}-${spanId}-${flags}`;
}

/** Of a message's attributes: the publisher's own, else the one that Google's client libraries add. */
export function traceparentOf(attributes: Readonly<Record<string, string>>): Traceparent | null {
  const { traceparent, googclient_traceparent: added } = attributes;
  return readTraceparent(traceparent) ?? readTraceparent(added);
}

export interface TraceNames {
  /** Cloud Logging's name of a trace. */
  readonly trace: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** How Cloud Logging names it. */
export function traceNames(project: string, traceparent: Traceparent): TraceNames {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const sampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { trace: `projects/${project}/traces/${traceId}`, spanId, sampled };
}
