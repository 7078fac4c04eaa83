import { describe, expect, test } from 'vitest';
import { markerObject } from '#shared/plan/objects.ts';
import {
  type Fields,
  faultFields,
  faultsOf,
  makeBody,
  makeIntent,
  makeSettings,
  WORKER,
} from '#test/plan/fixtures.ts';

const on = (machineType: string, more: object = {}) => ({ resources: { machineType, ...more } });

/** One machine of each kind: on demand or Spot only, with and without GPU, Arm, unknown. */
const KINDS = [
  { name: 'E2', ...on('e2-standard-4') },
  { name: 'N2', ...on('n2-standard-4') },
  { name: 'N1 with T4', ...on('n1-standard-4', { gpu: { type: 'T4' } }) },
  { name: 'G2', ...on('g2-standard-4') },
  { name: 'A3 8g', ...on('a3-highgpu-8g') },
  { name: 'C4A', ...on('c4a-standard-4', { architecture: 'arm64' }) },
  { name: 'unknown', ...on('c9-standard-4') },
];

describe('end of a machine', () => {
  test.each(KINDS.flatMap((kind) => ['standard', 'spot'].map((how) => ({ ...kind, how }))))(
    'P24: $name ($how) is given its end by the hypervisor, and the deadline as a label',
    ({ resources, how }) => {
      const { body, deadlineSeconds } = makeIntent({
        resources,
        provisioning: how,
        ttlSeconds: 900,
      });
      expect(body).toMatchObject({
        scheduling: {
          maxRunDuration: { seconds: '900' },
          instanceTerminationAction: 'DELETE',
          automaticRestart: false,
        },
        labels: { deadline: String(deadlineSeconds) },
      });
      // Contract §2: insert + platform wait + 600 s to RUNNING + ttlSeconds + 30 s.
      expect(deadlineSeconds).toBe(1_796_126_400 + 0 + 600 + 900 + 30);
    },
  );

  test('A8: run-time limit, action DELETE and no automatic restart stand in every body', () => {
    expect(makeBody().scheduling).toEqual({
      provisioningModel: 'STANDARD',
      instanceTerminationAction: 'DELETE',
      maxRunDuration: { seconds: '7200' },
      automaticRestart: false,
      onHostMaintenance: 'MIGRATE',
    });
  });

  test('A22: the seconds of the run-time limit are a string, as JSON has no 64-bit numbers', () => {
    expect(makeBody({ ttlSeconds: 600 })).toMatchObject({
      scheduling: { maxRunDuration: { seconds: '600' } },
    });
  });
});

describe('maintenance of the host', () => {
  /** Google's page on host maintenance, as a table. */
  test.each([
    { machine: on('e2-standard-4'), how: 'standard', policy: 'MIGRATE' },
    { machine: on('e2-standard-4'), how: 'spot', policy: 'TERMINATE' },
    { machine: on('n1-standard-4'), how: 'standard', policy: 'MIGRATE' },
    { machine: on('n2-standard-4'), how: 'standard', policy: 'MIGRATE' },
    { machine: on('n2-standard-4', { localSsdCount: 1 }), how: 'standard', policy: 'MIGRATE' },
    { machine: on('c3-standard-4'), how: 'standard', policy: 'MIGRATE' },
    { machine: on('c3-standard-4'), how: 'spot', policy: 'TERMINATE' },
    { machine: on('n1-standard-4', { gpu: { type: 'T4' } }), how: 'standard', policy: 'TERMINATE' },
    { machine: on('g2-standard-16'), how: 'standard', policy: 'TERMINATE' },
    { machine: on('a2-highgpu-1g'), how: 'standard', policy: 'TERMINATE' },
    { machine: on('a3-highgpu-8g'), how: 'standard', policy: 'TERMINATE' },
    { machine: on('g4-standard-48'), how: 'standard', policy: 'TERMINATE' },
    { machine: on('c3-standard-192-metal'), how: 'standard', policy: 'TERMINATE' },
    { machine: on('c9-standard-4'), how: 'standard', policy: undefined },
    { machine: on('c9-standard-4'), how: 'spot', policy: 'TERMINATE' },
  ])('A21: $machine.resources.machineType ($how) is given $policy', ({ machine, how, policy }) => {
    const body = makeBody({ ...machine, provisioning: how });
    const { onHostMaintenance } = body.scheduling as { onHostMaintenance?: string };
    expect(onHostMaintenance).toBe(policy);
  });

  test('D23: machines without GPU that migrate live are not ended by maintenance', () => {
    for (const type of ['n1-standard-4', 'n2-standard-4', 'c3-standard-4', 'm1-ultramem-40']) {
      expect(makeBody(on(type))).toMatchObject({ scheduling: { onHostMaintenance: 'MIGRATE' } });
    }
  });

  test('P15: GPU machines are planned with TERMINATE and without an automatic restart', () => {
    for (const type of ['g2-standard-16', 'a3-highgpu-8g']) {
      expect(makeBody(on(type))).toMatchObject({
        scheduling: { onHostMaintenance: 'TERMINATE', automaticRestart: false },
      });
    }
  });
});

