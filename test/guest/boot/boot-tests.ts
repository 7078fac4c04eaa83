// The table of cases as tests, for whatever hardware; `MAYFLY_TEST_TABLE=1` prints what was seen.
import { afterAll, expect, test } from 'vitest';
import { BOOT_CASES, type BootCase } from '#test/guest/boot/boot-cases.ts';
import { BootedRun } from '#test/guest/boot/booted-run.ts';
import type { MakeHardware } from '#test/guest/boot/hardware.ts';
import { NONCE } from '#test/guest/intent.ts';

type Row = Readonly<Record<string, unknown>>;

export function testBoots(
  title: string,
  makeHardware: MakeHardware,
  timeoutMs: number,
  cases: readonly BootCase[] = BOOT_CASES,
): void {
  const rows: Row[] = [];
  for (const bootCase of cases) {
    test(bootCase.name, { timeout: timeoutMs }, async () => {
      const began = performance.now();
      await using run = await BootedRun.open(bootCase, makeHardware);
      await bootCase.happen(run);
      rows.push(rowOf(bootCase, run, performance.now() - began));
      expectTruth(bootCase, run);
    });
  }
  afterAll(() => {
    if (process.env.MAYFLY_TEST_TABLE === '1') {
      console.log(title);
      console.table(rows);
    }
  });
}

function expectTruth(bootCase: BootCase, run: BootedRun): void {
  const last = run.markers().at(-1);
  expect(last).toMatchObject({ ...bootCase.marker, nonce: NONCE });
  expect(run.story()).toEqual(bootCase.story);
  expect(run.claim()).toMatchObject({ by: 'machine', instanceId: '4242' });
  expect(run.containerStarts()).toBe(bootCase.containerStarts);
  if (bootCase.endsWithPowerOff) expect(run.dockerOutlivedReport()).toBe(true);
}

function rowOf({ name }: BootCase, run: BootedRun, milliseconds: number): Row {
  const last: Record<string, unknown> = run.markers().at(-1) ?? {};
  const { status, cause, step, exit_code } = last;
  return {
    case: name.slice(0, 60),
    marker: `${status} ${cause}`,
    step,
    exit_code,
    story: run.story().join(' '),
    starts: run.containerStarts(),
    seconds: Math.round(milliseconds / 100) / 10,
  };
}
