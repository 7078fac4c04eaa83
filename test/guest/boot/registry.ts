// A container registry that can only be pulled from, with one image: busybox. Real docker checks every
// digest. A blob can be held back, so that a pull lasts until the test's end.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const BUSYBOX = '/bin/busybox';
const PROGRAMS = ['sh', 'sleep', 'sync', 'seq', 'tr', 'head'];
const MANIFEST_TYPE = 'application/vnd.docker.distribution.manifest.v2+json';
const CONFIG_TYPE = 'application/vnd.docker.container.image.v1+json';
const LAYER_TYPE = 'application/vnd.docker.image.rootfs.diff.tar.gzip';

export class Registry {
  /** While true no blob is answered. */
  holdBlobs = false;
  /** Resolves when the first blob is asked for: a pull has begun. */
  readonly pulling: Promise<void>;
  readonly #blobs = new Map<string, Buffer>();
  readonly #manifest: Buffer;
  readonly #pullBegins: () => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.pulling = promise;
    this.#pullBegins = resolve;
    const layer = packBusybox();
    const config = JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: { Env: ['PATH=/bin'], Cmd: ['sh'] },
      rootfs: { type: 'layers', diff_ids: [digestOf(gunzipSync(layer))] },
    });
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: this.#addBlob(Buffer.from(config), CONFIG_TYPE),
      layers: [this.#addBlob(layer, LAYER_TYPE)],
    };
    this.#manifest = Buffer.from(JSON.stringify(manifest));
  }

  /** As the marker names the image. */
  get digest(): string {
    return digestOf(this.#manifest);
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader('docker-distribution-api-version', 'registry/2.0');
    const [, kind, reference = ''] = /\/(manifests|blobs)\/(.+)$/.exec(request.url ?? '') ?? [];
    if (kind === undefined) return void response.writeHead(200).end('{}');
    const body = kind === 'manifests' ? this.#manifest : this.#blobs.get(reference);
    if (body === undefined) return void response.writeHead(404).end('{"errors":[]}');
    if (kind === 'blobs') this.#pullBegins();
    if (kind === 'blobs' && this.holdBlobs) return;
    response.writeHead(200, {
      'content-type': kind === 'manifests' ? MANIFEST_TYPE : 'application/octet-stream',
      'content-length': body.length,
      'docker-content-digest': digestOf(body),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  #addBlob(bytes: Buffer, mediaType: string) {
    const digest = digestOf(bytes);
    this.#blobs.set(digest, bytes);
    return { mediaType, size: bytes.length, digest };
  }
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** The one layer: a static busybox under the names that the cases use. */
function packBusybox(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-image-'));
  try {
    const bin = join(folder, 'root', 'bin');
    mkdirSync(bin, { recursive: true });
    cpSync(BUSYBOX, join(bin, 'busybox'), { dereference: true });
    for (const name of PROGRAMS) symlinkSync('busybox', join(bin, name));
    const archive = join(folder, 'layer.tar.gz');
    execFileSync('tar', [
      '-C',
      join(folder, 'root'),
      '--owner=0',
      '--group=0',
      '-czf',
      archive,
      '.',
    ]);
    return readFileSync(archive);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
