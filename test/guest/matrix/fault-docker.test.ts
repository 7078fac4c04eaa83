// The fault matrix of docker's commands: each fails once, fails for long, or hangs.
import { describe, expect, test } from 'vitest';
import { testsWith } from '#test/guest/boot/parts.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';

const TRIES = 3;

interface DockerCall {
  readonly command: string;
  /** `repeated`: a failure may pass, and nothing is done twice by it; `once`: docker may have begun. */
  readonly asked: 'repeated' | 'once' | 'courtesy';
  readonly step: string;
  /** Its answer takes as long as the container does. */
  readonly waits?: true;
}

const CALLS: readonly DockerCall[] = [
  { command: 'login', asked: 'repeated', step: 'credentials' },
  { command: 'pull', asked: 'repeated', step: 'pull' },
  { command: 'image', asked: 'courtesy', step: 'pull' },
  { command: 'info', asked: 'courtesy', step: 'start' },
  { command: 'run', asked: 'once', step: 'start' },
  { command: 'wait', asked: 'repeated', step: 'run', waits: true },
  { command: 'logs', asked: 'courtesy', step: 'report' },
];

const FAULTS = ['fails once', 'fails for long', 'hangs once'] as const;
type DockerFault = (typeof FAULTS)[number];

function truthOf(call: DockerCall, fault: DockerFault): string {
  if (call.asked === 'courtesy') return 'SUCCEEDED report';
  const repaired = call.asked === 'repeated' && fault !== 'fails for long';
  return repaired ? 'SUCCEEDED report' : `FAILED ${call.step}`;
}

function plant(machine: GuestMachine, call: DockerCall, fault: DockerFault): void {
  if (fault === 'hangs once') {
    const once = `[[ -e $STUB/hung ]] || { : >"$STUB/hung"; exec sleep 600; }`;
    machine.plan(`${call.command}.sh`, once);
  } else {
    machine.plan(`fail-${call.command}`, fault === 'fails once' ? '1' : '1000');
  }
}

const LIMIT_MS = 300_000;

describe.runIf(testsWith('matrix')).each(CALLS)('docker $command', (call) => {
  const faults = FAULTS.filter((fault) => fault !== 'hangs once' || call.waits !== true);
  test.concurrent.each(faults)(
    '%s',
    async (fault) => {
      await using machine = await GuestMachine.create({
        container: 'echo said',
        guest: { tries: TRIES, dockerSeconds: 6, pullSeconds: 6 },
      });
      plant(machine, call, fault);
      await machine.run();
      const { status, step, cause } = machine.lastMarker();
      expect(`${status} ${step}`, machine.steps()).toBe(truthOf(call, fault));
      expect(cause).toBe(status === 'SUCCEEDED' ? 'exit' : 'step-failed');
      expect(machine.dockerCalls(call.command).length).toBeGreaterThan(0);
      expect(machine.deletes()).toHaveLength(1);
      // A container that may have been started is stopped; none is started twice.
      expect(machine.dockerCalls('run').length).toBeLessThanOrEqual(1);
      if (status === 'FAILED' && machine.dockerCalls('run').length > 0) {
        expect(machine.dockerCalls('stop').length).toBeGreaterThan(0);
      }
    },
    LIMIT_MS,
  );
});
