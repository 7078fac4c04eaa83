// The watch that ends a run whose GPUs do nothing.
import { expect, test } from 'vitest';
import { makeGpuMachine } from '#test/guest/gpu-machine.ts';

const WATCH = `
  trap 'exit 3' ALRM
  watch_gpu_idle ALRM &
  sleep 99 >/dev/null 2>&1 &
  wait "$!"`;

/** Looks 30 s apart, from 5 s of uptime on; the n-th runs the n-th command, later ones the last. */
async function countLooks(looks: readonly string[]): Promise<number> {
  using machine = makeGpuMachine({
    variables: { GPU_IDLE_SECONDS: '90', GPU_PERIOD_SECONDS: '0.01' },
  });
  machine.plan(
    'nvidia-smi.sh',
    `read -r now _ <"$STUB/uptime"; echo "$((now + 30)) 0" >"$STUB/uptime"
    n=$(((now - 5) / 30)); ((n < ${looks.length})) || n=${looks.length - 1}
    source "$STUB/look-$n"; exit`,
  );
  looks.forEach((look, index) => {
    machine.plan(`look-${index}`, look);
  });
  const { code, output } = await machine.run(WATCH);
  expect(code).toBe(3);
  expect(output).toContain('no GPU did any work for 90 s');
  const calls = machine.calls('nvidia-smi');
  expect(calls[0]?.slice(1)).toEqual([
    ...['--query-gpu=utilization.gpu', '--format=csv,noheader,nounits'],
  ]);
  return calls.length;
}

const IDLE = 'printf "0\\n0\\n"';
// Without work from 5 s on the look at 95 s is the last, the fourth; from 35 s on the one at 125 s.
for (const { what, looks, last } of [
  { what: 'no card works', looks: [IDLE], last: 4 },
  { what: 'one of two cards works', looks: [IDLE, 'printf "0\\n7\\n"', IDLE], last: 5 },
  { what: 'a card works at 100 percent', looks: [IDLE, 'echo 100', IDLE], last: 5 },
  { what: 'a card works at the last moment', looks: [IDLE, IDLE, IDLE, 'echo 10', IDLE], last: 7 },
  { what: "the driver's program fails", looks: [IDLE, 'echo 0; exit 9', IDLE], last: 5 },
  { what: 'it says nothing', looks: [IDLE, ':', IDLE], last: 5 },
  { what: 'a divided card does not know', looks: [IDLE, 'echo "[N/A]"', IDLE], last: 5 },
]) {
  test(`gpuIdleSeconds: ${what}: the signal comes after ${last} looks`, async () => {
    expect(await countLooks(looks)).toBe(last);
  });
}

test('gpuIdleSeconds: the watch ends with a TERM, and its sleep with it', async () => {
  using machine = makeGpuMachine({
    variables: { GPU_IDLE_SECONDS: '90', GPU_PERIOD_SECONDS: '99' },
  });
  const { code, output } = await machine.run(
    `watch_gpu_idle ALRM &
    watcher=$!
    until [[ -n $(</proc/$watcher/task/$watcher/children) ]]; do :; done
    sleeper=$(</proc/$watcher/task/$watcher/children)
    kill "$watcher" && wait "$watcher"
    while kill -0 $sleeper 2>/dev/null; do :; done
    echo ended`,
  );
  expect({ code, output }).toEqual({ code: 0, output: 'ended\n' });
});
