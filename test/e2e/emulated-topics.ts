// The topics of a deployment on an emulator, over its REST paths, as any program would use them.
import { expect } from 'vitest';

const CALL_TIMEOUT_MS = 30_000;

export interface Received {
  readonly data?: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

export interface EmulatedTopics {
  /** Each text is one message; gives their ids. */
  publish(topic: string, ...texts: readonly string[]): Promise<readonly string[]>;
  create(topic: string): Promise<void>;
  /** `policies`: further fields of the subscription. */
  subscribe(name: string, topic: string, policies?: object): Promise<void>;
  /** Everything that has come since, acknowledged. */
  pull(name: string): Promise<readonly Received[]>;
}

export function emulatedTopics(host: string, project: string): EmulatedTopics {
  const base = `http://${host}/v1/projects/${project}`;
  const send = async (method: string, path: string, body: object) => {
    const reply = await fetch(`${base}/${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    const text = await reply.text();
    expect(reply.status, `${method} ${path}: ${text}`).toBe(200);
    return JSON.parse(text);
  };
  return {
    async publish(topic, ...texts) {
      const messages = texts.map((text) => ({ data: Buffer.from(text).toString('base64') }));
      return (await send('POST', `topics/${topic}:publish`, { messages })).messageIds;
    },
    async create(topic) {
      await send('PUT', `topics/${topic}`, {});
    },
    async subscribe(name, topic, policies = {}) {
      const body = { ...policies, topic: `projects/${project}/topics/${topic}` };
      await send('PUT', `subscriptions/${name}`, body);
    },
    async pull(name) {
      const path = `subscriptions/${name}`;
      const body = { maxMessages: 100, returnImmediately: true };
      const { receivedMessages = [] } = await send('POST', `${path}:pull`, body);
      const ackIds = receivedMessages.map(({ ackId }: { ackId: string }) => ackId);
      if (ackIds.length > 0) await send('POST', `${path}:acknowledge`, { ackIds });
      return receivedMessages.map(({ message }: { message: Received }) => message);
    },
  };
}
