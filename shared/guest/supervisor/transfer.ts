// Objects by signed addresses: down into a file, up from a file or from bytes, every byte checked.
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  readGoogHash,
  Summer,
  type Sums,
  sumsOfBytes,
  sumsOfFile,
} from '#shared/guest/supervisor/checksums.ts';
import { ask, NoAnswer, WrongAnswer } from '#shared/guest/supervisor/http.ts';
import { type Body, formBody, type Reply, readText } from '#shared/guest/supervisor/send.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import type { Form, SignedAddress } from '#shared/plan/bootstrap.ts';

/** A step that did not work out; `permanent`: the same again would fail again. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
  readonly permanent: boolean;

  constructor(message: string, permanent: boolean) {
    super(message);
    this.permanent = permanent;
  }
}

export interface TransferLimits {
  readonly untilMs: number;
  readonly stop?: AbortSignal;
}

/** Of what a refusal says. */
const TEXT_MAX = 1000;
/** A try may take a minute and a second for each so many bytes. */
const BYTES_PER_MS_LEAST = 1024;
const tryMsFor = (bytes: number) => 60_000 + bytes / BYTES_PER_MS_LEAST;

/** Downloads into `file`, whose folder is made. Throws StepFailure. */
export async function download(
  deps: SupervisorDeps,
  what: {
    readonly name: string;
    readonly get: SignedAddress;
    readonly file: string;
    readonly bytes?: number;
    readonly sha256?: string;
  },
  limits: TransferLimits,
): Promise<void> {
  await mkdir(dirname(what.file), { recursive: true });
  // What is stored compressed comes as it was before that.
  const headers = { ...what.get.headers, 'accept-encoding': 'identity' };
  const tryMs = tryMsFor(what.bytes ?? 2 ** 32);
  const call = { method: 'GET', url: what.get.url, headers, tryMs, ...limits } as const;
  const reply = await answered(
    what.name,
    ask(deps, call, async (given) => {
      if (given.status !== 200) return { text: await readText(given, TEXT_MAX), sums: null };
      const summer = new Summer();
      given.body.on('data', (chunk: Uint8Array) => summer.add(chunk));
      await pipeline(given.body, createWriteStream(what.file));
      const sums = summer.sums();
      checkWhole(what.name, given, sums, what.bytes);
      return { text: '', sums };
    }),
  );
  const { text, sums } = reply.value;
  if (sums === null) throw refusal(what.name, reply.status, text);
  if (what.sha256 !== undefined && sums.sha256 !== what.sha256) {
    throw new StepFailure(`${what.name}: its sha256 is ${sums.sha256}, not ${what.sha256}`, true);
  }
}

function checkWhole(name: string, reply: Reply, sums: Sums, bytes: number | undefined): void {
  const stored = reply.headers['x-goog-stored-content-encoding'] ?? 'identity';
  // The server has undone the compression: its sums are those of what it stores.
  if (stored !== 'identity') return;
  if (bytes !== undefined && sums.bytes !== bytes) {
    throw new WrongAnswer(`${name}: ${sums.bytes} bytes came, ${bytes} are stored`);
  }
  const { crc32c } = readGoogHash(reply.headers['x-goog-hash']);
  if (crc32c !== null && crc32c !== sums.crc32c) {
    throw new WrongAnswer(`${name}: its CRC32C is ${sums.crc32c}, the server's ${crc32c}`);
  }
}

export interface Upload {
  /** The object's name, under the form's prefix. */
  readonly key: string;
  readonly form: Form;
  readonly content: { readonly file: string } | { readonly bytes: Uint8Array };
}

export interface Uploaded extends Sums {
  readonly generation: string;
}

/**
 * Uploads and compares both checksums of the reply with the file's. `there`: an object of that name is
 * there and may not be replaced; `landed` when it can be ours, its reply lost. Throws StepFailure.
 */
export async function upload(
  deps: SupervisorDeps,
  { key, form, content }: Upload,
  limits: TransferLimits,
): Promise<
  | { readonly kind: 'uploaded'; readonly object: Uploaded }
  | { readonly kind: 'there'; readonly landed: boolean }
> {
  const sums = 'file' in content ? await sumsOfFile(content.file) : sumsOfBytes(content.bytes);
  const { key: _, ...fields } = form.fields;
  const boundary = `mayfly-${randomBytes(16).toString('hex')}`;
  const { contentType, body } = formBody({ key, ...fields }, bodyOf(content, sums.bytes), boundary);
  const headers = { 'content-type': contentType };
  const tryMs = tryMsFor(sums.bytes);
  const call = { method: 'POST', url: form.url, headers, body, tryMs, ...limits } as const;
  const reply = await answered(
    key,
    ask(deps, call, async (given) => {
      const text = await readText(given, TEXT_MAX);
      if (given.status >= 300) return { text, generation: '' };
      checkStored(key, given, sums);
      return { text: '', generation: given.headers['x-goog-generation'] ?? '' };
    }),
  );
  const { text, generation } = reply.value;
  if (reply.status < 300) return { kind: 'uploaded', object: { ...sums, generation } };
  if (reply.status === 412 || reply.status === 403)
    return { kind: 'there', landed: reply.repeated };
  throw refusal(key, reply.status, text);
}

function bodyOf(content: Upload['content'], bytes: number): Body {
  if ('bytes' in content) return { bytes, open: () => [content.bytes] };
  // What is written to the file meanwhile is not in its sums.
  return {
    bytes,
    open: () => (bytes === 0 ? [] : createReadStream(content.file, { end: bytes - 1 })),
  };
}

/** Throws WrongAnswer unless the server has stored what was sent. */
export function checkStored(key: string, reply: Reply, sums: Sums): void {
  const stored = readGoogHash(reply.headers['x-goog-hash']);
  for (const name of ['crc32c', 'md5'] as const) {
    if (stored[name] === sums[name]) continue;
    throw new WrongAnswer(
      `${key}: the server's ${name} is ${stored[name]}, the file's ${sums[name]}`,
    );
  }
}

async function answered<T>(name: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NoAnswer) throw new StepFailure(`${name}: ${error.message}`, false);
    throw error;
  }
}

const refusal = (name: string, status: number, text: string) =>
  new StepFailure(`${name}: HTTP ${status} ${text}`, true);

/** Does all, at most `width` at a time; the first failure is thrown, the others are waited for. */
export async function eachBounded<T>(
  items: readonly T[],
  width: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  let failed = false;
  const worker = async () => {
    for (const item of rest) {
      if (failed) return;
      try {
        await act(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: width }, worker));
  const fault = ends.find((end) => end.status === 'rejected');
  if (fault !== undefined) throw fault.reason;
}
