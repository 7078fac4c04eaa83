// Disks of ours that no machine uses: auto-delete does not hold for a disk that was detached.
import type { Listing } from '#functions/sweep/listing.ts';
import type { SweepReport } from '#functions/sweep/report.ts';
import type { Disk, Machine } from '#shared/cloud/compute.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

export async function sweepDisks(
  deps: RunDeps,
  disks: Listing<Disk>,
  machines: Listing<Machine>,
  report: SweepReport,
): Promise<void> {
  const { plan, sweepPeriodSeconds } = deps.settings;
  const listed = new Set(machines.items.map((machine) => `${machine.zone}/${machine.name}`));
  for (const disk of disks.items) {
    if (disk.labels['managed-by'] !== 'mayfly' || disk.labels.deployment !== plan.deployment) {
      continue;
    }
    report.disks.seen += 1;
    const instance = disk.name.replace(/-\d+$/, '');
    const oldMs = 2 * sweepPeriodSeconds * 1000;
    const young = disk.createdMs === null || deps.clock.nowMs() - disk.createdMs <= oldMs;
    if (disk.users.length > 0 || young || listed.has(`${disk.zone}/${instance}`)) {
      report.disks.kept += 1;
      continue;
    }
    const machine = await deps.compute.getInstance(disk.zone, instance);
    if (machine.kind !== 'gone') {
      report.disks[machine.kind === 'unknown' ? 'unknown' : 'kept'] += 1;
      continue;
    }
    const reply = await deps.compute.deleteDisk(disk.zone, disk.name);
    report.disks[reply.kind === 'unknown' ? 'unknown' : 'reaped'] += 1;
    deps.log('NOTICE', 'disk-deleted', `${disk.name} in ${disk.zone}: ${reply.kind}`);
  }
}
