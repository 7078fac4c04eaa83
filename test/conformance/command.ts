// The request of a case: a command that behaves as each attempt is to.
import type { Behaviour } from '#test/conformance/cases.ts';

/** Writes its checkpoint first, and says in its output whether there was one before. */
const PROGRAM = `
  const fs = require('node:fs');
  const root = process.env.MAYFLY_SANDBOX_ROOT ?? '';
  const attempts = JSON.parse(process.env.ATTEMPTS);
  const behaviour = attempts[process.env.MAYFLY_ATTEMPT - 1] ?? attempts.at(-1);
  const state = root + '/ckpt/state';
  const restored = fs.existsSync(state);
  if (fs.existsSync(root + '/ckpt')) fs.writeFileSync(state, 'half-way');
  if (fs.existsSync(root + '/out')) {
    fs.writeFileSync(root + '/out/result.json', restored ? 'resumed' : 'from the beginning');
  }
  if (behaviour === 'hangs') setInterval(() => {}, 1000);
  else {
    const { HOLD: hold, MAYFLY_ATTEMPT: attempt } = process.env;
    const end = () => process.exit(behaviour.exit);
    if (hold === undefined) end();
    setInterval(() => fs.existsSync(hold + '-' + attempt) && end(), 20);
  }
`;

/** `hold`: an attempt that is to end does so when the file of that name and its number is there. */
export function bodyText(
  runId: string,
  change: object,
  attempts: readonly Behaviour[],
  hold?: string,
): string {
  return JSON.stringify({
    runId,
    runtime: 'cloudrun-jobs',
    resources: { class: 'S', base: 'base-ml' },
    command: ['node', '-e', PROGRAM],
    env: { ATTEMPTS: JSON.stringify(attempts), ...(hold === undefined ? {} : { HOLD: hold }) },
    ttlSeconds: 3600,
    ...change,
  });
}
