// The suite with real processes, the functions' and the tasks'.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
const folder = mkdtempSync(join(tmpdir(), 'mayfly-conformance-'));
let installation: Installation;

beforeAll(async () => {
  installation = await openInstallation({
    port: 0,
    environment: process.env,
    objects: [],
    onLog: (_name, line) => watch.see(line),
  });
}, LIMIT_MS);
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
}, LIMIT_MS);

playAll('C165, C167, C168: with real processes', CASES, async (runId) => {
  return new ProcessStage(runId, installation, { sweeps: () => watch.passes, folder });
});
