// submit's real dependencies, built once per cold start.
import type { SubmitDeps } from '#functions/submit/deps.ts';
import { readGuestScripts } from '#shared/guest/scripts.ts';
import { once, openBucket, realDeps, settingsOfProcess } from '#shared/runs/real-deps.ts';

export const submitDeps: () => Promise<SubmitDeps> = once(async () => {
  const settings = settingsOfProcess();
  const [deps, scripts] = await Promise.all([realDeps(settings), readGuestScripts()]);
  return { ...deps, scripts, openBucket: (bucket) => openBucket(settings, bucket) };
});
