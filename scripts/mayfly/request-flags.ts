// Flags for the common fields of a request (contract §1), laid over the request file's own fields.
import type { Call, Flags } from '#scripts/mayfly/call.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';

export const REQUEST_FLAGS: Flags = {
  'run-id': { value: 'ID', help: 'the run’s id, its idempotency key (default: made up)' },
  image: { value: 'IMAGE', help: 'container image' },
  machine: { value: 'TYPE', multiple: true, help: 'machine type, in order of preference' },
  cpus: { value: 'N', help: 'vCPUs needed' },
  memory: { value: 'GIB', help: 'memory needed, in GiB' },
  gpu: { value: 'TYPE[:N]', help: 'GPU type and count, for example L4:1' },
  spot: { help: 'spot machines only' },
  region: { value: 'REGION', multiple: true, help: 'region to run in' },
  zone: { value: 'ZONE', multiple: true, help: 'zone to run in, in order of preference' },
  ttl: { value: 'TIME', help: 'the machine’s longest life: 90m, 2h, 1d or seconds' },
  timeout: { value: 'TIME', help: 'the container’s longest run' },
  env: { value: 'K=V', multiple: true, help: 'environment variable' },
  input: {
    value: 'PATH=URI',
    multiple: true,
    help: 'object or prefix to mount, for example /in.csv=gs://my-bucket/in.csv',
  },
  output: {
    value: 'PATH=URI',
    multiple: true,
    help: 'folder to store, for example /out=gs://my-bucket/out/',
  },
  label: { value: 'K=V', multiple: true, help: 'label, reaches billing' },
  budget: { value: 'USD', help: 'what the run may cost at most' },
};

type Fields = Readonly<Record<string, unknown>>;

/** The request with the flags' fields laid over it; words after `--` become `args`. */
export function applyRequestFlags(request: Fields, call: Call): Fields {
  const overlay: Record<string, unknown> = {
    ...textField(call, 'run-id', 'runId'),
    ...textField(call, 'image', 'image'),
    ...durationField(call, 'ttl', 'ttlSeconds'),
    ...durationField(call, 'timeout', 'timeoutSeconds'),
    ...numberField(call, 'budget', 'budgetUsd'),
    ...(call.has('spot') ? { provisioning: 'spot' } : {}),
    ...(call.rest === null ? {} : { args: call.rest }),
    ...nested(request, 'resources', resourceFields(call)),
    ...nested(request, 'place', {
      ...listField(call, 'region', 'regions'),
      ...listField(call, 'zone', 'zones'),
    }),
  };
  for (const [flag, field] of PAIR_FIELDS) {
    Object.assign(overlay, nested(request, field, pairs(call, flag)));
  }
  return { ...request, ...overlay };
}

const PAIR_FIELDS = [
  ['env', 'env'],
  ['input', 'inputs'],
  ['output', 'outputs'],
  ['label', 'labels'],
] as const;

function resourceFields(call: Call): Fields {
  const gpu = call.text('gpu');
  return {
    ...listField(call, 'machine', 'machineTypes'),
    ...numberField(call, 'cpus', 'cpus'),
    ...numberField(call, 'memory', 'memoryGiB'),
    ...(gpu === null ? {} : { gpu: parseGpu(gpu) }),
  };
}

function parseGpu(text: string): Fields {
  const match = /^([A-Za-z0-9_-]+)(?::(\d{1,2}))?$/.exec(text);
  if (match === null) {
    throw usageError(`--gpu ${JSON.stringify(text)} is not TYPE or TYPE:COUNT, for example L4:1`);
  }
  return { type: match[1], count: Number(match[2] ?? 1) };
}

/** `90s`, `15m`, `2h`, `1d`, or plain seconds. */
export function parseDuration(flag: string, text: string): number {
  const match = /^(\d{1,9})(s|m|h|d)?$/.exec(text);
  if (match === null) {
    throw usageError(`--${flag} ${JSON.stringify(text)} is not a time like 90s, 15m, 2h or 1d`);
  }
  const units = { s: 1, m: 60, h: 3600, d: 86_400 };
  return Number(match[1]) * units[(match[2] ?? 's') as keyof typeof units];
}

function textField(call: Call, flag: string, field: string): Fields {
  const text = call.text(flag);
  return text === null ? {} : { [field]: text };
}

function listField(call: Call, flag: string, field: string): Fields {
  const list = call.list(flag);
  return list.length === 0 ? {} : { [field]: list };
}

function durationField(call: Call, flag: string, field: string): Fields {
  const text = call.text(flag);
  return text === null ? {} : { [field]: parseDuration(flag, text) };
}

function numberField(call: Call, flag: string, field: string): Fields {
  const text = call.text(flag);
  if (text === null) return {};
  if (!/^\d+(\.\d+)?$/.test(text)) {
    throw usageError(`--${flag} ${JSON.stringify(text)} is not a number`);
  }
  return { [field]: Number(text) };
}

function pairs(call: Call, flag: string): Fields {
  return Object.fromEntries(
    call.list(flag).map((text) => {
      const cut = text.indexOf('=');
      if (cut < 1) throw usageError(`--${flag} ${JSON.stringify(text)} is not NAME=VALUE`);
      return [text.slice(0, cut), text.slice(cut + 1)];
    }),
  );
}

/** Fields laid over an object field of the request; a field of another shape is left to validation. */
function nested(request: Fields, field: string, fields: Fields): Fields {
  if (Object.keys(fields).length === 0) return {};
  const own = request[field];
  const base = typeof own === 'object' && own !== null && !Array.isArray(own) ? own : {};
  return { [field]: { ...base, ...fields } };
}
