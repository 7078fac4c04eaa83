// A function behind the real server and the real framework on loopback, with keys that the test owns.
// It keeps what reached the handler, so that a test can say: nothing.
import { http } from '@google-cloud/functions-framework';
import { servePush, type UnreadablePush } from '#functions/main.ts';
import { startServer } from '#functions/server.ts';
import type { PushSettings } from '#shared/cloud/config.ts';
import { authenticate } from '#shared/push/authenticate.ts';
import type { PushMessage } from '#shared/push/envelope.ts';
import { createKeyCache } from '#shared/push/keys.ts';
import {
  answerSet,
  keySet,
  quiet,
  type SigningKey,
  settings,
  standingClock,
  startKeyEndpoint,
} from '#test/push/tokens.ts';

const GOOD_PUSH = JSON.stringify({
  message: { data: 'e30=', messageId: '1', publishTime: '2026-12-01T00:00:00Z' },
  subscription: 'projects/p/subscriptions/mayfly-submit',
});

let registered = 0;

export async function startPushServer(
  keys: readonly SigningKey[],
  changes: Partial<PushSettings> = {},
) {
  const endpoint = await startKeyEndpoint(answerSet(keySet(...keys)));
  const clock = standingClock();
  const pushSettings = settings({ jwksUrl: endpoint.url, ...changes });
  const cache = createKeyCache({ url: pushSettings.jwksUrl, clock, log: quiet });
  const messages: PushMessage[] = [];
  const unreadable: UnreadablePush[] = [];
  const handle = async (message: PushMessage) => {
    messages.push(message);
    return { kind: 'done' } as const;
  };
  const loaded = {
    subscriptions: pushSettings.subscriptions,
    routes: new Map([['/', handle]]),
    onUnreadable: async (push: UnreadablePush) => {
      unreadable.push(push);
      return { kind: 'done' } as const;
    },
  };
  registered += 1;
  const target = `pushed${registered}`;
  http(
    target,
    servePush(async () => loaded, quiet),
  );
  const server = await startServer({
    target,
    port: 0,
    host: '127.0.0.1',
    authenticate: (headers) => authenticate(headers, pushSettings, { clock, keys: cache }),
    log: quiet,
  });
  return {
    endpoint,
    clock,
    messages,
    unreadable,
    url: server.url,
    port: server.port,
    async post(headers: Record<string, string>, body: string = GOOD_PUSH): Promise<number> {
      const all = { 'content-type': 'application/json', ...headers };
      const response = await fetch(server.url, { method: 'POST', headers: all, body });
      await response.arrayBuffer();
      return response.status;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await endpoint[Symbol.asyncDispose]();
    },
  };
}
