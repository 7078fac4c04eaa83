// What can go wrong in a simulated world, by name. A seed draws a few of these and how often each hits.

/** Hits at a call of a function or a guest, with the probability that the seed drew. */
export const CALL_FAULTS = [
  'crash-before',
  'crash-after',
  'freeze',
  'freeze-after-swap',
  'freeze-before-swap',
  'slow-call',
  'rate-limited',
  'server-error-before',
  'server-error-after',
  'timeout-before',
  'timeout-after',
  'unreadable',
  'insert-lands-late',
  'delete-lands-late',
  'run-lands-late',
  'write-lands-late',
  'marker-lands-late',
  'delete-refused',
  'insert-refused',
  'operation-refused',
] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

/** On a message's way to a function, or at a slot of the sweep. */
export const PUSH_FAULTS = [
  'notification-lost',
  'look-lost',
  'signal-lost',
  'push-late',
  'push-unanswered',
  'sweep-lost',
  'sweep-twice',
] as const;

/** How the world is for the whole of a seed. */
export const WORLD_FAULTS = [
  'notification-twice',
  'notification-late',
  'signals-none',
  'signal-twice',
  'signal-late',
  'message-twice',
  'request-id-forgotten',
  'machines-invisible',
  'slow-start',
  'slow-delete',
  'delete-not-ready',
  'ttl-late',
  'clock-skew',
  'slow-functions',
] as const;

/** How one boot of a guest goes. */
export const GUEST_FAULTS = [
  'guest-fails',
  'guest-boots-late',
  'guest-never-claims',
  'guest-hangs',
  'guest-silent',
  'guest-works-long',
  'guest-stays',
  'guest-loses-power',
  'claim-tie',
] as const;

/** At an instant that the seed drew. */
export const MISHAPS = [
  'preempt',
  'host-error',
  'reset',
  'stop',
  'outside-delete',
  'delete-in-vain',
  'zone-outage',
  'partial-list',
  'bucket-outage',
  'insert-outage',
  'stock-out',
  'quota',
  'quota-late',
  'failed-but-there',
  'cancel',
  'cancel-early',
  'cancel-placing',
  'cancel-waiting',
  'cancel-stopping',
  'cancel-succeeded',
  'request-again',
  'conflict',
  'input-gone',
  'look',
  'sweep',
  'stray',
  'forged-marker',
  'forged-signal',
  'execution-cancelled',
  'execution-deleted',
  'task-out-of-memory',
  'execution-late',
  'execution-without-quota',
  'execution-stuck',
  'throttled',
  'forged-event',
] as const;
export type MishapKind = (typeof MISHAPS)[number];

/** What comes of the others, counted where it is seen. */
export const CONSEQUENCES = [
  'time-limit-of-the-platform',
  'request-id-answered-again',
  'marker-after-its-machine',
  'two-machines-of-an-attempt',
  'two-executions-of-an-attempt',
  'task-without-work',
  'several-tasks',
] as const;
export type Consequence = (typeof CONSEQUENCES)[number];

export const FAULTS = [
  ...CALL_FAULTS,
  ...PUSH_FAULTS,
  ...WORLD_FAULTS,
  ...GUEST_FAULTS,
  ...MISHAPS,
] as const;
export type FaultName = (typeof FAULTS)[number];

/** For faults that may hit at any call, and for those that have few calls to hit. */
export const RATES: readonly number[] = [0.01, 0.03, 0.1];
export const HIGH_RATES: readonly number[] = [0.1, 0.3, 0.7];

const FEW_CALLS: readonly string[] = [
  'freeze-after-swap',
  'freeze-before-swap',
  'insert-lands-late',
  'delete-lands-late',
  'run-lands-late',
  'marker-lands-late',
  'delete-refused',
  'insert-refused',
  'operation-refused',
] satisfies CallFault[];

export function ratesOf(name: FaultName): readonly number[] {
  const anyCall = (CALL_FAULTS as readonly string[]).includes(name) && !FEW_CALLS.includes(name);
  return anyCall ? RATES : HIGH_RATES;
}
