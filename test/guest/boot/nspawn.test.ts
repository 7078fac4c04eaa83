// Real boots in seconds: systemd, docker, Google's guest agent and our scripts, under systemd-nspawn.
import { testBoots } from '#test/guest/boot/boot-tests.ts';
import { NspawnHardware } from '#test/guest/boot/nspawn-hardware.ts';
import { testsWith } from '#test/guest/boot/parts.ts';
import { unpackRoot } from '#test/guest/boot/root.ts';

const TIMEOUT_MS = 120_000;

if (testsWith('nspawn')) {
  const template = unpackRoot('container');
  testBoots('systemd-nspawn', async () => new NspawnHardware(template), TIMEOUT_MS);
}
