// One HTTP request by Node's own client. (fetch is not used: a form that is aborted while it is sent ends
// the process with an exception that nothing can catch.)
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export interface Body {
  readonly bytes: number;
  readonly open: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface Reply {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
}

/** No redirects, no decompression. Rejects when there is no reply, or the signal is aborted. */
export type Send = (request: {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body | null;
  readonly signal: AbortSignal;
}) => Promise<Reply>;

/** After a move to another host the other end may be gone without a word. */
const SILENCE_MS = 60_000;

/** Requests on which nothing moves for so long are given up. */
export const sendWithin =
  (silenceMs: number): Send =>
  ({ method, url, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const length = body === null ? {} : { 'content-length': String(body.bytes) };
      const options = { method, headers: { ...headers, ...length }, signal };
      const outgoing = (url.startsWith('https:') ? requestHttps : requestHttp)(url, options);
      outgoing.setTimeout(silenceMs, () => {
        outgoing.destroy(new Error(`nothing moved for ${silenceMs} ms`));
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        // Who reads it hears of an error; who does not must not be ended by it.
        incoming.on('error', () => {});
        const given = incoming.headers as Reply['headers'];
        resolve({ status: incoming.statusCode ?? 0, headers: given, body: incoming });
      });
      if (body === null) outgoing.end();
      else pipeline(Readable.from(body.open()), outgoing).catch(reject);
    });

export const sendRequest = sendWithin(SILENCE_MS);

/** Room for a bootstrap with the addresses of a thousand inputs. */
const TEXT_CHARACTERS_MAX = 67_108_864;

export async function readText(
  { body }: Reply,
  charactersMax = TEXT_CHARACTERS_MAX,
): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8').slice(0, charactersMax);
}

/** A form as browsers send it (RFC 7578), its file last. */
export function formBody(
  fields: Readonly<Record<string, string>>,
  file: Body,
  boundary: string,
): { readonly contentType: string; readonly body: Body } {
  const part = (name: string) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"`;
  const texts = Object.entries(fields).map(([name, value]) => `${part(name)}\r\n\r\n${value}\r\n`);
  const head = Buffer.from(
    `${texts.join('')}${part('file')}; filename="file"\r\ncontent-type: application/octet-stream\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* open() {
    yield head;
    yield* file.open();
    yield tail;
  }
  const body = { bytes: head.length + file.bytes + tail.length, open };
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}
