// `mayfly submit FILE|-`: publishes a request, with an id of its own, and can watch it to its end.
import { sameJson } from '#functions/submit/same-json.ts';
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { refuseFaults } from '#scripts/mayfly/check-request.ts';
import { type Cloud, openCloud } from '#scripts/mayfly/cloud.ts';
import { packCode } from '#scripts/mayfly/code.ts';
import { EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import { type RequestFields, readRequest } from '#scripts/mayfly/request-file.ts';
import { REQUEST_FLAGS } from '#scripts/mayfly/request-flags.ts';
import { makeRunId, requireRunId } from '#scripts/mayfly/run-id.ts';
import { requireTarget } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { watchToEnd } from '#scripts/mayfly/watch.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { MESSAGE_BYTES_MAX } from '#shared/plan/limits.ts';
import { requestObject } from '#shared/plan/objects.ts';

export const submitVerb: Verb = {
  name: 'submit',
  operands: '[FILE|-]',
  operandsMin: 0,
  operandsMax: 1,
  takesRest: true,
  summary: 'asks for a run; --wait watches it to its end',
  details: [
    'The request comes from FILE, from stdin (-), from flags, or from both: flags win. Words after --',
    'become the container’s arguments. A request without a runId gets one, so that a repeated',
    'delivery never makes a second run. What no deployment could take is refused before it is sent.',
    '--code stores all files of a folder (but .git and __pycache__; 16 MiB at most) as the package that',
    'the container finds in MAYFLY_PACKAGE_DIR; a folder that is stored already is not sent again.',
  ],
  flags: {
    wait: { help: 'watch the run, end with its exit code' },
    code: { value: 'DIR', help: 'a folder to send along as the package' },
    ...REQUEST_FLAGS,
  },
  run: submit,
};

async function submit(call: Call, terminal: Terminal): Promise<number> {
  const fields = await readRequest(call, terminal);
  const cloud = openCloud(await requireTarget(call, terminal), terminal);
  const folder = call.text('code');
  if (folder === null) return sendRequest(cloud, { call, terminal, fields });
  const code = await packCode(folder, cloud, terminal);
  const packed = { ...fields, ...code.fields };
  return sendRequest(cloud, { call, terminal, fields: packed, before: code.store });
}

export interface Submission {
  readonly call: Call;
  readonly terminal: Terminal;
  readonly fields: RequestFields;
  /** What the run needs to be there; done once the request is found to be right. */
  readonly before?: () => Promise<void>;
}

/** Checks the request, sends it, and watches it where the caller asked for that; gives the exit code. */
export async function sendRequest(cloud: Cloud, submission: Submission): Promise<number> {
  const { call, terminal, fields, before } = submission;
  const runId =
    fields.runId === undefined
      ? makeRunId(cloud.clock, cloud.entropy)
      : requireRunId(
          typeof fields.runId === 'string' ? fields.runId : JSON.stringify(fields.runId),
        );
  const request = { ...fields, runId };
  const text = JSON.stringify(request);
  const bytes = Buffer.byteLength(text);
  if (bytes > MESSAGE_BYTES_MAX) {
    throw usageError(
      `the request has ${bytes} bytes, at most ${MESSAGE_BYTES_MAX}; put large data in an input object`,
    );
  }
  const warnings = await refuseFaults(call, terminal, request);
  await before?.();
  const wait = call.has('wait');
  const known = fields.runId === undefined ? 'no' : await knownAs(cloud, { runId, request, wait });
  if (known === 'other' && !wait) throw takenId(runId);
  const messageId = await cloud.publishRequest(text);
  terminal.note(`run ${runId} asked for (message ${messageId})`);
  if (known === 'same') terminal.note('  it was asked for before: nothing starts a second time');
  for (const warning of new Set(warnings)) terminal.note(`  warning: ${warning}`);
  if (wait) {
    const foreignResult = known === 'other';
    return watchToEnd(cloud, { call, terminal, runId, messageId, foreignResult });
  }
  terminal.write(call.has('json') ? `${JSON.stringify({ runId, messageId })}\n` : `${runId}\n`);
  terminal.note(`  watch it: mayfly watch ${runId}`);
  return EXIT_DONE;
}

interface Asked {
  readonly runId: string;
  readonly request: unknown;
  readonly wait: boolean;
}

/** `other`: the id belongs to a run with other content, so that this message can only be rejected. */
async function knownAs(cloud: Cloud, asked: Asked): Promise<'no' | 'same' | 'other'> {
  try {
    const stored = await cloud.store.read(requestObject(asked.runId));
    if (stored.kind === 'absent') return 'no';
    const value: unknown = JSON.parse(new TextDecoder().decode(stored.bytes));
    return sameJson(value, asked.request) ? 'same' : 'other';
  } catch (error) {
    if (error instanceof SyntaxError) return 'other'; // whatever stands there is not this request
    // Who only sends needs no right to read the bucket: the deployment judges in any case.
    if (error instanceof CloudError && !asked.wait) return 'no';
    throw error;
  }
}

const takenId = (runId: string) =>
  usageError(
    `the id ${runId} belongs to another request already, nothing was sent: it would be rejected\n` +
      `  that one: mayfly show ${runId}; choose another id, or none`,
  );
