// Rules for texts of a request that reach a container, a file system or a header.
import type { Broken } from '#shared/plan/fault.ts';

/** C0 controls and DEL. */
export function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

/** Any Unicode but NUL: neither arguments nor variables of a process can hold one. */
export function brokenText(text: string): Broken | null {
  if (text.includes('\u0000')) {
    return { rule: 'a text has no NUL character', accepted: 'the text without U+0000' };
  }
  if (!text.isWellFormed()) {
    return {
      rule: 'a text is valid Unicode: a surrogate without its pair has no bytes',
      accepted: 'the text without lone surrogates',
    };
  }
  return null;
}

/** An absolute path in the container that something is mounted at. */
export function brokenMountPath(path: string): Broken | null {
  const accepted = 'an absolute path such as /data/in.csv';
  if (hasControlCharacter(path)) return { rule: 'a path has no control characters', accepted };
  const parts = path.split('/').slice(1);
  const plain = path.startsWith('/') && !parts.some((part) => /^\.{0,2}$/.test(part));
  if (!plain) {
    return {
      rule: 'a path is absolute, without empty, "." or ".." parts and no "/" at its end',
      accepted,
    };
  }
  const [top] = parts;
  if (top === 'mayfly' || top === 'proc' || top === 'sys' || top === 'dev') {
    return { rule: `nothing is mounted at or under /${top}`, accepted };
  }
  return brokenText(path);
}

/** A working directory: absolute, any existing or new folder. */
export function brokenFolder(path: string): Broken | null {
  const accepted = 'an absolute path such as /work';
  if (hasControlCharacter(path)) return { rule: 'a path has no control characters', accepted };
  if (!path.startsWith('/')) return { rule: 'a working directory is an absolute path', accepted };
  return brokenText(path);
}

/** Two paths of which one is the other, or lies in it; null when there are none. */
export function overlap(paths: readonly string[]): readonly [string, string] | null {
  for (const outer of paths) {
    const seen = paths.filter((path) => path === outer).length > 1;
    const inner = seen ? outer : paths.find((path) => path.startsWith(`${outer}/`));
    if (inner !== undefined) return [outer, inner];
  }
  return null;
}
