import { testBoots } from '#test/guest/boot/boot-tests.ts';
import { testsWith } from '#test/guest/boot/parts.ts';
import { makeBootFiles, QemuHardware } from '#test/guest/boot/qemu-hardware.ts';
import { unpackRoot } from '#test/guest/boot/root.ts';

const TIMEOUT_MS = 900_000;

if (testsWith('qemu')) {
  const files = makeBootFiles(unpackRoot('vm'));
  testBoots('QEMU', async () => new QemuHardware(files), TIMEOUT_MS);
}
