// The fields of `resources` and `place`: what a run needs, and where it may be.
import * as z from 'zod';
import type { Broken } from '#shared/plan/fault.ts';
import { field, group, mapBy, textBy } from '#shared/plan/field.ts';
import { GPU_NAMES } from '#shared/plan/gpu-types.ts';
import { CLASSES } from '#shared/plan/jobs-inventory.ts';
import * as limits from '#shared/plan/limits.ts';
import { BASE_RULE } from '#shared/plan/setting-rules.ts';
import { formOf } from '#shared/plan/text-form.ts';

const CLASS_HAS_IT = 'the class of the Job fixes it';
const CLASS_BRINGS_IT = 'class GPU brings one';
const REGION_FIXED = 'the Job has its place';
const onVm = { refusedOn: { 'cloudrun-jobs': CLASS_HAS_IT } } as const;
const onJobs = { refusedOn: { gce: 'it names a Job of Cloud Run' } } as const;

const MACHINE_TYPE = /^[a-z][a-z0-9]*(?:-[a-z0-9]+){1,5}$/;
const REGION = /^[a-z]+(?:-[a-z]+)+[0-9]{1,2}$/;
const ZONE = /^[a-z]+(?:-[a-z]+)+[0-9]{1,2}-[a-z]$/;
const IMAGE_PATH =
  /^(?:https:\/\/[a-z.]+\/compute\/v1\/)?projects\/[a-z0-9.:-]+\/global\/images\/(?:family\/)?[a-z][a-z0-9-]*$/;

const byPattern = (pattern: RegExp, broken: Broken) =>
  textBy((text) => (pattern.test(text) ? null : broken), formOf(pattern));

const machineTypeRule: Broken = {
  rule: 'a machine type is the name of a Compute Engine machine type',
  accepted: 'for example n2-standard-8',
};
const regionRule: Broken = {
  rule: 'a region is named as europe-west1 is',
  accepted: 'europe-west1',
};
const zoneRule: Broken = {
  rule: 'a zone is named as europe-west1-b is',
  accepted: 'europe-west1-b',
};

export const resourceFields = {
  machineTypes: field(
    z.array(byPattern(MACHINE_TYPE, machineTypeRule)).min(1).max(limits.MACHINE_TYPES_MAX),
    {
      rule: `this is a ranked list of 1 to ${limits.MACHINE_TYPES_MAX} machine types`,
      accepted: '["n2-standard-8", "n2d-standard-8"]',
      ...onVm,
    },
  ),
  machineType: field(byPattern(MACHINE_TYPE, machineTypeRule), { ...machineTypeRule, ...onVm }),
  cpus: field(z.number().min(0.25).max(1000), {
    rule: 'cpus is how many cores are needed',
    accepted: 'a number from 0.25 to 1000',
    fallback: String(limits.CPUS_DEFAULT),
    ...onVm,
  }),
  memoryGiB: field(z.number().min(0.5).max(40_000), {
    rule: 'memoryGiB is how much memory is needed',
    accepted: 'a number from 0.5 to 40000',
    fallback: String(limits.MEMORY_GIB_DEFAULT),
    ...onVm,
  }),
  gpu: group({
    type: field(z.string().min(1).max(64), {
      rule: "a GPU's type is one of Mayfly's short names, or Google's accelerator name",
      accepted: GPU_NAMES.join(', '),
      fallback: 'required in gpu',
      refusedOn: { 'cloudrun-jobs': CLASS_BRINGS_IT },
    }),
    count: field(z.int().min(1).max(16), {
      rule: 'a machine has 1 to 16 GPUs',
      accepted: 'a whole number from 1 to 16',
      fallback: '1',
      refusedOn: { 'cloudrun-jobs': CLASS_BRINGS_IT },
    }),
  }),
  architecture: field(z.enum(['amd64', 'arm64']), {
    rule: 'an architecture is amd64 or arm64',
    accepted: 'amd64, arm64',
    fallback: 'amd64',
    ...onVm,
  }),
  bootDiskGiB: field(z.int().min(limits.BOOT_DISK_GIB_MIN).max(limits.BOOT_DISK_GIB_MAX), {
    rule: `a boot disk has ${limits.BOOT_DISK_GIB_MIN} to ${limits.BOOT_DISK_GIB_MAX} GiB`,
    accepted: `a whole number from ${limits.BOOT_DISK_GIB_MIN} to ${limits.BOOT_DISK_GIB_MAX}`,
    fallback: String(limits.BOOT_DISK_GIB_DEFAULT),
    ...onVm,
  }),
  diskType: field(z.string().regex(/^[a-z][a-z0-9-]{1,40}$/), {
    rule: 'a disk type is the name of a Compute Engine disk type',
    accepted: 'for example pd-balanced',
    fallback: 'by the machine family',
    ...onVm,
  }),
  bootImage: field(z.union([z.enum(['cos', 'deep-learning']), z.string().regex(IMAGE_PATH)]), {
    rule: 'a boot image is cos, deep-learning, or the full path of an image',
    accepted: 'cos, deep-learning, projects/p/global/images/family/f',
    fallback: 'by need',
    ...onVm,
  }),
  localSsdCount: field(z.int().min(0).max(limits.LOCAL_SSDS_MAX), {
    rule: 'this is a number of local SSDs that the machine takes',
    accepted: `a whole number from 0 to ${limits.LOCAL_SSDS_MAX}`,
    fallback: '0',
    ...onVm,
  }),
  class: field(
    textBy(
      (text) =>
        text === 'XL' ? { rule: 'class XL is not yet there', accepted: CLASSES.join(', ') } : null,
      {},
    ).pipe(z.enum(CLASSES)),
    {
      rule: `a class is one of ${CLASSES.join(', ')}`,
      accepted: CLASSES.join(', '),
      fallback: 'S',
      ...onJobs,
    },
  ),
  base: field(byPattern(BASE_RULE.pattern, BASE_RULE), {
    rule: 'a base is the name of a base image, or one that the setting MAYFLY_JOBS_PLUGIN_BASES gives it',
    accepted: 'for example base-ml, or sklearn',
    fallback: 'the setting MAYFLY_JOBS_DEFAULT_BASE; base-dl for the class GPU',
    ...onJobs,
  }),
} as const;

export const placeFields = {
  regions: field(z.array(byPattern(REGION, regionRule)).min(1).max(50), {
    rule: 'regions is a list of regions',
    accepted: '["europe-west1", "europe-west4"]',
    fallback: 'the setting MAYFLY_REGIONS',
  }),
  zones: field(z.array(byPattern(ZONE, zoneRule)).min(1).max(150), {
    rule: 'zones is a list of zones',
    accepted: '["us-central1-a", "us-central1-b"]',
    fallback: 'all zones of the regions',
    refusedOn: { 'cloudrun-jobs': REGION_FIXED },
  }),
  subnetworks: field(
    mapBy(
      (region) => (REGION.test(region) ? null : regionRule),
      () => null,
      { key: formOf(REGION), value: {} },
    ),
    {
      rule: 'subnetworks is an object from regions to subnetworks',
      accepted: '{"europe-west1": "projects/p/regions/europe-west1/subnetworks/s"}',
      fallback: 'the setting MAYFLY_SUBNETWORKS',
      refusedOn: { 'cloudrun-jobs': REGION_FIXED },
    },
  ),
} as const;
