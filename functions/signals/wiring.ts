// signals' real dependencies, built once per cold start.
import type { RunDeps } from '#shared/runs/deps.ts';
import { once, realDeps } from '#shared/runs/real-deps.ts';

export const signalsDeps: () => Promise<RunDeps> = once(realDeps);
