// Whether each text of a run can be handed to a process: Linux takes no single argument and no
// `NAME=value` above 32 pages (execve(2), MAX_ARG_STRLEN). What is longer would fail on the machine.
import { fault, fieldPath } from '#shared/plan/fault.ts';
import { PROCESS_TEXT_BYTES_MAX } from '#shared/plan/limits.ts';
import type { Fault, RunRequest } from '#shared/plan/model.ts';

/** Names every argument and variable that no process can be given. */
export function processSizeFaults(request: RunRequest): readonly Fault[] {
  const list = (field: string, texts: readonly string[]) =>
    texts.map((text, index) => ({ field: `${field}[${index}]`, bytes: Buffer.byteLength(text) }));
  const variables = Object.entries(request.env).map(([name, text]) => ({
    field: fieldPath('env', [name]),
    bytes: Buffer.byteLength(`${name}=${text}`),
  }));
  return [...list('command', request.command ?? []), ...list('args', request.args), ...variables]
    .filter(({ bytes }) => bytes > PROCESS_TEXT_BYTES_MAX)
    .map(({ field, bytes }) => fault(field, `${field}, ${bytes} bytes`, TOO_LONG));
}

const TOO_LONG = {
  rule: `Linux starts no process with a single argument or NAME=value above ${PROCESS_TEXT_BYTES_MAX} bytes (128 KiB)`,
  accepted: `${PROCESS_TEXT_BYTES_MAX} bytes each; larger data goes into inputs or a package`,
};
