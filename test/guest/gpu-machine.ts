// A machine with GPUs after its tools step, for tests of what its container gets.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ToolsMachine } from '#test/guest/tools-machine.ts';

export interface GpuChoices {
  readonly image?: 'cos' | 'apt';
  readonly nodes?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
}

/** `nodes`: its device nodes, by their names under /dev. */
export function makeGpuMachine({ image = 'cos', nodes = [], variables = {} }: GpuChoices = {}) {
  const machine = new ToolsMachine({
    programs: ['docker', 'nvidia-smi'],
    pieces: ['gpu', 'tools-cos-gpu', 'tools-apt'],
    variables: { BOOT_KIND: image, ...variables },
    folders: { DEV_DIR: 'dev' },
  });
  for (const node of nodes) {
    const file = join(machine.folder, 'dev', node);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '');
  }
  machine.plan('meminfo', 'MemTotal:       16370152 kB\nMemFree:        12345678 kB\n');
  machine.plan('image-env', 'HOME=/app\nPATH=/opt/conda/bin:/usr/bin\n\n');
  return machine;
}
