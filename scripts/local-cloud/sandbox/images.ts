// The images that the process sandbox knows: one folder each, with an `image.json` beside the program.
// The folder's files stand at the image's working directory; its digest is over their names and bytes.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface SandboxImage {
  /** Host and path, without tag. */
  readonly repository: string;
  readonly tags: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute; the image's files stand there. */
  readonly workingDir: string;
  /** Holds the program's files and `image.json`. */
  readonly folder: string;
  /** `sha256:…`. */
  readonly digest: string;
}

export interface Reference {
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: string | null;
}

/** Splits `host:port/path:tag@digest`; without tag and digest the tag is `latest`. */
export function parseReference(text: string): Reference {
  const [named = '', digest = null] = text.split('@');
  const colon = named.lastIndexOf(':');
  const hasTag = colon > named.lastIndexOf('/');
  const tag = hasTag ? named.slice(colon + 1) : null;
  return {
    repository: hasTag ? named.slice(0, colon) : named,
    tag: tag ?? (digest === null ? 'latest' : null),
    digest,
  };
}

/** All images in a folder of image folders, in the order of their names. */
export function readImages(imagesFolder: string): SandboxImage[] {
  return readdirSync(imagesFolder)
    .sort()
    .map((name) => join(imagesFolder, name))
    .filter((folder) => existsSync(join(folder, 'image.json')))
    .map(readImage);
}

/** The image that a reference names, or null. A digest must be the image's own. */
export function findImage(images: readonly SandboxImage[], text: string): SandboxImage | null {
  const reference = parseReference(text);
  const image = images.find(({ repository }) => repository === reference.repository);
  if (image === undefined) return null;
  if (reference.digest !== null) return reference.digest === image.digest ? image : null;
  return image.tags.includes(reference.tag ?? 'latest') ? image : null;
}

function readImage(folder: string): SandboxImage {
  const fields = readImageFile(join(folder, 'image.json'));
  const hash = createHash('sha256');
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
  for (const name of names) {
    const bytes = readFileSync(join(folder, name));
    hash.update(`${name}\0${bytes.length}\0`).update(bytes);
  }
  return { ...fields, folder, digest: `sha256:${hash.digest('hex')}` };
}

// By hand, not by a schema: this runs at every `docker` call of a machine, and must start quickly.
function readImageFile(path: string): Omit<SandboxImage, 'folder' | 'digest'> {
  const file: Partial<SandboxImage> = JSON.parse(readFileSync(path, 'utf8'));
  const { repository, tags, entrypoint, command = [], env = {}, workingDir = '/' } = file;
  const lists = [tags, entrypoint, command];
  if (typeof repository !== 'string' || !lists.every(Array.isArray) || !tags || !entrypoint) {
    throw new Error(`${path}: needs repository (text), tags and entrypoint (lists of texts)`);
  }
  if (!workingDir.startsWith('/')) {
    throw new Error(`${path}: workingDir ${workingDir} must be an absolute path`);
  }
  return { repository, tags, entrypoint, command, env, workingDir };
}
