// Guards of claim, marker and the end of an attempt (R2, R3).
import type { Guard } from '#test/simulation/swarm/guards.ts';

const DECIDE_ATTEMPT = 'shared/lifecycle/decide-attempt.ts';
const DECIDE_ORDERED = 'shared/lifecycle/decide-ordered.ts';
const DECIDE_REFUSED = 'shared/lifecycle/decide-refused.ts';
const LOSS = 'shared/lifecycle/loss.ts';
const END_ATTEMPT = 'shared/lifecycle/end-attempt.ts';
const FAILURES = 'shared/lifecycle/failures.ts';
const ADVANCE = 'shared/runs/advance.ts';
const CLAIM = 'shared/runs/claim.ts';
const GUEST = 'test/simulation/guest.ts';
const REPORT = 'test/simulation/guest-report.ts';

const SEAL_BLINDLY = {
  file: CLAIM,
  find: '    ifGeneration: read.generation,',
  replace: '    ifGeneration: undefined as unknown as string,',
};

export const CLAIM_GUARDS: readonly Guard[] = [
  {
    name: 'claim before the first step',
    serves: 'R2',
    edits: [{ file: GUEST, find: 'await this.#takeClaim();', replace: "'won';" }],
  },
  {
    name: 'claim by the control plane',
    serves: 'R2',
    edits: [
      {
        file: CLAIM,
        find: "  if (reply.kind === 'written') return { kind: 'held', holder: { by: 'control' } };\n  return readClaim(store, runId, attempt);",
        replace: "  return { kind: 'held', holder: { by: 'control' } };",
      },
    ],
  },
  {
    name: 'who holds the claim is read back',
    serves: 'R2',
    edits: [
      {
        file: CLAIM,
        find: '  return readClaim(store, runId, attempt);',
        replace: "  return { kind: 'free' };",
      },
    ],
  },
  {
    name: 'second boot of the holder does not work',
    serves: 'R2',
    edits: [{ file: GUEST, find: "? 'second-boot' : 'foreign'", replace: "? 'won' : 'foreign'" }],
  },
  {
    name: 'marker read after the machine is gone',
    serves: 'R3',
    edits: [
      {
        file: ADVANCE,
        find: "fact.kind === 'there' ? { machines } : { machines, marker: null }",
        replace: '{ machines }',
      },
      {
        file: DECIDE_ATTEMPT,
        find: '  const zones = machineZones(attempt);\n  for (const zone of zones) {',
        replace:
          "  if (seen.marker === null) return { kind: 'read-marker' };\n  const zones = machineZones(attempt);\n  for (const zone of zones) {",
      },
      SEAL_BLINDLY,
    ],
  },
  { name: 'seal under the generation just read', serves: 'R3', edits: [SEAL_BLINDLY] },
  {
    name: 'seal before an end without a word',
    serves: 'R3',
    edits: [
      {
        file: LOSS,
        find: "  if (!closed && !seen.sealed) return { kind: 'seal-marker' };\n",
        replace: '',
      },
    ],
  },
  {
    name: 'our own seal is not the machine’s word',
    serves: 'R3',
    edits: [{ file: DECIDE_ATTEMPT, find: ' && !marker.sealed ? marker', replace: ' ? marker' }],
  },
  {
    name: 'interrupted waits for gone',
    serves: 'R3',
    edits: [
      {
        file: DECIDE_ATTEMPT,
        find: '  if (word !== null && !isEnding(word)) {',
        replace: '  if (word !== null) {',
      },
    ],
  },
  {
    name: 'no end with a free claim: never began',
    serves: 'R3',
    edits: [
      {
        file: DECIDE_ATTEMPT,
        find: "  if (seen.claim === null || seen.claim.kind === 'free') return { kind: 'take-claim' };\n",
        replace: '',
      },
    ],
  },
  {
    name: 'no end with a free claim: ordered',
    serves: 'R3',
    edits: [
      {
        file: DECIDE_ORDERED,
        find: "  if (seen.claim === null || seen.claim.kind === 'free') return { kind: 'take-claim' };\n  const holder = seen.claim.holder;",
        replace:
          "  const holder = seen.claim?.kind === 'held' ? seen.claim.holder : { by: 'control' as const };",
      },
    ],
  },
  {
    name: 'no end with a free claim: abandoned',
    serves: 'R3',
    edits: [
      {
        file: DECIDE_REFUSED,
        find: "  if (seen.claim === null || seen.claim.kind === 'free') return { kind: 'take-claim' };\n  const holder = seen.claim.holder;\n  if (holder.by === 'machine') return adopt(record, attempt, holder, context);\n  const zone",
        replace: '  const zone',
      },
    ],
  },
  {
    name: 'no end with a free claim: no capacity',
    serves: 'R3',
    edits: [
      {
        file: DECIDE_REFUSED,
        find: "  if (seen.claim === null || seen.claim.kind === 'free') return { kind: 'take-claim' };\n  const holder = seen.claim.holder;\n  if (holder.by === 'machine') return adopt(record, attempt, holder, context);\n  return endSealed(record, seen, context, end);",
        replace: '  return endSealed(record, seen, context, end);',
      },
    ],
  },
  {
    name: 'the holder is adopted, not ended',
    serves: 'R3',
    edits: [
      {
        file: DECIDE_REFUSED,
        find: "  if (holder.by === 'machine') return adopt(record, attempt, holder, context);\n  const zone",
        replace: '  const zone',
      },
    ],
  },
  {
    name: 'watchdog claims first, then orders',
    serves: 'R3',
    edits: [
      {
        file: DECIDE_ATTEMPT,
        find: "    return claimOrEnd(record, seen, context);\n  }\n  if (facts.some((fact) => fact.kind !== 'gone'))",
        replace:
          "    return order(record, attempt, { reason: 'boot', cause: null, detail: 'late' }, context);\n  }\n  if (facts.some((fact) => fact.kind !== 'gone'))",
      },
    ],
  },
  {
    name: 'a machine that boots is left its time',
    serves: 'law 2',
    edits: [{ file: DECIDE_ATTEMPT, find: '> BOOT_ALLOWANCE_MS', replace: '> 20_000' }],
  },
  {
    name: 'terminal markers are never overwritten',
    serves: 'law 4',
    edits: [
      {
        file: REPORT,
        find: "      if (status === 'SUCCEEDED' || status === 'FAILED') return 'ended';\n",
        replace: '',
      },
    ],
  },
  {
    name: 'a marker counts for its own attempt alone',
    serves: 'law 3',
    edits: [
      {
        file: DECIDE_ATTEMPT,
        find: 'marker !== null && speaksFor(marker, attempt) ? marker : null',
        replace: 'marker',
      },
    ],
  },
  {
    name: 'nonce of a marker',
    serves: 'law 4',
    edits: [
      {
        file: 'shared/lifecycle/marker.ts',
        find: '  if (marker.attempt !== attempt.number) return false;\n',
        replace: '  if (marker.attempt === attempt.number) return true;\n',
      },
    ],
  },
  {
    name: 'success wins over a cancel',
    serves: 'law 4',
    edits: [
      {
        file: END_ATTEMPT,
        find: 'record.cancel !== null && !succeeded ?',
        replace: 'record.cancel !== null ?',
      },
      {
        file: END_ATTEMPT,
        find: "...endingOf(succeeded ? 'exit' : cause, succeeded)",
        replace: '...endingOf(cause, succeeded)',
      },
    ],
  },
  {
    name: 'preemption is read from the operations',
    serves: 'law 5',
    edits: [
      {
        file: FAILURES,
        find: "facts.ending === 'preempted' || facts.word === 'preempted'",
        replace: "facts.word === 'preempted'",
      },
    ],
  },
  {
    name: 'the deadline is not anticipated',
    serves: 'law 2',
    edits: [
      {
        file: DECIDE_ATTEMPT,
        find: 'deadlineMs !== null && context.nowMs >= deadlineMs)',
        replace: 'deadlineMs !== null && context.nowMs >= deadlineMs - 1_200_000)',
      },
    ],
  },
];
