// `mayfly rerun RUN`: asks for the same again under a new id, with fields changed.
import type { Verb } from '#scripts/mayfly/call.ts';
import { openCloud } from '#scripts/mayfly/cloud.ts';
import { CommandError, EXIT_NOT_FOUND, usageError } from '#scripts/mayfly/exit-codes.ts';
import { parseFields, type RequestFields } from '#scripts/mayfly/request-file.ts';
import { makeRunId, requireRunId } from '#scripts/mayfly/run-id.ts';
import { sendRequest } from '#scripts/mayfly/submit.ts';
import { requireTarget } from '#scripts/mayfly/target.ts';
import { requestObject } from '#shared/plan/objects.ts';

export const RERUN_ANNOTATION = 'mayfly.dev/rerun-of';

export const rerunVerb: Verb = {
  name: 'rerun',
  operands: 'RUN',
  operandsMin: 1,
  operandsMax: 1,
  takesRest: false,
  summary: 'asks for the same run again, under a new id',
  details: [
    'FIELD is a field of the request, with dots for what is inside, for example',
    '--set resources.memoryGiB=64 --set args.0=--fast. VALUE is read as JSON where it is JSON, else as',
    'text; null takes the field away. What is a text and looks like a number needs its quotes:',
    `--set 'args.0="1"'. The new run has the annotation ${RERUN_ANNOTATION}.`,
  ],
  flags: {
    set: { value: 'FIELD=VALUE', multiple: true, help: 'a field that differs' },
    wait: { help: 'watch the run, end with its exit code' },
  },
  async run(call, terminal) {
    const runId = requireRunId(call.operands[0]);
    const cloud = openCloud(await requireTarget(call, terminal), terminal);
    const name = requestObject(runId);
    const stored = await cloud.store.read(name);
    if (stored.kind === 'absent') {
      throw new CommandError(
        EXIT_NOT_FOUND,
        `there is no request of a run ${runId} in ${cloud.target.bucket} (${name}); see: mayfly list`,
      );
    }
    const changes = call.list('set').map(parseChange);
    const kept = {
      ...parseFields(name, stored.bytes),
      runId: makeRunId(cloud.clock, cloud.entropy),
    };
    const changed = changes.reduce<RequestFields>(
      (fields, { path, value }) => change(fields, path, value) as RequestFields,
      kept,
    );
    const fields = change(changed, ['annotations', RERUN_ANNOTATION], runId) as RequestFields;
    return sendRequest(cloud, { call, terminal, fields });
  },
};

interface Change {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** `FIELD=VALUE`; throws a usage error for what names no field. */
export function parseChange(text: string): Change {
  const cut = text.indexOf('=');
  const path = text.slice(0, Math.max(0, cut)).split('.');
  if (cut < 1 || path.some((part) => part === '' || part === '__proto__')) {
    throw usageError(`--set ${JSON.stringify(text)} is not FIELD=VALUE, as timeoutSeconds=600`);
  }
  return { path, value: parseValue(text.slice(cut + 1)) };
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A copy with the value at that path; null takes it away. */
function change(within: unknown, [key = '', ...inner]: readonly string[], value: unknown): unknown {
  if (Array.isArray(within) && /^\d{1,4}$/.test(key) && Number(key) <= within.length) {
    const next = inner.length === 0 ? value : change(within[Number(key)], inner, value);
    return within.toSpliced(Number(key), 1, ...(next === null ? [] : [next]));
  }
  const fields: RequestFields =
    typeof within === 'object' && within !== null && !Array.isArray(within)
      ? (within as RequestFields)
      : {};
  const next = inner.length === 0 ? value : change(fields[key], inner, value);
  const { [key]: _, ...others } = fields;
  return next === null ? others : { ...fields, [key]: next };
}
