// The suite with real processes, the functions' and the tasks'.
import { afterAll, beforeAll } from 'vitest';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import { SweepWatch } from '#scripts/start/sweep.ts';
import { CASES } from '#test/conformance/cases.ts';
import { playAll } from '#test/conformance/play.ts';
import { ProcessStage } from '#test/conformance/process-stage.ts';

const LIMIT_MS = 240_000;
const watch = new SweepWatch();
let installation: Installation;

beforeAll(async () => {
  installation = await openInstallation({
    port: 0,
    environment: process.env,
    objects: [],
    onLog: (_name, line) => watch.see(line),
  });
}, LIMIT_MS);
afterAll(() => installation[Symbol.asyncDispose](), LIMIT_MS);

playAll('C165, C167, C168: with real processes', CASES, async (runId) => {
  return new ProcessStage(runId, installation, () => watch.passes);
});
