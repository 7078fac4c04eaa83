// Calls with retries of their own: back-off with jitter, Retry-After, and the knowledge whether an
// earlier try may have been done although its reply was lost.
import type { Body, Reply } from '#shared/guest/supervisor/send.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';

export interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  /** No try begins after this, and none lasts longer. */
  readonly untilMs: number;
  readonly stop?: AbortSignal;
  /** Of one try; for large bodies more than for a question. */
  readonly tryMs?: number;
}

export interface Answer<T> {
  readonly status: number;
  readonly value: T;
  /** An earlier try of this call may have been done: it had no answer, or one of 408 or 5xx. */
  readonly repeated: boolean;
}

/** No answer in time, or the caller was told to stop. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** Thrown while an answer is read: the answer is wrong, and the next may be right. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

/** An answer whose contents were wrong so often does not become right. */
const WRONG_ANSWERS_MAX = 4;

type HttpDeps = Pick<SupervisorDeps, 'clock' | 'send' | 'fraction' | 'periods'>;

/** Asks until there is an answer that is neither 408, 429 nor 5xx, and reads it. */
export async function ask<T>(
  deps: HttpDeps,
  call: Call,
  read: (reply: Reply) => Promise<T>,
): Promise<Answer<T>> {
  const { clock, periods } = deps;
  let wrong = 0;
  let repeated = false;
  for (let tries = 1; ; tries += 1) {
    const outcome = await tryOnce(deps, call, read);
    if (outcome.kind === 'answer')
      return { status: outcome.status, value: outcome.value, repeated };
    if (outcome.wrong) wrong += 1;
    const backoff = Math.min(
      periods.backoffMaxMs,
      periods.backoffMs * 2 ** Math.min(tries - 1, 20),
    );
    const pause = Math.max(outcome.retryAfterMs, backoff * (0.5 + deps.fraction() / 2));
    const over = clock.nowMs() + pause >= call.untilMs;
    if (over || call.stop?.aborted || wrong >= WRONG_ANSWERS_MAX)
      throw new NoAnswer(outcome.reason);
    repeated ||= outcome.mayBeDone;
    await clock.sleep(pause, call.stop);
    if (call.stop?.aborted) throw new NoAnswer(outcome.reason);
  }
}

type Outcome<T> =
  | { readonly kind: 'answer'; readonly status: number; readonly value: T }
  | {
      readonly kind: 'again';
      readonly reason: string;
      readonly retryAfterMs: number;
      readonly mayBeDone: boolean;
      readonly wrong: boolean;
    };

async function tryOnce<T>(
  deps: HttpDeps,
  call: Call,
  read: (reply: Reply) => Promise<T>,
): Promise<Outcome<T>> {
  const limit = new AbortController();
  const over = new AbortController();
  const left = Math.min(call.tryMs ?? deps.periods.callMs, call.untilMs - deps.clock.nowMs());
  void deps.clock.sleep(Math.max(0, left), over.signal).then(() => {
    if (!over.signal.aborted) limit.abort(new Error(`no answer in ${left} ms`));
  });
  const signal =
    call.stop === undefined ? limit.signal : AbortSignal.any([limit.signal, call.stop]);
  try {
    const { method, url, headers = {}, body = null } = call;
    const reply = await deps.send({ method, url, headers, body, signal });
    const { status } = reply;
    if (status === 408 || status === 429 || status >= 500) {
      reply.body.destroy();
      const retryAfterMs = retryAfter(reply.headers['retry-after']);
      return again(`HTTP ${status}`, { retryAfterMs, mayBeDone: status !== 429 });
    }
    return { kind: 'answer', status, value: await read(reply) };
  } catch (error) {
    return again(reasonOf(error), { wrong: error instanceof WrongAnswer });
  } finally {
    over.abort();
  }
}

const again = (
  reason: string,
  facts: { retryAfterMs?: number; mayBeDone?: boolean; wrong?: boolean },
): Outcome<never> => ({
  kind: 'again',
  reason,
  retryAfterMs: 0,
  mayBeDone: true,
  wrong: false,
  ...facts,
});

const RETRY_AFTER_MS_MAX = 120_000;

/** Seconds alone: Cloud Storage gives no dates. */
function retryAfter(text: string | undefined): number {
  return /^\d{1,6}$/.test(text ?? '') ? Math.min(Number(text) * 1000, RETRY_AFTER_MS_MAX) : 0;
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
