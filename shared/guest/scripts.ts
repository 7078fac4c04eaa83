// Reads the guest scripts from the files beside this one and puts each whole together: a line
// `source pieces/NAME.sh` becomes that piece, and all that stands after the blanks is packed, since a
// metadata value is bounded. The script says how it is unpacked.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { GuestScripts } from '#shared/plan/model.ts';
import { BLANKS_END } from '#shared/plan/script-blanks.ts';

const SOURCE_LINE = /^source (pieces\/[a-z-]+\.sh)$/gm;
const HEADER = `#!/bin/bash
# bash, not plain sh. What is packed below is shared/guest of Mayfly; to read it:
# sed -n '/^SCRIPT=/,/^PACKED/p' THIS | sed '1d;$d' | base64 -d | gzip -d
`;
const COLUMNS = /.{1,100}/g;

/** Throws when a file is missing. `folder`: where startup.sh, shutdown.sh and pieces/ are. */
export function readGuestScripts(folder = new URL('.', import.meta.url)): GuestScripts {
  return {
    startup: packScript(assembleScript('startup.sh', folder)),
    shutdown: packScript(assembleScript('shutdown.sh', folder)),
  };
}

/** A script with its pieces in it, without comments. */
export function assembleScript(name: string, folder = new URL('.', import.meta.url)): string {
  const read = (path: string) => readFileSync(new URL(path, folder), 'utf8');
  const whole = read(name).replace(SOURCE_LINE, (_, piece: string) => read(piece));
  return whole.split('\n').filter(isKept).join('\n');
}

/** Blanks as they are, so that a person sees what planning has filled in; the rest packed. */
function packScript(script: string): string {
  const end = script.indexOf(BLANKS_END) + BLANKS_END.length;
  const packed = gzipSync(script.slice(end), { level: 9 }).toString('base64');
  const lines = packed.match(COLUMNS)?.join('\n');
  return `${HEADER}${script.slice(0, end)}SCRIPT=$(base64 -d <<'PACKED' | gzip -d\n${lines}\nPACKED\n)\neval "$SCRIPT"\n`;
}

function isKept(line: string, index: number, lines: readonly string[]): boolean {
  const trimmed = line.trim();
  if (trimmed === '') return index === lines.length - 1;
  return !trimmed.startsWith('#') || /^# --- .* ---$/.test(trimmed);
}
