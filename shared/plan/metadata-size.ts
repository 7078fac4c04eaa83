// Whether a run's texts fit into the machine's metadata, counted in bytes as they stand in the script:
// quoted for the shell. What is too large is named before anything is created.
import { fault } from '#shared/plan/fault.ts';
import {
  METADATA_TOTAL_BYTES_MAX,
  METADATA_VALUE_BYTES_MAX,
  SCRIPT_BYTES_RESERVED,
} from '#shared/plan/limits.ts';
import type {
  Fault,
  InstanceBody,
  PlanSettings,
  ResolvedInput,
  RunRequest,
} from '#shared/plan/model.ts';

/** A text between single quotes; each quote inside takes three bytes more, a space goes between. */
const QUOTING_BYTES = 3;
const QUOTE_BYTES = 3;

interface Part {
  readonly field: string;
  readonly bytes: number;
}

/** Names the largest field of a run whose script would be too large for a metadata value. */
export function scriptSizeFaults(
  request: RunRequest,
  inputs: readonly ResolvedInput[] = [],
): readonly Fault[] {
  const parts = [...scriptParts(request), ...inputs.map(inputPart)];
  const bytes = parts.reduce((sum, part) => sum + part.bytes, SCRIPT_BYTES_RESERVED);
  if (bytes <= METADATA_VALUE_BYTES_MAX) return [];
  const largest = parts.reduce((most, part) => (part.bytes > most.bytes ? part : most));
  const room = METADATA_VALUE_BYTES_MAX - SCRIPT_BYTES_RESERVED;
  const text = `${largest.field}, ${largest.bytes} bytes`;
  return [
    fault(largest.field, text, {
      rule: `all texts of a run fit into one metadata value of ${METADATA_VALUE_BYTES_MAX} bytes (256 KiB) with the script around them; this is the largest, of ${bytes - SCRIPT_BYTES_RESERVED} bytes in all`,
      accepted: `${room} bytes in all, quotes counted; larger data goes into inputs or a package`,
    }),
  ];
}

function scriptParts(request: RunRequest): Part[] {
  const list = (field: string, texts: readonly string[]) =>
    texts.map((text, index) => ({ field: `${field}[${index}]`, bytes: quotedBytes(text) }));
  const map = (field: string, entries: Readonly<Record<string, string>>) =>
    Object.entries(entries).map(([key, text]) => ({
      field: `${field}.${key}`,
      bytes: quotedBytes(key) + quotedBytes(text),
    }));
  return [
    ...list('command', request.command ?? []),
    ...list('args', request.args),
    ...map('env', request.env),
    ...map('secrets', request.secrets),
    ...map('outputs', request.outputs),
    { field: 'workingDir', bytes: quotedBytes(request.workingDir ?? '') },
  ];
}

/** An input stands in the script with its path, object and generation. */
function inputPart({ path, bucket, object, generation }: ResolvedInput): Part {
  const texts = [path, bucket, object, generation];
  return {
    field: `inputs.${path}`,
    bytes: texts.reduce((sum, text) => sum + quotedBytes(text), 0),
  };
}

function quotedBytes(text: string): number {
  let quotes = 0;
  for (let at = text.indexOf("'"); at >= 0; at = text.indexOf("'", at + 1)) quotes += 1;
  return Buffer.byteLength(text) + quotes * QUOTE_BYTES + QUOTING_BYTES;
}

/** The deployment's own metadata: it must leave room for two scripts. */
export function settingsMetadataBytes(settings: PlanSettings): number {
  return Object.entries(settings.instanceMetadata).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
}

/** Programmer's error when a body passes what `scriptSizeFaults` let through. */
export function assertMetadataFits({ metadata }: InstanceBody): void {
  let total = 0;
  for (const { key, value } of metadata.items) {
    const bytes = Buffer.byteLength(value);
    total += Buffer.byteLength(key) + bytes;
    if (bytes > METADATA_VALUE_BYTES_MAX || total > METADATA_TOTAL_BYTES_MAX) {
      throw new Error(
        `metadata ${key} has ${bytes} bytes (${total} in all): more than planned for`,
      );
    }
  }
}
