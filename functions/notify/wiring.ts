// notify's real dependencies, built once per cold start.
import type { RunDeps } from '#shared/runs/deps.ts';
import { once, realDeps } from '#shared/runs/real-deps.ts';

export const notifyDeps: () => Promise<RunDeps> = once(realDeps);
