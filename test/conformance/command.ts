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
  else setTimeout(() => process.exit(behaviour.exit), 1500);
`;

export function bodyText(runId: string, change: object, attempts: readonly Behaviour[]): string {
  return JSON.stringify({
    runId,
    runtime: 'cloudrun-jobs',
    resources: { class: 'S', base: 'base-ml' },
    command: ['node', '-e', PROGRAM],
    env: { ATTEMPTS: JSON.stringify(attempts) },
    ttlSeconds: 3600,
    ...change,
  });
}
