// The command over the local cloud's own broker.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientEnvironment } from '#scripts/local-cloud/deployment/client-lines.ts';
import { commandScenarios, ECHO } from '#test/e2e/command-scenarios.ts';
import { LIMIT_MS, openScene, type Scene } from '#test/e2e/scene.ts';

const TOPIC = 'pubsub.topics.publish';

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
}, LIMIT_MS);
afterAll(() => scene[Symbol.asyncDispose](), LIMIT_MS);

commandScenarios(() => scene);

test(
  'a request that breaks a rule is not sent; one that the deployment alone can judge ends with 76',
  async () => {
    const published = () => scene.installation.cloud.world.calls.count({ method: TOPIC });
    const before = published();
    for (const wait of [[], ['--wait']]) {
      const ended = await scene.mayfly(['submit', ...ECHO, '--ttl', '1s', ...wait]);
      expect(ended, ended.stderr).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toMatch(/nothing was sent:\n {2}ttlSeconds is 1: /);
    }
    expect(published()).toBe(before);
    const judged = await scene.mayfly(['submit', ...ECHO, '--ttl', '7d', '--wait']);
    expect(judged, judged.stderr).toMatchObject({ code: 76 });
    expect(judged.stdout).toMatch(/REJECTED \(invalid\)\n {2}ttlSeconds is 604800: /);
  },
  LIMIT_MS,
);

test('what is not there ends with 4, what cannot be asked with 3', async () => {
  const nothing = await scene.mayfly(['show', 'never-heard-of']);
  expect(nothing).toMatchObject({ code: 4, stdout: '' });
  expect(nothing.stderr).toContain('nothing is known of a run never-heard-of');
  const environment = {
    ...clientEnvironment(scene.installation.deployment),
    MAYFLY_BUCKET: 'no-bucket',
  };
  const refused = await scene.mayfly(['show', 'x'], { environment });
  expect(refused).toMatchObject({ code: 3, stdout: '' });
  expect(refused.stderr).toContain('check --project, --bucket and --deployment');
});
