// sweep's real dependencies, built once per cold start.
import { once, realDeps, settingsOfProcess } from '#shared/runs/real-deps.ts';

export const sweepDeps = once(() => realDeps(settingsOfProcess()));
