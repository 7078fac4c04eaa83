// Machines in the project that are not ours, which nothing may ever touch; and one that carries our
// label without any record.
import type { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';
import { ZONES } from '#test/simulation/swarm/scenario.ts';

function machineBody(name: string, zone: string, labels: Readonly<Record<string, string>>) {
  return {
    name,
    machineType: `zones/${zone}/machineTypes/e2-standard-2`,
    labels,
    disks: [
      {
        boot: true,
        autoDelete: true,
        initializeParams: {
          sourceImage: 'projects/cos-cloud/global/images/family/cos-121-lts',
          labels,
        },
      },
    ],
    networkInterfaces: [{ subnetwork: 'regions/us-central1/subnetworks/default' }],
  };
}

/** Of nobody, and of another deployment with a deadline long past. */
export function placeStrangers(kernel: Kernel): void {
  const old = { deployment: 'other', deadline: '1000000000', created: '1000000000' };
  const bodies = [
    machineBody('somebody', ZONES[0], {}),
    machineBody('other-r1', ZONES[1], { 'managed-by': 'mayfly', ...old }),
    machineBody('copied-label', ZONES[2], { deployment: SETTINGS.plan.deployment, deadline: '1' }),
  ];
  for (const [index, body] of bodies.entries()) {
    const params = { project: SETTINGS.plan.project, zone: ZONES[index] ?? ZONES[0] };
    const reply = kernel.call({ method: 'compute.instances.insert', params, body });
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  }
}

/** The names of the strangers that are still there. */
export function strangersLeft(kernel: Kernel): number {
  const names = ['somebody', 'other-r1', 'copied-label'];
  const machines = [...kernel.world.compute.machinesById.values()];
  return names.filter((name) => machines.some((one) => one.name === name)).length;
}

export function strayBody(name: string, zone: string, nowMs: number) {
  const createdSeconds = Math.floor(nowMs / 1000);
  return machineBody(name, zone, {
    'managed-by': 'mayfly',
    deployment: SETTINGS.plan.deployment,
    created: String(createdSeconds),
    deadline: String(createdSeconds + 1_000_000),
  });
}
