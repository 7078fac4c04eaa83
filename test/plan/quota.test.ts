// Metric names of Compute Engine's quotas, by machine and GPU.
import { describe, expect, test } from 'vitest';
import { shortQuota } from '#shared/plan/quota.ts';
import { candidate } from '#test/lifecycle/fixtures.ts';

const GPU = (type: string, count = 1) => ({ type, count });

describe('which quota a machine draws on', () => {
  test.each([
    { machineType: 'n1-standard-4', gpu: null, metric: 'CPUS', needed: 4 },
    { machineType: 'e2-standard-8', gpu: null, metric: 'CPUS', needed: 8 },
    { machineType: 'n2-standard-16', gpu: null, metric: 'N2_CPUS', needed: 16 },
    { machineType: 'n2d-standard-2', gpu: null, metric: 'N2D_CPUS', needed: 2 },
    { machineType: 'c3-standard-8', gpu: null, metric: 'C3_CPUS', needed: 8 },
    { machineType: 'a2-ultragpu-1g', gpu: null, metric: 'A2_CPUS', needed: 12 },
    {
      machineType: 'n1-standard-4',
      gpu: GPU('nvidia-tesla-t4', 2),
      metric: 'NVIDIA_T4_GPUS',
      needed: 2,
    },
    { machineType: 'g2-standard-24', gpu: null, metric: 'NVIDIA_L4_GPUS', needed: 2 },
    { machineType: 'g2-standard-4', gpu: null, metric: 'GPU_FAMILY:NVIDIA_L4', needed: 1 },
    { machineType: 'a2-highgpu-4g', gpu: null, metric: 'NVIDIA_A100_GPUS', needed: 4 },
    { machineType: 'a2-ultragpu-2g', gpu: null, metric: 'NVIDIA_A100_80GB_GPUS', needed: 2 },
    { machineType: 'a3-highgpu-8g', gpu: null, metric: 'NVIDIA_H100_GPUS', needed: 8 },
  ])('A2: $machineType with $gpu: $needed of $metric', ({ machineType, gpu, metric, needed }) => {
    const place = candidate({ machineType });
    const with_ = (limit: number) => ({ 'us-central1': [{ metric, limit, usage: 1 }] });
    expect(shortQuota(place, gpu, with_(needed + 1))).toBeNull();
    expect(shortQuota(place, gpu, with_(needed))).toEqual({
      scope: 'us-central1',
      metric,
      limit: needed,
      usage: 1,
      needed,
    });
    expect(shortQuota(place, gpu, { 'us-east1': [{ metric, limit: 0, usage: 0 }] })).toBeNull();
  });

  test.each([
    { machineType: 'e2-standard-4', metric: 'CPUS_ALL_REGIONS', needed: 4 },
    { machineType: 'g2-standard-48', metric: 'GPUS_ALL_REGIONS', needed: 4 },
  ])(
    'A2: $machineType: $needed of $metric, in all regions together',
    ({ machineType, metric, needed }) => {
      const quotas = (limit: number) => ({ 'all regions': [{ metric, limit, usage: 0 }] });
      expect(shortQuota(candidate({ machineType }), null, quotas(needed))).toBeNull();
      expect(shortQuota(candidate({ machineType }), null, quotas(needed - 1))).toMatchObject({
        scope: 'all regions',
        metric,
      });
    },
  );

  test('A2: CPUs of a family that no region lists are never short', () => {
    const quotas = { 'us-central1': [{ metric: 'N4_CPUS', limit: 0, usage: 0 }] };
    expect(shortQuota(candidate({ machineType: 'n4-standard-4' }), null, quotas)).toBeNull();
    expect(shortQuota(candidate({ machineType: 'no-such-type' }), null, quotas)).toBeNull();
  });
});
