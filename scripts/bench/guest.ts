// `npm run bench -- guest`: from the start of the startup script to the start of the container's process,
// every call answered at once and the image there already, beside a bare `docker run` of the same container
// by the same engine; and how many processes the script starts. Needs root and a container engine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '#scripts/bench/measure.ts';
import { Engine } from '#test/guest/engine/engine.ts';
import { EngineMachine } from '#test/guest/engine/engine-machine.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';

const ROUNDS = 9;
const AIM_MS = 400;
const TOUCH = ['touch', '/mayfly/scratch/running'];
/** The image is there: a pull is not part of the figure. */
const NO_PULL = '[[ $1 != pull ]] || exit 0; exec "$DOCKER" "$@"';

export async function benchGuest(): Promise<void> {
  const { untilStart, whole } = await countProcesses();
  print(`processes that the script starts: ${untilStart} until the container, ${whole} in all`);
  await using engine = await Engine.start();
  await engine.docker('pull', '--quiet', engine.image);
  const scripts: number[] = [];
  const bare: number[] = [];
  // The first round only warms up.
  for (let round = -1; round < ROUNDS; round++) {
    const bareMs = await timeBareRun(engine);
    const scriptMs = await timeScript(engine);
    if (round < 0) continue;
    bare.push(bareMs);
    scripts.push(scriptMs);
  }
  print(line('bare docker run → container start', bare));
  print(line('script start → container start', scripts));
  const over = median(scripts.map((value, round) => value - (bare[round] ?? 0)));
  const ratio = median(scripts.map((value, round) => value / (bare[round] ?? 0)));
  print(
    `the script takes ${over.toFixed(0)} ms longer (aim: ${AIM_MS}), ${ratio.toFixed(2)} times`,
  );
}

const nowMs = () => performance.timeOrigin + performance.now();

/** When the container's own process made its file. */
const startedMs = (folder: string) =>
  Number(statSync(join(folder, 'running'), { bigint: true }).mtimeNs) / 1e6;

async function timeScript(engine: Engine): Promise<number> {
  await using machine = await EngineMachine.create(engine, {
    docker: NO_PULL,
    request: { command: TOUCH },
    keepImages: true,
  });
  const startMs = nowMs();
  await machine.run();
  if (machine.guest.lastMarker().status !== 'SUCCEEDED') throw new Error(machine.steps());
  return startedMs(join(machine.guest.work, 'scratch')) - startMs;
}

async function timeBareRun(engine: Engine): Promise<number> {
  const folder = mkdtempSync(join(engine.folder, 'bare-'));
  const [program = '', ...enter] = engine.enter;
  const words = ['run', '--detach', '--init', '--log-driver', 'local'];
  const mount = ['--mount', `type=bind,source=${folder},target=/mayfly/scratch`];
  const startMs = nowMs();
  const child = spawn(program, [...enter, 'docker', ...words, ...mount, engine.image, ...TOUCH]);
  await once(child, 'exit');
  const id = await engine.docker('ps', '--latest', '--quiet');
  await engine.docker('wait', id);
  const tookMs = startedMs(folder) - startMs;
  await engine.docker('rm', id);
  rmSync(folder, { recursive: true });
  return tookMs;
}

/** In a process namespace of its own the numbers tell exactly how many processes there were. */
async function countProcesses(): Promise<{ untilStart: number; whole: number }> {
  await using machine = await GuestMachine.create();
  machine.installText('docker', WITHOUT_PROCESSES);
  machine.installText('systemctl', 'echo running');
  machine.plan('script', machine.script());
  const count = `'bash "$STUB/script"; (echo "$BASHPID" >"$STUB/whole")'`;
  await machine.run('startup', `exec unshare --pid --fork --mount-proc bash -c ${count}\n`);
  if (machine.lastMarker().status !== 'SUCCEEDED') throw new Error(machine.steps());
  const read = (name: string) => Number(readFileSync(join(machine.stub, name), 'utf8'));
  // Without the shell around the script, the script itself, and the process that counts.
  return { untilStart: read('until-start') - 2, whole: read('whole') - 3 };
}

/** A docker that answers like one whose container ends with 0, and starts no process for it. */
const WITHOUT_PROCESSES = `case $1 in
  run) echo "$$" >"$STUB/until-start" ;;
  image) echo "amd64||host/repo@sha256:" ;;
  wait) echo 0 ;;
  inspect) echo false ;;
esac`;

function line(name: string, values: readonly number[]): string {
  const shown = [Math.min(...values), median(values), Math.max(...values)].map((value) =>
    value.toFixed(0),
  );
  return `${name.padEnd(34)} ${shown.join(' / ')} ms (min / median / max of ${ROUNDS} rounds)`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
