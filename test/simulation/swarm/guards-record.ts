// Guards of record, placement and cancel (R1, R4, laws 3 to 6).
import type { Guard } from '#test/simulation/swarm/guards.ts';

const ADVANCE = 'shared/runs/advance.ts';
const STORE = 'shared/runs/record-store.ts';
const DECIDE_ENDED = 'shared/lifecycle/decide-ended.ts';
const END_ATTEMPT = 'shared/lifecycle/end-attempt.ts';
const FAILURES = 'shared/lifecycle/failures.ts';
const CANCEL = 'functions/submit/cancel.ts';
const SWAP = '    const reply = await swapRecord(store, this.#loaded, stamped);';

export const RECORD_GUARDS: readonly Guard[] = [
  {
    name: 'write, then delete',
    serves: 'R1',
    edits: [
      {
        file: ADVANCE,
        find: SWAP,
        replace: `    for (const effect of effects) if (effect.kind === 'delete-machine') await this.#delete(effect);\n${SWAP}`,
      },
    ],
  },
  {
    name: 'write, then insert',
    serves: 'R1',
    edits: [
      {
        file: ADVANCE,
        find: SWAP,
        replace: `    const attempt = currentAttempt(next);
    const intent = attempt?.intents.at(-1);
    const fresh = intent?.number !== currentAttempt(before)?.intentCount;
    if (this.#options.creator && intent?.status === 'ordered' && fresh) {
      await insertMachine(this.#deps, this.#options.creator, { record: next, attempt, intent }, true);
    }
${SWAP}`,
      },
    ],
  },
  {
    name: 'swap under the generation that was read',
    serves: 'law 4',
    edits: [
      {
        file: STORE,
        find: '    ifGeneration: loaded.generation,',
        replace:
          "    ifGeneration: await store.read(name).then((live) => live.kind === 'found' ? live.generation : '0'),",
      },
    ],
  },
  {
    name: 'a lost swap is told from an own one',
    serves: 'law 4',
    edits: [{ file: STORE, find: ' && live.record.writer === next.writer', replace: '' }],
  },
  {
    name: 'intent number in requestId',
    serves: 'law 5',
    edits: [
      {
        file: 'shared/lifecycle/walk.ts',
        find: 'requestId(context.deployment, record.runId, attempt.number, number)',
        replace: 'requestId(context.deployment, record.runId, attempt.number, 1)',
      },
    ],
  },
  {
    name: 'definite means first call',
    serves: 'law 3',
    edits: [
      {
        file: ADVANCE,
        find: '    const first = this.#ownIntent === key;',
        replace: '    const first = true;',
      },
    ],
  },
  {
    name: 'a repeat is written before it is sent',
    serves: 'R1',
    edits: [
      {
        file: 'shared/lifecycle/decide-placement.ts',
        find: '    if (intent.repeated === true && mine) return',
        replace: '    if (mine) return',
      },
    ],
  },
  {
    name: 'asked after again once its operation is done',
    serves: 'R4',
    edits: [
      {
        file: ADVANCE,
        find: '          ...(done ? { machines: this.#askAgainIn(step.zone) } : {}),\n',
        replace: '',
      },
    ],
  },
  {
    name: 'an intent of a zone tried before stays open',
    serves: 'R4',
    edits: [
      {
        file: 'shared/lifecycle/places.ts',
        find: 'place.zone === zone && place.called,',
        replace: 'place.zone === "" && place.called,',
      },
    ],
  },
  {
    name: 'result before the active entry goes',
    serves: 'R4',
    edits: [
      {
        file: DECIDE_ENDED,
        find: "  if (!seen.finished) return { kind: 'finish' };",
        replace: "  if (!seen.finished) return { kind: 'forget' };",
      },
    ],
  },
  {
    name: 'machines before the active entry goes',
    serves: 'R4',
    edits: [
      {
        file: DECIDE_ENDED,
        find: "  return open ? { kind: 'rest' } : { kind: 'forget' };",
        replace: "  return { kind: 'forget' };",
      },
      {
        file: DECIDE_ENDED,
        find: "      if (step !== null && step.kind !== 'rest') return step;\n",
        replace: '',
      },
    ],
  },
  {
    name: 'an unknown insert stays open',
    serves: 'R4',
    edits: [
      {
        file: DECIDE_ENDED,
        find: "  if (intent.operation === null) return { kind: 'rest' };",
        replace: '  if (intent.operation === null) return null;',
      },
    ],
  },
  {
    name: 'cancel over STOPPING',
    serves: 'law 4',
    edits: [
      {
        file: CANCEL,
        find: 'isFinal(record.state) || record.cancel !== null)',
        replace: "isFinal(record.state) || record.state === 'STOPPING' || record.cancel !== null)",
      },
    ],
  },
  {
    name: 'a cancel starts no further attempt',
    serves: 'law 4',
    edits: [
      {
        file: END_ATTEMPT,
        find: 'record.cancel !== null || record.attempts',
        replace: 'record.attempts',
      },
      {
        file: FAILURES,
        find: "    case 'cancelled':\n    case 'cancelled-outside':\n      return null;",
        replace:
          "      return null;\n    case 'cancelled':\n    case 'cancelled-outside':\n      return 'infrastructure';",
      },
    ],
  },
  {
    name: 'cancel before its request leaves an entry',
    serves: 'law 5',
    edits: [
      { file: CANCEL, find: '  if (known === null) await markActive(deps, runId);\n', replace: '' },
    ],
  },
  {
    name: 'retries are counted',
    serves: 'law 6',
    edits: [
      {
        file: END_ATTEMPT,
        find: '  return record.used[counter] < allowed;',
        replace: '  return allowed >= 0;',
      },
    ],
  },
  {
    name: 'a run past its time is not tried again',
    serves: 'law 6',
    edits: [
      {
        file: FAILURES,
        find: "    case 'timeout':\n    case 'ttl':\n    case 'stock-out':",
        replace: "    case 'stock-out':",
      },
      {
        file: FAILURES,
        find: "    case 'host-error':\n    case 'machine-lost':\n    case 'interrupted':\n",
        replace:
          "    case 'host-error':\n    case 'machine-lost':\n    case 'interrupted':\n    case 'timeout':\n    case 'ttl':\n",
      },
    ],
  },
  {
    name: 'active entry before the record',
    serves: 'law 5',
    edits: [
      {
        file: 'functions/submit/accept.ts',
        find: '    loaded === null ? markActive(deps, request.runId) : undefined,',
        replace: '    undefined,',
      },
    ],
  },
];
