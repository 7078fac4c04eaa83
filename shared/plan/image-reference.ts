// Container image references, by the grammar that docker and containerd parse
// (github.com/distribution/reference): host, port, path, tag, digest.
import type { Broken } from '#shared/plan/fault.ts';

export interface ImageReference {
  readonly kind: 'valid';
  /** With its port when it has one; `docker.io` when the reference names no host. */
  readonly host: string;
  readonly path: string;
  readonly tag: string | null;
  readonly digest: string | null;
}

export type ParsedImage = ImageReference | ({ readonly kind: 'invalid' } & Broken);

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const HOST = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[0-9A-Fa-f:]+\\])(?::[0-9]{1,5})?$`);
const COMPONENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;
const PART = inner(COMPONENT);
const DOTTED_HOST = `${LABEL}(?:\\.${LABEL})+|localhost`;
const HOST_FORM = `(?:(?:${DOTTED_HOST})(?::[0-9]{1,5})?|${LABEL}:[0-9]{1,5}|\\[[0-9A-Fa-f:]+\\](?::[0-9]{1,5})?)`;
/** A first part with a dot would be a host. */
const FIRST_PART = '[a-z0-9]+(?:(?:_|__|-+)[a-z0-9]+)*';
/** The whole of it as one pattern, but for the bounds of its length and the image ids. */
export const IMAGE_FORM = new RegExp(
  `^(?:${HOST_FORM}/${PART}(?:/${PART})*|${FIRST_PART}(?:/${PART})+|${PART})(?::${inner(TAG)})?(?:@${inner(DIGEST)})?$`,
);
const PATH_LENGTH_MAX = 255;
const DEFAULT_HOST = 'docker.io';
const EXAMPLE = 'for example europe-docker.pkg.dev/p/r/app:v1 or ghcr.io/acme/app@sha256:…';

function inner({ source }: RegExp): string {
  return source.slice(1, -1);
}

/** Parses a reference, or says which part of it breaks which rule. */
export function parseImageReference(text: string): ParsedImage {
  const [named = '', digest = null, more] = text.split('@', 3);
  if (more !== undefined) return invalid('an image has one digest', EXAMPLE);
  if (digest !== null && !DIGEST.test(digest)) {
    return invalid('a digest is sha256: and 64 hexadecimal digits', EXAMPLE);
  }
  // A colon before the last slash belongs to a port, never to a tag.
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const tag = colon < 0 ? null : named.slice(colon + 1);
  if (tag !== null && !TAG.test(tag)) {
    return invalid('a tag has 1 to 128 letters, digits, "_", "." or "-"', EXAMPLE);
  }
  const { host, path } = splitHost(colon < 0 ? named : named.slice(0, colon));
  const broken = brokenName(host, path, text);
  return broken ?? { kind: 'valid', host: host ?? DEFAULT_HOST, path, tag, digest };
}

/** The first part is a host when it could not be a path's: a dot, a port, or `localhost`. */
function splitHost(name: string): { host: string | null; path: string } {
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  const isHost = /[.:]/.test(first) || first === 'localhost';
  return isHost ? { host: first, path: name.slice(slash + 1) } : { host: null, path: name };
}

function brokenName(host: string | null, path: string, text: string): ParsedImage | null {
  if (host !== null && !HOST.test(host)) {
    return invalid('a registry is a host name or address, with a port if it has one', EXAMPLE);
  }
  for (const component of path.split('/')) {
    if (COMPONENT.test(component)) continue;
    if (COMPONENT.test(component.toLowerCase())) {
      const lower = text.replace(path, path.toLowerCase());
      return invalid(`an image path is lower case, and "${component}" is not`, lower);
    }
    return invalid(componentRule(component), EXAMPLE);
  }
  if (path.length > PATH_LENGTH_MAX) {
    return invalid(`an image path has at most ${PATH_LENGTH_MAX} characters`, EXAMPLE);
  }
  if (host === null && /^[0-9a-f]{64}$/.test(path)) {
    return invalid('64 hexadecimal digits are an image id, not a name', EXAMPLE);
  }
  return null;
}

function componentRule(component: string): string {
  const found = component === '' ? 'an empty one' : JSON.stringify(component.slice(0, 60));
  return `a part of an image path is lower-case letters and digits with single ".", "_", "__" or "-" between them, and one is ${found}`;
}

const invalid = (rule: string, accepted: string): ParsedImage => ({
  kind: 'invalid',
  rule,
  accepted,
});

/**
 * Whether a registry host is one of `patterns`, in which `*` stands for any part of one label. The
 * host's port counts: `gcr.io:444` is not `gcr.io`.
 */
export function hostMatches(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern
      .toLowerCase()
      .split('*')
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('[^.:/]+')}$`).test(host.toLowerCase());
  });
}
