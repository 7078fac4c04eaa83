// ObjectStore and Publisher over the world's calls.
import type { Call, Reply } from '#scripts/local-cloud/call.ts';
import { asArray, asNumber, asObject, asString } from '#scripts/local-cloud/json.ts';
import { unreadableReply } from '#shared/cloud/errors.ts';
import type { Publisher } from '#shared/cloud/pubsub.ts';
import type { ObjectStore, ReadReply, WriteReply } from '#shared/cloud/storage.ts';
import { translateStorageError } from '#shared/cloud/storage-replies.ts';

type Send = (call: Omit<Call, 'principal'>) => Promise<Reply>;

const bytesOf = (content: Uint8Array | string) =>
  typeof content === 'string' ? new TextEncoder().encode(content) : content;

/** Throws for every status that is not among those expected, and for an unreadable success. */
function expectStatus(
  method: string,
  bucket: string,
  reply: Reply,
  expected: readonly number[],
): void {
  if (reply.disturbance === 'garbage') {
    throw unreadableReply(method, reply.status, 'planted fault');
  }
  // The real adapter's own reading of a refusal: a missing bucket says nothing about its objects.
  const response = { statusCode: reply.status, body: reply.body };
  const success = reply.status >= 200 && reply.status < 300;
  const error = success ? null : translateStorageError(method, bucket, { response });
  if (!expected.includes(reply.status) || error?.reason === 'bucket-missing') {
    throw error ?? unreadableReply(method, reply.status, 'an unexpected success');
  }
}

export function inProcessStore(send: Send, bucket: string): ObjectStore {
  return {
    read: (object, generation) =>
      read(send, {
        bucket,
        object,
        alt: 'media',
        ...(generation === undefined ? {} : { generation }),
      }),
    write: (name, content, { ifGeneration, contentType, metadata }) =>
      write(
        send,
        { bucket, name, ifGenerationMatch: ifGeneration },
        {
          bytes: bytesOf(content),
          metadata: { name, contentType: contentType ?? 'application/json', metadata },
        },
      ),
    async delete(object, ifGeneration) {
      const method = 'storage.objects.delete';
      const condition = ifGeneration === undefined ? {} : { ifGenerationMatch: ifGeneration };
      const reply = await send({ method, params: { bucket, object, ...condition } });
      expectStatus(method, bucket, reply, [200, 204, 404, 412]);
      const kinds = { 404: 'absent', 412: 'conflict' } as const;
      return { kind: kinds[reply.status as 404 | 412] ?? 'deleted' };
    },
    async list(prefix, pageToken, range = {}) {
      const method = 'storage.objects.list';
      const { start: startOffset, end: endOffset } = range;
      const params = {
        ...{ bucket, prefix, ...(pageToken ? { pageToken } : {}) },
        ...(startOffset === undefined ? {} : { startOffset }),
        ...(endOffset === undefined ? {} : { endOffset }),
      };
      const reply = await send({ method, params });
      expectStatus(method, bucket, reply, [200]);
      return {
        objects: asArray(reply.body?.items)
          .map(asObject)
          .map((item) => ({
            name: String(item.name),
            generation: String(item.generation),
            bytes: asNumber(item.size) ?? 0,
            updatedMs: Date.parse(String(item.updated)),
            metadata: asObject(item.metadata) as Record<string, string>,
          })),
        nextPageToken: asString(reply.body?.nextPageToken) ?? null,
      };
    },
  };
}

async function read(send: Send, params: Record<string, string>): Promise<ReadReply> {
  const method = 'storage.objects.get';
  const reply = await send({ method, params });
  expectStatus(method, params.bucket ?? '', reply, [200, 404]);
  if (reply.status === 404) {
    return { kind: 'absent' };
  }
  return {
    kind: 'found',
    bytes: reply.bytes ?? new Uint8Array(),
    generation: reply.headers['x-goog-generation'] ?? '0',
    updatedMs: Date.parse(reply.headers['last-modified'] ?? ''),
  };
}

async function write(
  send: Send,
  params: Record<string, string>,
  body: Record<string, unknown>,
): Promise<WriteReply> {
  const method = 'storage.objects.insert';
  const reply = await send({ method, params, body });
  expectStatus(method, params.bucket ?? '', reply, [200, 412]);
  return reply.status === 412
    ? { kind: 'conflict' }
    : { kind: 'written', generation: String(reply.body?.generation) };
}

export function inProcessPublisher(send: Send, project: string): Publisher {
  return {
    async publish(topic, data, attributes = {}) {
      const method = 'pubsub.topics.publish';
      const messages = [{ data: bytesOf(data), attributes }];
      const reply = await send({ method, params: { project, topic }, body: { messages } });
      expectStatus(method, '', reply, [200]);
      return String(asArray(reply.body?.messageIds)[0]);
    },
  };
}
