// Registers the deployable functions. Each loads its own code and clients with its first request, so
// that a cold start pays for nothing else. An outcome becomes a status here: done is 204 (a body or a
// 202 makes some brokers repeat), retry is 503, a fault that nobody foresaw is 500 and logged.
import { createHash } from 'node:crypto';
import { type HttpFunction, http, type Request } from '@google-cloud/functions-framework';
import * as z from 'zod';
import type { Settings } from '#shared/cloud/config.ts';
import { type Log, tracedLog } from '#shared/cloud/log.ts';
import { systemLog } from '#shared/cloud/system-log.ts';
import { traceparentOf } from '#shared/plan/trace-context.ts';
import { openEnvelope, type PushMessage } from '#shared/push/envelope.ts';
import type { Outcome } from '#shared/push/outcome.ts';

type Handle = (message: PushMessage) => Promise<Outcome>;

export interface UnreadablePush {
  /** The message's own, or one made from the bytes, so that a repeat has the same. */
  readonly messageId: string;
  readonly body: Uint8Array;
  readonly reason: string;
}

/** A function that takes pushes, ready to work. */
export interface PushFunction {
  /** Accepted subscriptions; null accepts any. */
  readonly subscriptions: readonly string[] | null;
  readonly routes: ReadonlyMap<string, Handle>;
  /** Called for a body that is no envelope: Pub/Sub must not repeat it for ever. */
  readonly onUnreadable: (push: UnreadablePush) => Promise<Outcome>;
  /** Where traces are; null names none in this function's own lines. */
  readonly project?: string | null;
}

/** Makes the HTTP function; `load` is called with each request and keeps what it has made. */
export function servePush(load: () => Promise<PushFunction>, log: Log): HttpFunction {
  return answering(log, async (request) => {
    const { subscriptions, routes, onUnreadable, project = null } = await load();
    const handle = routes.get(request.path);
    if (handle === undefined) return { status: 404, text: `nothing is served at ${request.path}` };
    const body = request.rawBody ?? Buffer.alloc(0);
    const envelope = openEnvelope(body, request.headers, subscriptions);
    switch (envelope.kind) {
      case 'foreign':
        log('WARNING', 'push-foreign', `subscription ${envelope.subscription} is not accepted`);
        return { status: 403, text: 'refused: subscription' };
      case 'unreadable': {
        const { reason, messageId } = envelope;
        log('ERROR', 'push-unreadable', reason, { messageId });
        const push = { messageId: messageId ?? nameOf(body), body, reason };
        return answerTo(await onUnreadable(push), log);
      }
      case 'message': {
        const said = logOf(envelope.message, project, log);
        return await orFailed(async () => answerTo(await handle(envelope.message), said), said);
      }
      default:
        return envelope satisfies never;
    }
  });
}

const sweepShape = z.strictObject({ dryRun: z.boolean().default(false) });

/** A scheduled call: no envelope; the body is empty or `{ "dryRun": true }`; the report is the reply. */
export function serveSweep(
  sweep: (request: { readonly dryRun: boolean }) => Promise<unknown>,
  log: Log,
): HttpFunction {
  return answering(log, async (request) => {
    const read = sweepShape.safeParse(parseJson(request.rawBody));
    if (!read.success) return { status: 400, text: 'the body is empty or {"dryRun": true}' };
    return { status: 200, json: await sweep(read.data) };
  });
}

type Answer =
  | { readonly status: 200; readonly json: unknown }
  | { readonly status: 204 }
  | { readonly status: 400 | 403 | 404 | 500 | 503; readonly text: string };

function answering(log: Log, answer: (request: Request) => Promise<Answer>): HttpFunction {
  return async (request, response) => {
    const reply = await orFailed(() => answer(request), log);
    response.status(reply.status);
    if ('json' in reply) response.json(reply.json);
    else if ('text' in reply) response.type('text/plain').send(`${reply.text}\n`);
    else response.end();
  };
}

async function orFailed(answer: () => Promise<Answer>, log: Log): Promise<Answer> {
  try {
    return await answer();
  } catch (error) {
    const fault = error instanceof Error ? error : new Error(String(error));
    log('ERROR', 'request-failed', `${fault.name}: ${fault.message}`, { error: fault });
    return { status: 500, text: 'failed: the reason is in the log' };
  }
}

