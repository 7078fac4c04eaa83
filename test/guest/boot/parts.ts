// Which of the real parts are on this computer, and which long tests are to run. `MAYFLY_TEST_REQUIRE`
// names those that must be there; real boots take minutes and run only where it asks for them.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'vitest';
import { whyNoNamespace } from '#scripts/local-cloud/host/namespace.ts';
import { isRequired } from '#test/required.ts';

export type Part = 'apt' | 'guest-agent' | 'matrix' | 'nspawn' | 'qemu';

const PROGRAMS: Record<Part, readonly string[]> = {
  apt: ['apt-get', 'dpkg-deb', 'gpg', 'perl'],
  // Stand-ins alone, but hundreds of runs.
  matrix: [],
  'guest-agent': ['google_metadata_script_runner'],
  nspawn: ['systemd-nspawn', 'mmdebstrap', 'zstd', 'busybox'],
  qemu: ['qemu-system-x86_64', 'mkfs.ext4', 'mmdebstrap', 'zstd', 'busybox'],
};
const ONLY_WHEN_ASKED: readonly Part[] = ['apt', 'matrix', 'nspawn', 'qemu'];
const WITHOUT_NAMESPACES: readonly Part[] = ['matrix'];

/**
 * Whether the tests of a part run. Where they do not, a skipped test in their place says why; where the
 * part is required and missing, a failed one does.
 */
export function testsWith(part: Part): boolean {
  if (!isRequired(part) && ONLY_WHEN_ASKED.includes(part)) {
    test.skip(`skipped: it takes minutes; it runs with MAYFLY_TEST_REQUIRE=${part}`, () => {});
    return false;
  }
  const reason = whyMissing(part);
  if (reason === null) return true;
  if (isRequired(part)) {
    test(`${part} is there, as this run requires`, () => {
      throw new Error(reason);
    });
  } else {
    test.skip(`skipped: ${reason}`, () => {});
  }
  return false;
}

function whyMissing(part: Part): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  for (const program of PROGRAMS[part]) {
    if (!folders.some((folder) => existsSync(join(folder, program)))) return `no ${program}`;
  }
  if (WITHOUT_NAMESPACES.includes(part)) return null;
  const reason = whyNoNamespace();
  return reason === null ? null : `no namespaces: ${reason}`;
}
