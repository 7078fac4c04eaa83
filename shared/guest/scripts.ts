// Reads the guest scripts from the files beside this one and puts each whole together: a line
// `source pieces/NAME.sh` becomes that piece; with ` # with PART` after it, a section that planning keeps
// for runs that need the part. Comments, blank lines and indentation stay in the repository, since a
// metadata value is bounded.
import { readFileSync } from 'node:fs';
import type { GuestScripts } from '#shared/plan/model.ts';
import { partSection } from '#shared/plan/script-parts.ts';

const SOURCE_LINE = /^source (pieces\/[a-z-]+\.sh)(?: # with ([a-z-]+))?$/gm;
const KEPT_COMMENT = /^# --- .* ---$/;
const HEADER =
  '#!/bin/bash\n# bash, not plain sh. Put together from shared/guest, where the comments stand.\n';

/** Throws when a file is missing. `folder`: where startup.sh, shutdown.sh and pieces/ are. */
export function readGuestScripts(folder = new URL('.', import.meta.url)): GuestScripts {
  return {
    startup: assembleScript('startup.sh', folder),
    shutdown: assembleScript('shutdown.sh', folder),
  };
}

function assembleScript(name: string, folder: URL): string {
  const read = (path: string) => readFileSync(new URL(path, folder), 'utf8');
  const whole = read(name).replace(SOURCE_LINE, (_, piece: string, part?: string) =>
    part === undefined ? read(piece) : partSection(part, read(piece)),
  );
  return HEADER + whole.split('\n').filter(isKept).join('\n');
}

function isKept(line: string, index: number, lines: readonly string[]): boolean {
  const trimmed = line.trim();
  if (trimmed === '') return index === lines.length - 1;
  return !trimmed.startsWith('#') || KEPT_COMMENT.test(trimmed);
}