/** Lines about a delivery say which: by message, by the object that it tells of, by run. */
function logOf(message: PushMessage, project: string | null, log: Log): Log {
  const named: Log = (severity, event, text, fields) =>
    log(severity, event, text, { ...namesOf(message), ...fields });
  const trace = traceparentOf(message.attributes);
  return project === null ? named : tracedLog(named, project, trace);
}

function namesOf({ messageId, attributes, data }: PushMessage): Readonly<Record<string, string>> {
  const { objectId } = attributes;
  const body = parseJson(Buffer.from(data)) as { readonly runId?: unknown } | null | undefined;
  return {
    messageId,
    ...(objectId === undefined ? {} : { object: objectId }),
    ...(typeof body?.runId === 'string' ? { runId: body.runId } : {}),
  };
}

function answerTo(outcome: Outcome, log: Log): Answer {
  if (outcome.kind === 'done') return { status: 204 };
  log('NOTICE', 'push-retry', outcome.reason);
  return { status: 503, text: `retry: ${outcome.reason}` };
}

const nameOf = (body: Uint8Array) =>
  `unreadable-${createHash('sha256').update(body).digest('hex').slice(0, 32)}`;

function parseJson(body: Buffer | undefined): unknown {
  if (body === undefined || body.length === 0) return {};
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Where no dead letter is due, what cannot be opened is in the log, and that is all. */
const ACKNOWLEDGE = async (): Promise<Outcome> => ({ kind: 'done' });

const pushFunction = (
  { push, plan }: Pick<Settings, 'push' | 'plan'>,
  routes: PushFunction['routes'],
  onUnreadable: PushFunction['onUnreadable'] = ACKNOWLEDGE,
): PushFunction => ({
  subscriptions: push.subscriptions,
  routes,
  onUnreadable,
  project: plan.project,
});

async function loadSubmit(): Promise<PushFunction> {
  const [handler, wiring] = await Promise.all([
    import('#functions/submit/handler.ts'),
    import('#functions/submit/wiring.ts'),
  ]);
  const deps = await wiring.submitDeps();
  const routes = new Map<string, Handle>([
    ['/', (message) => handler.handleSubmit(message, deps)],
    ['/dead', (message) => handler.handleDead(message, deps)],
  ]);
  const onUnreadable = (push: UnreadablePush) => handler.handleUnreadable(push, deps);
  return pushFunction(deps.settings, routes, onUnreadable);
}

async function loadFinalize(): Promise<PushFunction> {
  const [handler, wiring] = await Promise.all([
    import('#functions/finalize/handler.ts'),
    import('#functions/finalize/wiring.ts'),
  ]);
  const deps = await wiring.finalizeDeps();
  const routes = new Map([['/', (message: PushMessage) => handler.handleFinalize(message, deps)]]);
  return pushFunction(deps.settings, routes);
}

async function loadSignals(): Promise<PushFunction> {
  const [handler, wiring] = await Promise.all([
    import('#functions/signals/handler.ts'),
    import('#functions/signals/wiring.ts'),
  ]);
  const deps = await wiring.signalsDeps();
  const routes = new Map([['/', (message: PushMessage) => handler.handleSignals(message, deps)]]);
  return pushFunction(deps.settings, routes);
}

async function loadNotify(): Promise<PushFunction> {
  const [handler, wiring] = await Promise.all([
    import('#functions/notify/handler.ts'),
    import('#functions/notify/wiring.ts'),
  ]);
  const deps = await wiring.notifyDeps();
  const routes = new Map([['/', (message: PushMessage) => handler.handleNotify(message, deps)]]);
  return pushFunction(deps.settings, routes);
}

async function sweep(request: { readonly dryRun: boolean }): Promise<unknown> {
  const [handler, wiring] = await Promise.all([
    import('#functions/sweep/handler.ts'),
    import('#functions/sweep/wiring.ts'),
  ]);
  return await handler.handleSweep(request, await wiring.sweepDeps());
}

http('submit', servePush(loadSubmit, systemLog));
http('finalize', servePush(loadFinalize, systemLog));
http('signals', servePush(loadSignals, systemLog));
http('notify', servePush(loadNotify, systemLog));
http('sweep', serveSweep(sweep, systemLog));
