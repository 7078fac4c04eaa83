// Signals over the local cloud's own broker.
import { afterAll, beforeAll } from 'vitest';
import { LIMIT_MS, openScene, type Scene } from '#test/e2e/scene.ts';
import { signalScenarios } from '#test/e2e/signal-scenarios.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
}, LIMIT_MS);
afterAll(() => scene[Symbol.asyncDispose](), LIMIT_MS);

signalScenarios(() => scene);
