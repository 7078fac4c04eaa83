// A machine whose image has apt, before its tools step: what the stand-ins for apt's programs do, and
// what was asked of them.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ToolsMachine } from '#test/guest/tools-machine.ts';

export const DOCKER = ['docker', 'dockerd', 'containerd'];
export const TOOLKIT = ['nvidia-ctk', 'nvidia-container-runtime-hook', 'nvidia-container-cli'];
export const DOCKER_PACKAGES = ['docker-ce', 'docker-ce-cli', 'containerd.io'];
export const TOOLKIT_PACKAGES = ['nvidia-container-toolkit'];
export const PHRASE = 'install Docker and the NVIDIA container toolkit';

/** Finds whatever key it is asked for. */
const OBLIGING_GPG = `
for word in "$@"; do
  [[ $last != --output ]] || file=$word
  [[ $last != --export ]] || echo "$word" >"$file"
  [[ $last != --show-keys ]] || printf 'pub:-:\\nfpr:::::::::%s:\\n' "$(<"$word")"
  last=$word
done
exit 0`;

export interface AptMachineChoices {
  /** Programs that the image has. */
  readonly programs?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  /** The keys that Docker's and NVIDIA's servers offer, for real gpg; else every key is the right one. */
  readonly keys?: readonly [docker: string | Uint8Array, nvidia: string | Uint8Array];
}

export function makeAptMachine({ keys, ...choices }: AptMachineChoices = {}): ToolsMachine {
  const machine = new ToolsMachine({ pieces: ['gpu', 'tools-apt'], ...choices });
  machine.plan('keys-of-gpg', keys?.[0] ?? '');
  machine.plan('keys-of-gpgkey', keys?.[1] ?? '');
  if (keys === undefined) machine.plan('gpg.sh', OBLIGING_GPG);
  return machine;
}

export const runStep = (machine: ToolsMachine) => machine.run('install_tools');

export function listsOf(machine: ToolsMachine): string[] {
  const folder = join(machine.apt, 'sources.list.d');
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

export const callsOfApt = (machine: ToolsMachine, command: string) =>
  machine.calls('apt-get').filter((call) => call.includes(command));

/** What each call of `apt-get install` asked for. */
export const packagesAsked = (machine: ToolsMachine) =>
  callsOfApt(machine, 'install').map((call) =>
    call.slice(call.indexOf('install') + 1).filter((word) => !word.startsWith('-')),
  );

export const repairs = (machine: ToolsMachine) =>
  machine.calls('dpkg').filter((call) => call.includes('--configure'));
