// notify's real dependencies, built once per cold start.
import { once, realDeps, settingsOfProcess } from '#shared/runs/real-deps.ts';

export const notifyDeps = once(() => realDeps(settingsOfProcess()));
