// Disks of ours that no machine uses: auto-delete does not hold for a disk that was detached.
import { keepNote, type SweepReport } from '#functions/sweep/report.ts';
import type { Disk } from '#shared/cloud/compute.ts';
import { readLabels } from '#shared/lifecycle/sweep.ts';
import { diskUsdPerHour } from '#shared/plan/cost.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

export async function sweepDisk(deps: RunDeps, disk: Disk, report: SweepReport): Promise<void> {
  const { plan, sweepPeriodSeconds } = deps.settings;
  if (!readLabels(disk.labels, plan.deployment).ours) return;
  report.disks.seen += 1;
  const instance = disk.name.replace(/-\d+$/, '');
  const oldMs = 2 * sweepPeriodSeconds * 1000;
  const young = disk.createdMs === null || deps.clock.nowMs() - disk.createdMs <= oldMs;
  if (disk.users.length > 0 || young) {
    report.disks.kept += 1;
    return;
  }
  const machine = await deps.compute.getInstance(disk.zone, instance);
  if (machine.kind !== 'gone') {
    report.disks[machine.kind === 'unknown' ? 'unknown' : 'kept'] += 1;
    return;
  }
  const reply = await deps.compute.deleteDisk(disk.zone, disk.name);
  deps.log('NOTICE', 'disk-deleted', `${disk.name} in ${disk.zone}: ${reply.kind}`);
  report.disks[reply.kind === 'unknown' ? 'unknown' : 'reaped'] += 1;
  if (reply.kind !== 'unknown' || reply.error.retriable) return;
  report.disks.leaks += 1;
  const { name, zone, diskType, sizeGiB } = disk;
  keepNote(report.leaks, {
    kind: 'disk',
    name,
    zone,
    type: diskType,
    usdPerHour: sizeGiB === null ? null : diskUsdPerHour(diskType, sizeGiB),
    why: 'no machine uses it',
    refusal: `${reply.error.code} ${reply.error.message}`,
  });
}
