// What must meet for the rarer steps of a record: faults, and what every run asks for then.
import type { FaultName } from '#test/simulation/swarm/faults.ts';

export interface Theme {
  readonly rates: Readonly<Partial<Record<FaultName, number>>>;
  readonly request?: Readonly<Record<string, unknown>>;
  /** Nothing else goes wrong. */
  readonly alone?: boolean;
  /** At least so long do faults hit. */
  readonly minutes?: number;
}

const ONE_ZONE = { place: { zones: ['us-central1-a'] }, waitForCapacitySeconds: 3600 };
const GPU = { resources: { gpu: { type: 'l4' }, machineType: 'g2-standard-4' } };
/** Refused, and yet a machine of that call lands: after its answer was forgotten. */
const LANDS_AFTER_ALL = {
  'insert-lands-late': 0.3,
  'operation-refused': 0.9,
  'request-id-forgotten': 0.7,
} as const;

export const THEMES: readonly Theme[] = [
  { rates: { 'insert-refused': 0.3, 'operation-refused': 0.7, 'sweep-lost': 0.1 } },
  { rates: { 'insert-refused': 0.7, 'stock-out': 0.7, quota: 0.3, 'failed-but-there': 0.3 } },
  { rates: LANDS_AFTER_ALL, request: ONE_ZONE, minutes: 45 },
  { rates: { ...LANDS_AFTER_ALL, 'guest-fails': 0.7 }, request: ONE_ZONE, minutes: 45 },
  {
    rates: { ...LANDS_AFTER_ALL, 'quota-late': 0.7, 'guest-works-long': 0.7 },
    request: { ...ONE_ZONE, ...GPU },
    minutes: 45,
  },
  { rates: { 'guest-fails': 0.7, 'notification-lost': 0.3 } },
  { rates: { 'guest-fails': 0.7, 'marker-lands-late': 0.7, 'cancel-waiting': 0.7 } },
  { rates: { preempt: 0.7, 'host-error': 0.7, 'outside-delete': 0.7, 'slow-functions': 0.1 } },
  {
    rates: {
      preempt: 0.7,
      'signals-none': 0.7,
      'guest-loses-power': 0.7,
      'guest-works-long': 0.7,
    },
    request: { provisioning: 'spot', retry: { preempted: 0, infrastructure: 0 } },
  },
  { rates: { 'insert-outage': 0.7, 'freeze-after-swap': 0.3 }, request: { ttlSeconds: 1800 } },
  { rates: { 'insert-outage': 0.7 }, request: { ttlSeconds: 1800 }, alone: true },
  { rates: { 'input-gone': 0.7, 'crash-after': 0.1, 'crash-before': 0.1 } },
];
