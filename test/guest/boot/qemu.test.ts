// The same boots on an emulated computer with a kernel of its own, in minutes: `npm run test:vm`.
import { afterAll, beforeAll } from 'vitest';
import { testBoots } from '#test/guest/boot/boot-tests.ts';
import { testsWith } from '#test/guest/boot/parts.ts';
import { type BootFiles, makeBootFiles, QemuHardware } from '#test/guest/boot/qemu-hardware.ts';
import { ROOT_TIMEOUT_MS, removeRoot, unpackRoot } from '#test/guest/boot/root.ts';

const TIMEOUT_MS = 1_800_000;

if (testsWith('qemu')) {
  let root = '';
  let files: BootFiles;
  beforeAll(async () => {
    root = await unpackRoot('vm');
    files = makeBootFiles(root);
  }, ROOT_TIMEOUT_MS);
  afterAll(() => removeRoot(root));
  testBoots('QEMU', async () => new QemuHardware(files), TIMEOUT_MS);
}
