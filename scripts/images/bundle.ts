// Makes one JavaScript file of the supervisor, which needs nothing but Node's own modules.
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

export const SUPERVISOR_ENTRY = fileURLToPath(
  new URL('../../shared/guest/supervisor/main.ts', import.meta.url),
);

export function bundleSupervisor(entry: string, outfile: string): void {
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    charset: 'utf8',
    logLevel: 'error',
  });
}
