// A request from FILE, from stdin (`-`) or from flags alone, before anything is sent.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Call } from '#scripts/mayfly/call.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { applyRequestFlags } from '#scripts/mayfly/request-flags.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { parseJsonText } from '#shared/plan/message.ts';

export type RequestFields = Readonly<Record<string, unknown>>;

/** The request's fields with the flags' laid over them; a file that is no JSON object is a usage error. */
export async function readRequest(call: Call, terminal: Terminal): Promise<RequestFields> {
  const [file] = call.operands;
  const fields = file === undefined ? {} : await readFields(file, terminal);
  if (Object.hasOwn(fields, 'cancel')) {
    throw usageError('this is a cancellation and no request: mayfly cancel RUN sends one');
  }
  const request = applyRequestFlags(fields, call);
  if (Object.keys(request).length > 0) return request;
  throw usageError('which request? Give FILE, - for stdin, or flags like --image');
}

async function readFields(file: string, terminal: Terminal): Promise<RequestFields> {
  return parseFields(file === '-' ? 'stdin' : file, await readBytes(file, terminal));
}

/** A request's own fields, not yet validated; what is no JSON object is a usage error. */
export function parseFields(name: string, bytes: Uint8Array): RequestFields {
  const parsed = parseJsonText(bytes);
  if (parsed.kind === 'unreadable') throw usageError(`${name}: ${parsed.reason}`);
  const { value } = parsed;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as RequestFields;
  }
  const found = Array.isArray(value) ? 'a list' : JSON.stringify(value);
  throw usageError(`${name}: a request is a JSON object, this is ${found}`);
}

async function readBytes(file: string, terminal: Terminal): Promise<Uint8Array> {
  if (file === '-') return terminal.readStdin();
  try {
    return await readFile(resolve(terminal.folder, file));
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === 'ENOENT') throw usageError(`there is no file ${file} in ${terminal.folder}`);
    throw usageError(`${file} cannot be read: ${message}`);
  }
}
