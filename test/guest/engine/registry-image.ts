// Puts an image into a registry by its HTTP interface (the OCI distribution specification): for images
// that no engine here would make, of another architecture or larger than a disk.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { RegistryFront } from '#test/guest/engine/registry-front.ts';

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const LIST = 'application/vnd.docker.distribution.manifest.list.v2+json';
const CONFIG = 'application/vnd.docker.container.image.v1+json';
const LAYER = 'application/vnd.docker.image.rootfs.diff.tar.gzip';

export interface ImageChoices {
  readonly repository: string;
  readonly architecture: string;
  /** The one layer, a tar archive. */
  readonly tar: Buffer;
  /** Under the tag there is a list of this one image's platform. */
  readonly asList?: boolean;
}

/** Puts it there as `repository:1`. */
export async function pushImage(registry: RegistryFront, choices: ImageChoices): Promise<void> {
  const { repository, architecture, tar } = choices;
  const config = JSON.stringify({
    ...{ architecture, os: 'linux', config: {}, history: [] },
    rootfs: { type: 'layers', diff_ids: [digest(tar)] },
  });
  const layer = gzipSync(tar, { level: 1 });
  const base = `http://${registry.host}/v2/${repository}`;
  const manifest = JSON.stringify({
    ...{ schemaVersion: 2, mediaType: MANIFEST },
    config: await putBlob(base, CONFIG, Buffer.from(config)),
    layers: [await putBlob(base, LAYER, layer)],
  });
  if (choices.asList !== true) return putManifest(base, '1', MANIFEST, manifest);
  await putManifest(base, digest(manifest), MANIFEST, manifest);
  const entry = {
    ...{ mediaType: MANIFEST, digest: digest(manifest), size: manifest.length },
    platform: { architecture, os: 'linux' },
  };
  const list = { schemaVersion: 2, mediaType: LIST, manifests: [entry] };
  await putManifest(base, '1', LIST, JSON.stringify(list));
}

function digest(bytes: Buffer | string): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

async function putBlob(base: string, mediaType: string, bytes: Buffer) {
  const opened = await fetch(`${base}/blobs/uploads/`, { method: 'POST' });
  const url = new URL(opened.headers.get('location') ?? '', base);
  url.searchParams.set('digest', digest(bytes));
  const headers = { 'Content-Type': 'application/octet-stream' };
  await demand(await fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) }));
  return { mediaType, size: bytes.length, digest: digest(bytes) };
}

async function putManifest(base: string, name: string, type: string, body: string): Promise<void> {
  const headers = { 'Content-Type': type };
  await demand(await fetch(`${base}/manifests/${name}`, { method: 'PUT', headers, body }));
}

async function demand(reply: Response): Promise<void> {
  if (!reply.ok) throw new Error(`the registry says ${reply.status}: ${await reply.text()}`);
}