describe('the machine', () => {
  test('A1: a run on gce is one machine', () => {
    const { body, instanceName } = makeIntent({ runtime: 'gce' });
    expect(body.name).toBe(instanceName);
    expect(faultFields({ runtime: 'gce' })).toEqual([]);
  });

  test('A19: the body’s name is the instance’s name', () => {
    const { body, instanceName } = makeIntent({ runId: 'Run.A' });
    // The hash is Python's hashlib.sha256(b'mayfly/Run.A').
    expect([body.name, instanceName]).toEqual(Array(2).fill('mayfly-run-a-a426f83cbed8-1'));
  });

  test('A20: the machine type is a zonal partial path', () => {
    const body = makeBody({ ...on('n2-standard-8'), place: { zones: ['us-east1-c'] } });
    expect(body.machineType).toBe('zones/us-east1-c/machineTypes/n2-standard-8');
  });

  test('A23: the boot disk goes with the machine, has its size as a string and a zonal type', () => {
    const { body, diskName } = makeIntent(on('n2-standard-8', { bootDiskGiB: 50 }));
    expect(diskName).toBe(`${body.name}-1`);
    expect(body.disks).toEqual([
      {
        boot: true,
        autoDelete: true,
        initializeParams: {
          diskName,
          sourceImage: 'projects/cos-cloud/global/images/family/cos-125-lts',
          diskSizeGb: '50',
          diskType: 'zones/us-central1-a/diskTypes/pd-balanced',
          labels: body.labels,
        },
      },
    ]);
  });

  test('A4: cos is a pinned long-term family, the Arm one for Arm', () => {
    const image = (fields: Fields) => {
      const [disk] = makeBody(fields).disks as { initializeParams: { sourceImage: string } }[];
      return disk?.initializeParams.sourceImage;
    };
    expect(image(on('n2-standard-2', { bootImage: 'cos' }))).toMatch(/family\/cos-[0-9]+-lts$/);
    expect(image(on('c4a-standard-4', { architecture: 'arm64' }))).toMatch(
      /family\/cos-arm64-[0-9]+-lts$/,
    );
    expect(image(on('g2-standard-4', { bootImage: 'deep-learning' }))).toContain(
      'deeplearning-platform-release',
    );
  });

  test('A24: the machine has its subnetwork and no address outside', () => {
    expect(makeBody().networkInterfaces).toEqual([
      { subnetwork: 'projects/p/regions/us-central1/subnetworks/s' },
    ]);
  });

  test('A25: the metadata has the contract’s keys in its order, the deployment’s last', () => {
    const settings = makeSettings({ instanceMetadata: { 'enable-oslogin': 'TRUE' } });
    const nonce = 'ab'.repeat(16);
    const { body } = makeIntent({}, settings, { nonce, attempt: 3 });
    expect(body.metadata.items.map(({ key }) => key)).toEqual([
      'startup-script',
      'google-logging-enabled',
      'shutdown-script',
      'enable-guest-attributes',
      'mayfly-attempt',
      'mayfly-nonce',
      'enable-oslogin',
    ]);
    expect(body.metadata.items.slice(1).map(({ value }) => value)).toEqual([
      'true',
      expect.stringMatching(/^#!/),
      'TRUE',
      '3',
      nonce,
      'TRUE',
    ]);
  });

  test('A26: the machine always has an account, with the platform’s one wide scope', () => {
    expect(makeBody().serviceAccounts).toEqual([
      { email: WORKER, scopes: ['https://www.googleapis.com/auth/cloud-platform'] },
    ]);
  });

  test('D10: without a worker account there is no plan', () => {
    const settings = makeSettings({ workerServiceAccounts: [] });
    expect(faultFields({}, settings)).toEqual(['serviceAccount']);
  });

  test('A27: accelerators are named only where they are attached', () => {
    const attached = makeBody(on('n1-standard-8', { gpu: { type: 'T4', count: 2 } }));
    expect(attached.guestAccelerators).toEqual([
      {
        acceleratorType: 'projects/p/zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4',
        acceleratorCount: 2,
      },
    ]);
    const bundled = makeBody(on('g2-standard-8', { gpu: { type: 'L4', count: 1 } }));
    expect(bundled).not.toHaveProperty('guestAccelerators');
  });

  test('A76: a run without GPU has no accelerators', () => {
    expect(makeBody(on('n1-standard-8'))).not.toHaveProperty('guestAccelerators');
  });

  test('local SSDs are scratch disks that go with the machine; bundled ones are not named', () => {
    const disks = makeBody(on('n2-standard-16', { localSsdCount: 2 })).disks as object[];
    expect(disks.slice(1)).toEqual(
      Array(2).fill({
        type: 'SCRATCH',
        autoDelete: true,
        interface: 'NVME',
        initializeParams: { diskType: 'zones/us-central1-a/diskTypes/local-ssd' },
      }),
    );
    expect(makeBody(on('c3-standard-8-lssd', { localSsdCount: 2 })).disks).toHaveLength(1);
  });

  test('vTPM, integrity monitoring, the deployment’s key and tags stand in the body', () => {
    const diskKmsKey = 'projects/p/locations/l/keyRings/r/cryptoKeys/k';
    const body = makeBody({}, makeSettings({ diskKmsKey, networkTags: ['mayfly-worker'] }));
    expect(body).toMatchObject({
      shieldedInstanceConfig: { enableVtpm: true, enableIntegrityMonitoring: true },
      disks: [{ diskEncryptionKey: { kmsKeyName: diskKmsKey } }],
      tags: { items: ['mayfly-worker'] },
    });
    expect(makeBody()).not.toHaveProperty('tags');
  });

  test('Secure Boot is asked for where the deployment says so, and left alone elsewhere', () => {
    const shielded = { enableVtpm: true, enableIntegrityMonitoring: true };
    const body = makeBody({}, makeSettings({ secureBoot: true }));
    expect(body.shieldedInstanceConfig).toEqual({ enableSecureBoot: true, ...shielded });
    expect(makeBody().shieldedInstanceConfig).toEqual(shielded);
  });
});

describe('accounts', () => {
  const good = [
    WORKER,
    '123456789-compute@developer.gserviceaccount.com',
    'p@appspot.gserviceaccount.com',
    'w@proj.example.com.iam.gserviceaccount.com',
  ];
  test.each(good)('P22: %s passes when it is listed', (serviceAccount) => {
    const settings = makeSettings({ workerServiceAccounts: good });
    expect(makeBody({ serviceAccount }, settings)).toMatchObject({
      serviceAccounts: [{ email: serviceAccount }],
    });
  });

  test.each(['worker', 'default', 'someone@example.com', '', ` ${WORKER}`])(
    'P22: %j is refused with the accepted form',
    (serviceAccount) => {
      const settings = makeSettings({ workerServiceAccounts: [...good, serviceAccount] });
      expect(faultsOf({ serviceAccount }, settings)[0]).toMatchObject({
        field: 'serviceAccount',
        accepted: 'name@project.iam.gserviceaccount.com',
      });
      expect(faultFields({}, settings)).toContain('MAYFLY_WORKER_SERVICE_ACCOUNTS');
    },
  );

  test('an account that is not listed is refused', () => {
    const serviceAccount = 'other@p.iam.gserviceaccount.com';
    expect(faultFields({ serviceAccount })).toEqual(['serviceAccount']);
  });
});

describe('the marker’s name', () => {
  test('A13: the marker is runs/gce-status/<instance>.json', () => {
    const { instanceName, startupScript } = makeIntent();
    expect(markerObject(instanceName)).toBe(`runs/gce-status/${instanceName}.json`);
    expect(startupScript).toContain(markerObject(instanceName));
  });

  test('A38: nothing but its slashes changes when it is percent-encoded whole', () => {
    for (const runId of ['Run.A', '9~_x', `${'a.'.repeat(63)}b`]) {
      const object = markerObject(makeIntent({ runId }).instanceName);
      expect(encodeURIComponent(object)).toBe(object.replaceAll('/', '%2F'));
    }
  });

  test('A33: the script is told the cores of the machine', () => {
    const threads = (type: string) => makeIntent(on(type)).startupScript;
    expect(threads('n2-standard-8')).toContain("\nTHREADS='8'\n");
    expect(threads('e2-micro')).toContain("\nTHREADS='1'\n");
    expect(threads('c9-standard-4')).toContain("\nTHREADS=''\n");
  });
});

describe('a machine with a GPU', () => {
  test('B46: guest attributes are on, so that a boot can say how far it has come', () => {
    const items = makeBody(on('g2-standard-4')).metadata.items;
    expect(items).toContainEqual({ key: 'enable-guest-attributes', value: 'TRUE' });
  });

  test('B79: a Spot T4 on n1-standard-4 can be asked for', () => {
    const fields = { ...on('n1-standard-4', { gpu: { type: 'T4' } }), provisioning: 'spot' };
    const body = makeBody(fields);
    expect(body).toMatchObject({
      scheduling: { provisioningModel: 'SPOT', onHostMaintenance: 'TERMINATE' },
      guestAccelerators: [
        { acceleratorType: expect.stringMatching(/\/nvidia-tesla-t4$/), acceleratorCount: 1 },
      ],
    });
    expect(body.machineType).toMatch(/\/n1-standard-4$/);
  });

  test.each([
    ['amd64', 'projects/deeplearning-platform-release/'],
    ['arm64', 'projects/ubuntu-os-accelerator-images/'],
  ])('B43: the image with driver and apt for %s is of %s', (architecture, project) => {
    const machineType = architecture === 'arm64' ? 'c4a-standard-4' : 'g2-standard-4';
    const body = makeBody(on(machineType, { architecture, bootImage: 'deep-learning' }));
    expect(JSON.stringify(body.disks)).toContain(`"sourceImage":"${project}`);
    expect(JSON.stringify(body.metadata)).toContain("BOOT_KIND='apt'");
  });

  test.each([
    [null, 'cos'],
    ['cos', 'cos'],
    ['deep-learning', 'apt'],
    ['projects/cos-cloud/global/images/family/cos-125-lts', 'cos'],
    ['projects/mine/global/images/cos-with-models', 'cos'],
    ['projects/mine/global/images/ubuntu-cosmic', 'apt'],
    ['projects/ubuntu-os-accelerator-images/global/images/family/x', 'apt'],
  ])('the boot image %s is handled as %s', (bootImage, kind) => {
    const body = makeBody(on('g2-standard-4', bootImage === null ? {} : { bootImage }));
    expect(JSON.stringify(body.metadata)).toContain(`BOOT_KIND='${kind}'`);
  });
});
