// A whole local deployment under test, with what its functions have logged and a command that is pointed
// at it.
import { expect, vi } from 'vitest';
import { clientEnvironment } from '#scripts/local-cloud/deployment/client-lines.ts';
import { LOCAL_BUCKET } from '#scripts/local-cloud/deployment/environment.ts';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import type { FunctionName } from '#scripts/local-cloud/deployment/inventory.ts';
import { sweepJobName } from '#scripts/local-cloud/deployment/layout.ts';
import { countLeft, describeLeft } from '#scripts/start/proof.ts';
import { ACTIVE_PREFIX, recordObject } from '#shared/plan/objects.ts';
import { callMayfly, type RunOptions } from '#test/scripts/mayfly/run-mayfly.ts';

/** So much a busy machine may need; nothing here is asserted to be quick. */
export const LIMIT_MS = 300_000;
const POLL = { timeout: 200_000, interval: 100 };
export const ECHO_IMAGE = 'mayfly.local/examples/echo-args:1';

export interface Scene extends AsyncDisposable {
  readonly installation: Installation;
  readonly logged: readonly { readonly name: FunctionName; readonly line: string }[];
  mayfly(words: readonly string[], options?: RunOptions): ReturnType<typeof callMayfly>;
  /** An object of the deployment's bucket as text; empty when there is none. */
  text(object: string): string;
  /** Names of objects that begin so. */
  names(prefix: string): readonly string[];
  /** What is left of a run whose end is waited for, and what was logged of it: for a test that waits in vain. */
  story(runId: string): string;
  /** Of the job that sweeps. */
  schedule(verb: 'pause' | 'resume'): void;
}

/** `emulator`: `host:port` of the broker in place of the local cloud's own. */
export async function openScene(emulator: string | null = null): Promise<Scene> {
  const logged: { name: FunctionName; line: string }[] = [];
  const installation = await openInstallation({
    port: 0,
    environment: { ...process.env, PUBSUB_EMULATOR_HOST: emulator ?? undefined },
    objects: [],
    onLog: (name, line) => logged.push({ name, line }),
  });
  const { cloud, deployment } = installation;
  const objects = () => cloud.world.storage.buckets.get(LOCAL_BUCKET)?.objects ?? new Map();
  const text = (name: string) => Buffer.from(objects().get(name)?.bytes ?? []).toString();
  return {
    installation,
    logged,
    mayfly: (words, options = {}) =>
      callMayfly(words, { environment: clientEnvironment(deployment), ...options }),
    text,
    names: (prefix) => [...objects().keys()].filter((name) => name.startsWith(prefix)),
    story(runId) {
      const lines = logged.filter(
        ({ line }) => line.includes(runId) || line.includes('sweep-done'),
      );
      return [text(recordObject(runId)), ...lines.map(({ name, line }) => `${name} ${line}`)].join(
        '\n',
      );
    },
    schedule(verb) {
      const [, project = '', , location = '', , job = ''] = sweepJobName(deployment).split('/');
      const params = { project, location, job };
      const { status } = cloud.call(`cloudscheduler.jobs.${verb}`, params);
      if (status !== 200) throw new Error(`the schedule could not be told to ${verb}: ${status}`);
    },
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  };
}

/** Tries the expectations again until they hold. */
export const eventually = <Value>(look: () => Value | Promise<Value>): Promise<Value> =>
  vi.waitFor(look, POLL);

/** Machines, disks, executions and active entries are gone, of whatever run. */
export const nothingLeft = (scene: Scene): Promise<void> =>
  eventually(async () => {
    const active = scene.names(ACTIVE_PREFIX);
    const stories = active.map((name) => scene.story(name.slice(ACTIVE_PREFIX.length)));
    const left = describeLeft(await countLeft(scene.installation.deployment));
    expect(left, stories.join('\n')).toBe(
      '0 machines, 0 disks, 0 executions, 0 active entries left',
    );
  });
