// submit's real dependencies, built once per cold start.
import type { SubmitDeps } from '#functions/submit/deps.ts';
import { readGuestScripts } from '#shared/guest/scripts.ts';
import { once, realDeps } from '#shared/runs/real-deps.ts';

export const submitDeps: () => Promise<SubmitDeps> = once(async () => ({
  ...(await realDeps()),
  scripts: readGuestScripts(),
  asking: new Map(),
}));
