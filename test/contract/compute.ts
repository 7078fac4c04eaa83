// What the Compute adapter sees of a Compute Engine, whoever stands behind the transport: the states
// of a machine from insert to gone, the replay of a request id, lists with scopes that cannot be read.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Compute, Operation } from '#shared/cloud/compute.ts';
import type { InstanceBody } from '#shared/plan/model.ts';

export interface OpenedCompute extends AsyncDisposable {
  readonly compute: Compute;
  readonly project: string;
  /** Lets the platform do what it has begun. */
  settle(): Promise<void>;
}

const ZONE = 'us-central1-a';
const FILTER = 'labels.managed-by=mayfly AND labels.deployment=contract';
const requestId = (digit: number) => `c9a646d3-9c61-5cc2-9b0e-2a7f0c6a1a1${digit}`;

/** Declares the suite for one implementation. */
export function describeCompute(name: string, open: () => Promise<OpenedCompute>): void {
  describe(name, () => {
    let opened: OpenedCompute;
    let compute: Compute;
    beforeAll(async () => {
      opened = await open();
      compute = opened.compute;
    });
    afterAll(() => opened[Symbol.asyncDispose]());

    const bodyOf = (machine: string): InstanceBody => ({
      name: machine,
      machineType: `zones/${ZONE}/machineTypes/n2-standard-4`,
      labels: { 'managed-by': 'mayfly', deployment: 'contract', attempt: '1' },
      metadata: { items: [{ key: 'mayfly-attempt', value: '1' }] },
      disks: [
        {
          boot: true,
          autoDelete: true,
          initializeParams: {
            sourceImage: 'projects/cos-cloud/global/images/family/cos-stable',
            diskName: `${machine}-1`,
            diskSizeGb: '20',
            diskType: `zones/${ZONE}/diskTypes/pd-balanced`,
            labels: { 'managed-by': 'mayfly', deployment: 'contract' },
          },
        },
      ],
      networkInterfaces: [
        { subnetwork: `projects/${opened.project}/regions/us-central1/subnetworks/default` },
      ],
      scheduling: { provisioningModel: 'SPOT', instanceTerminationAction: 'DELETE' },
    });

    const insert = async (machine: string, id: string): Promise<Operation> => {
      const reply = await compute.insertInstance(ZONE, id, bodyOf(machine));
      if (reply.kind !== 'accepted') throw new Error(JSON.stringify(reply));
      return reply.operation;
    };

    test('A64: a machine that never was is gone', async () => {
      expect(await compute.getInstance(ZONE, 'never')).toEqual({ kind: 'gone' });
      expect(await compute.deleteInstance(ZONE, 'never', requestId(0))).toEqual({ kind: 'gone' });
      expect(await compute.deleteDisk(ZONE, 'never')).toEqual({ kind: 'gone' });
      expect(await compute.getOperation(ZONE, 'operation-never')).toEqual({ kind: 'gone' });
      expect(await compute.getGuestAttributes(ZONE, 'never')).toBeNull();
    });

    test('a machine lives from its insert to its delete, and its operations tell so', async () => {
      const begun = await insert('vm-life', requestId(1));
      expect(begun).toMatchObject({ operationType: 'insert', targetName: 'vm-life', zone: ZONE });
      await opened.settle();
      const ended = await compute.getOperation(ZONE, begun.name);
      expect(ended).toMatchObject({ kind: 'there', operation: { status: 'DONE', errors: [] } });
      const there = await compute.getInstance(ZONE, 'vm-life');
      if (there.kind !== 'there') throw new Error(there.kind);
      expect(there.machine).toMatchObject({
        status: 'RUNNING',
        zone: ZONE,
        machineType: 'n2-standard-4',
        labels: { deployment: 'contract', attempt: '1' },
        metadata: { 'mayfly-attempt': '1' },
        provisioningModel: 'SPOT',
      });
      const removed = await compute.deleteInstance(ZONE, 'vm-life', requestId(2));
      expect(removed).toMatchObject({ kind: 'accepted', operation: { operationType: 'delete' } });
      await opened.settle();
      expect(await compute.getInstance(ZONE, 'vm-life')).toEqual({ kind: 'gone' });
      const listed = await compute.listOperations(ZONE, there.machine.id);
      if (listed.kind !== 'listed') throw new Error(listed.kind);
      const types = listed.operations.map(({ operationType }) => operationType);
      expect([types[0], types.at(-1)]).toEqual(['delete', 'insert']);
    });

    test('a repeated request id gives the old operation, another one a conflict', async () => {
      const first = await insert('vm-twice', requestId(3));
      expect((await insert('vm-twice', requestId(3))).name).toBe(first.name);
      const other = await compute.insertInstance(ZONE, requestId(4), bodyOf('vm-twice'));
      expect(other.kind).toBe('conflict');
    });

    test('a machine type that does not exist is refused at once', async () => {
      const body = { ...bodyOf('vm-wrong'), machineType: `zones/${ZONE}/machineTypes/n2-wrong-1` };
      const reply = await compute.insertInstance(ZONE, requestId(5), body);
      expect(reply.kind).toBe('refused');
      expect(await compute.getInstance(ZONE, 'vm-wrong')).toEqual({ kind: 'gone' });
    });

    test('machines and disks are listed by label, with their zones', async () => {
      await insert('vm-listed', requestId(6));
      await opened.settle();
      const machines = await compute.listInstances(FILTER, null);
      expect(machines.items.find(({ name: listed }) => listed === 'vm-listed')).toMatchObject({
        zone: ZONE,
      });
      expect(machines.unknownZones).toEqual([]);
      const disks = await compute.listDisks(FILTER, null);
      expect(disks.items.find(({ name: listed }) => listed === 'vm-listed-1')).toMatchObject({
        zone: ZONE,
      });
      const foreign = await compute.listInstances('labels.deployment=somebody-else', null);
      expect(foreign.items).toEqual([]);
    });
  });
}
