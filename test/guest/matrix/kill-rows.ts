// Where a script can be struck: one place in each step, while the step is doing its work.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Fault } from '#test/guest/fake-google.ts';
import { OBJECTS, type PlannedRun } from '#test/guest/matrix/planned-run.ts';
import { unpackScript } from '#test/guest/unpack.ts';

/** A container that does its work. */
export const RESULT = 'echo result >"$WORK/outputs/0/result"';
const MARKER_UPLOAD = 'uploadType=media&name=runs%2Fgce-status';

const CLAIM_UPLOAD = 'claim.json&ifGenerationMatch';
const ONCE = { kind: 503 } as const;

export interface Row {
  readonly name: string;
  /** The step that the marker names. */
  readonly step: string;
  readonly claimed: boolean;
  /** The script has read that the claim is its own. */
  readonly knows: boolean;
  /** The container has ended with 0 by then. */
  readonly exited: boolean;
  readonly container: string;
  /** Changes the script so that it stops there. */
  readonly change?: (script: string) => string;
  /** Calls `strike` once, as soon as the script is there. */
  readonly hold: (run: PlannedRun, strike: () => void) => Promise<void>;
}

/** At a call: the blow falls when it has arrived, and its reply is one that may pass. */
function atCall(at: string, how: { kind: Fault['kind']; times?: number } = ONCE): Row['hold'] {
  return async (run, strike) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let struck = false;
    const whenPlayed = () => {
      if (!struck) strike();
      struck = true;
      resolve();
    };
    run.machine.google.plant({ at, ...how, whenPlayed });
    await promise;
  };
}

/** In a stub of docker: it waits; when the machine goes down it fails, as docker does. */
function inDocker(command: string): Row['hold'] {
  return async (run, strike) => {
    const wait = 'until [[ $(cat "$STUB/system-state" 2>/dev/null) ]]; do sleep 0.05; done';
    run.machine.plan(`${command}.sh`, `: >"$STUB/held"; ${wait}; exit 1`);
    await atFile('held')(run, strike);
  };
}

function atFile(name: string): Row['hold'] {
  return async (run, strike) => {
    await run.machine.until(() => existsSync(join(run.machine.stub, name)));
    strike();
  };
}

const encoded = (object: string) => encodeURIComponent(object).replaceAll('%2E', '.');
const early = { claimed: true, knows: true, exited: false, container: RESULT };

export const ROWS: readonly Row[] = [
  {
    ...{ ...early, name: 'boot, no claim yet', step: 'boot', claimed: false, knows: false },
    hold: atCall(CLAIM_UPLOAD, { kind: 503, times: 1000 }),
  },
  {
    ...{ ...early, name: 'boot, claim in flight', step: 'boot', knows: false },
    hold: atCall(CLAIM_UPLOAD, { kind: 'lose-reply' }),
  },
  { ...early, name: 'boot, claimed', step: 'boot', hold: atCall(MARKER_UPLOAD) },
  {
    ...{ ...early, name: 'tools', step: 'tools', hold: atFile('held') },
    change: (script) =>
      unpackScript(script).replace('\n  step tools\n', '$&  : >"$STUB/held"; pause_ms 60000\n'),
  },
  { ...early, name: 'credentials', step: 'credentials', hold: inDocker('login') },
  { ...early, name: 'pull', step: 'pull', hold: inDocker('pull') },
  { ...early, name: 'package', step: 'package', hold: atCall(`/o/${encoded(OBJECTS.package)}`) },
  { ...early, name: 'inputs', step: 'inputs', hold: atCall(`/o/${encoded(OBJECTS.input)}`) },
  { ...early, name: 'start', step: 'start', hold: inDocker('run') },
  {
    ...{ ...early, name: 'run', step: 'run' },
    // The worst one: stopped, it ends with 0.
    container: `trap 'exit 0' TERM; : >"$STUB/running"; sleep 60 & wait`,
    hold: async (run, strike) => {
      await run.machine.untilContainerRuns();
      strike();
    },
  },
  {
    ...{ ...early, name: 'outputs', step: 'outputs', exited: true },
    hold: atCall(`name=${encoded(OBJECTS.output)}`),
  },
  {
    ...{ ...early, name: 'report', step: 'report', exited: true },
    hold: async (run, strike) => {
      await run.machine.until(() => run.markers().length > 0);
      await atCall(MARKER_UPLOAD)(run, strike);
    },
  },
];
