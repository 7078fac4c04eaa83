// Takes a guard out of the product in this process alone: its source is changed while it is loaded. The
// text must stand there exactly once, so that a guard which has moved is noticed.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { GUARDS, type Guard } from '#test/simulation/swarm/guards.ts';

const ROOT = new URL('../../../', import.meta.url);

export function guardOf(name: string): Guard {
  const guard = GUARDS.find((one) => one.name === name);
  if (guard === undefined) throw new Error(`no guard is named ${name}; see guards.ts`);
  return guard;
}

/** The file without its guard. Throws when one of the texts does not stand there exactly once. */
export function withoutGuard(file: string, guard: Guard): string {
  let source = readFileSync(new URL(file, ROOT), 'utf8');
  for (const { find, replace } of guard.edits.filter((edit) => edit.file === file)) {
    const parts = source.split(find);
    if (parts.length !== 2) {
      throw new Error(
        `${guard.name}: its text stands ${parts.length - 1} times in ${file}: ${find}`,
      );
    }
    source = parts.join(replace);
  }
  return source;
}

/** From now on what is loaded lacks the guard. */
export function removeGuard(name: string): void {
  const guard = guardOf(name);
  const files = new Map(
    guard.edits.map(({ file }) => [fileURLToPath(new URL(file, ROOT)), withoutGuard(file, guard)]),
  );
  registerHooks({
    load: (url, context, nextLoad) => {
      const source = url.startsWith('file:') ? files.get(fileURLToPath(url)) : undefined;
      if (source === undefined) return nextLoad(url, context);
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}
