// Every outgoing call of a run's script, and what the protocol says of it: what the run needs it for, and
// how long it is worth asking. The truth of a cell of the fault matrix follows from these words alone.
import type { Fault } from '#test/guest/fake-google.ts';

export interface OutgoingCall {
  readonly name: string;
  /** Part of `METHOD path?query`. */
  readonly at: string;
  /**
   * `fence`: without it the machine does not work, and it asks as long as it is there; `work`: without it
   * the step fails; `end`: finished work and its report, asked for until the machine's end; `courtesy`:
   * the run goes on without it.
   */
  readonly needed: 'fence' | 'work' | 'end' | 'courtesy';
  /** The step that fails for want of it. */
  readonly step: string;
  /** It is beside the machine: when it does not answer a few times, it does not answer. */
  readonly fewTimes?: true;
  /** A no is not final: the server may only be starting, or the question has another way to be asked. */
  readonly noIsNotFinal?: true;
  /** A wrong body is found out by the request's own word, so that the same would come again. */
  readonly garbageIsFinal?: true;
  /** The call is made, or is the one that is meant, once this has happened. */
  readonly after?: Pick<Fault, 'at' | 'kind'>;
}

export const SECRET = 'projects/p/secrets/s/versions/1';
const CLAIM = 'claim.json&ifGenerationMatch';
const MARKER_READ = 'GET /storage/v1/b/b1/o/runs%2Fgce-status';
const MARKER_WRITE = 'name=runs%2Fgce-status';
const LOG = 'name=runs%2Fwork%2Frun-1%2F1%2Flog.txt';
/** The log goes up before the last word; that it fails once is of no importance. */
const AT_THE_END = { at: LOG, kind: 503 } as const;

const fence = { needed: 'fence', step: 'boot', noIsNotFinal: true } as const;
const courtesy = { needed: 'courtesy', step: 'any' } as const;
const end = { needed: 'end', step: 'report', noIsNotFinal: true } as const;

export const CALLS: readonly OutgoingCall[] = [
  { ...courtesy, name: 'guest attribute', at: 'PUT /computeMetadata' },
  { ...fence, name: 'metadata: id', at: '/instance/id', fewTimes: true },
  { ...fence, name: 'token', at: 'default/token' },
  { ...fence, name: 'claim: write', at: CLAIM },
  {
    ...{ ...fence, name: 'claim: read', at: 'claim.json?alt=media' },
    // The object is another's, whoever that is.
    ...{ garbageIsFinal: true, after: { at: CLAIM, kind: 'lose-reply' } },
  },
  { ...courtesy, name: 'marker RUNNING: read', at: MARKER_READ },
  { ...courtesy, name: 'marker RUNNING: write', at: MARKER_WRITE },
  { name: 'secret', at: ':access', needed: 'work', step: 'credentials' },
  {
    ...{ name: 'package', at: '/b/code/o/', needed: 'work', step: 'package' },
    garbageIsFinal: true,
  },
  { name: 'input', at: '/b/data/o/', needed: 'work', step: 'inputs' },
  { ...courtesy, name: 'full log', at: 'entries:write' },
  { name: 'output', at: '/upload/storage/v1/b/results', needed: 'end', step: 'outputs' },
  { ...courtesy, name: 'log.txt', at: LOG },
  { ...end, name: 'last marker: read', at: MARKER_READ, after: AT_THE_END },
  { ...end, name: 'last marker: write', at: MARKER_WRITE, after: AT_THE_END },
  { ...end, name: 'delete', at: 'DELETE /compute' },
];
