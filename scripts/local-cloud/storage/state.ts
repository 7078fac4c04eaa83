// Buckets and objects as the world keeps them, and their resources as the JSON API shows them.
// One bucket keeps live objects only: object versioning and soft delete are off.
import { createHash } from 'node:crypto';
import { CountedMap } from '#scripts/local-cloud/counted-map.ts';
import { copyJson, type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import { crc32cText } from '#scripts/local-cloud/storage/crc32c.ts';
import type { World } from '#scripts/local-cloud/world.ts';

export interface StoredObject {
  readonly name: string;
  /** Sixteen digits, rising over the whole world. */
  readonly generation: number;
  metageneration: number;
  readonly bytes: Uint8Array;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Other fields of the resource that a caller may set: metadata, cacheControl … */
  settings: JsonObject;
  readonly createdMs: number;
  updatedMs: number;
}

interface Checksums {
  readonly crc32c: string;
  readonly md5: string;
}

export interface NotificationConfig {
  readonly id: string;
  /** `projects/P/topics/T`. */
  readonly topic: string;
  readonly eventTypes: readonly string[];
  readonly objectNamePrefix: string;
  readonly payloadFormat: 'JSON_API_V1' | 'NONE';
  readonly customAttributes: Readonly<Record<string, string>>;
}

export interface Bucket {
  readonly name: string;
  readonly objects: CountedMap<string, StoredObject>;
  readonly notifications: NotificationConfig[];
  /** When each name was last changed, for the limit of one change a second. */
  readonly changedMs: Map<string, number>;
  metageneration: number;
  /** What a caller may set of its resource: location, lifecycle, softDeletePolicy … */
  settings: JsonObject;
  /** False: every call about the bucket is answered with 503, as if it were away. */
  available: boolean;
}

export interface UploadSession {
  readonly params: Readonly<Record<string, string>>;
  readonly principal: string | null;
  readonly metadata: JsonObject;
  received: Uint8Array[];
}

export interface StorageState {
  readonly buckets: Map<string, Bucket>;
  readonly uploads: Map<string, UploadSession>;
  lastGeneration: number;
  notificationsMade: number;
}

export function createStorage(names: readonly string[]): StorageState {
  const buckets = names.map((name): [string, Bucket] => [name, createBucket(name)]);
  return {
    buckets: new Map(buckets),
    uploads: new Map(),
    lastGeneration: 0,
    notificationsMade: 0,
  };
}

export function createBucket(name: string): Bucket {
  return {
    name,
    objects: new CountedMap(),
    notifications: [],
    changedMs: new Map(),
    metageneration: 1,
    settings: {},
    available: true,
  };
}

/** Microseconds, as the real ones look, but always rising and always sixteen digits. */
export function nextGeneration(world: World, nowMs: number): number {
  const { storage } = world;
  const generation = Math.max(nowMs * 1000, storage.lastGeneration + 1, 1_000_000_000_000_000);
  storage.lastGeneration = generation;
  return generation;
}

export function md5Text(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64');
}

const checksums = new WeakMap<StoredObject, Checksums>();

/** Both checksums of the content, worked out when they are first looked at. */
export function checksumsOf(object: StoredObject): Checksums {
  const known = checksums.get(object);
  if (known !== undefined) {
    return known;
  }
  const made = { crc32c: crc32cText(object.bytes), md5: md5Text(object.bytes) };
  checksums.set(object, made);
  return made;
}

export function etagOf(object: StoredObject): string {
  return Buffer.from(`${object.generation}/${object.metageneration}`).toString('base64');
}

/**
 * The object's resource (`storage#object`), freshly made. Its checksums are getters: they cost more
 * than all the rest, and a simulation never looks at them.
 */
export function objectResource(world: World, bucket: string, object: StoredObject): JsonObject {
  const path = `b/${bucket}/o/${encodeURIComponent(object.name)}`;
  const generation = String(object.generation);
  const resource: JsonObject = {
    kind: 'storage#object',
    id: `${bucket}/${object.name}/${generation}`,
    selfLink: `${world.baseUrl}/storage/v1/${path}`,
    mediaLink: `${world.baseUrl}/download/storage/v1/${path}?generation=${generation}&alt=media`,
    name: object.name,
    bucket,
    generation,
    metageneration: String(object.metageneration),
    storageClass: 'STANDARD',
    size: String(object.bytes.length),
    get md5Hash() {
      return checksumsOf(object).md5;
    },
    get crc32c() {
      return checksumsOf(object).crc32c;
    },
    etag: etagOf(object),
    timeCreated: timestamp(object.createdMs),
    updated: timestamp(object.updatedMs),
    timeStorageClassUpdated: timestamp(object.createdMs),
    ...copyJson(object.settings),
  };
  if (object.contentType !== undefined) {
    resource.contentType = object.contentType;
  }
  if (object.contentEncoding !== undefined) {
    resource.contentEncoding = object.contentEncoding;
  }
  return resource;
}
