// Scenarios of a deployment whose schedule is paused: what befalls a machine is told by the log sink alone.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LOCAL_DEPLOYMENT } from '#scripts/local-cloud/deployment/environment.ts';
import { instanceName } from '#shared/plan/names.ts';
import { markerObject, resultObject } from '#shared/plan/objects.ts';
import { ECHO_IMAGE, eventually, LIMIT_MS, nothingLeft, type Scene } from '#test/e2e/scene.ts';

/** The first attempt works for longer than the test; a further one is done at once. */
const PROGRAM = 'process.env.MAYFLY_ATTEMPT === "1" && setTimeout(() => {}, 600_000)';

/** When a pass of the sweep began, if the line tells of one. */
function sweptAt(line: string): string | null {
  const { event, report } = JSON.parse(line);
  return event === 'sweep-done' ? report.at : null;
}

export function signalScenarios(scene: () => Scene): void {
  beforeAll(() => scene().schedule('pause'));
  afterAll(() => scene().schedule('resume'));

  test.each([
    { name: 'preempted', control: 'local.compute.preempt', cause: 'preempted' },
    { name: 'lost with its host', control: 'local.compute.hostError', cause: 'host-error' },
  ])(
    'P67: a machine that is $name: the next attempt begins, and all is done, without one sweep',
    async ({ control, cause }) => {
      const { installation, mayfly, text, story, logged } = scene();
      const { cloud } = installation;
      const runId = `told-${cause}`;
      const request = {
        runId,
        image: ECHO_IMAGE,
        command: ['node', '-e', PROGRAM],
        resources: { cpus: 2, memoryGiB: 4 },
        provisioning: 'spot',
        retry: { preempted: 1, infrastructure: 1 },
      };
      const ending = mayfly(['submit', '-', '--wait', '--json'], {
        stdin: JSON.stringify(request),
      });
      const first = instanceName(LOCAL_DEPLOYMENT, runId, 1);
      await eventually(() => expect(text(markerObject(first))).toContain('"status":"RUNNING"'));
      const machine = [...cloud.world.compute.machines.values()].find((one) => one.name === first);
      expect(cloud.call(control, { id: machine?.id ?? '' }).status).toBe(200);
      await eventually(() => expect(text(resultObject(runId)), story(runId)).not.toBe(''));
      const ended = await ending;
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      const result = JSON.parse(ended.stdout);
      expect(result.attempts).toMatchObject([{ cause }, { status: 'SUCCEEDED' }]);
      // The last of the run goes when the end of its machine's delete is told.
      await nothingLeft(scene());
      const swept = logged.map(({ line }) => sweptAt(line)).filter((at) => at !== null);
      expect(swept.filter((at) => at > result.phases.acceptedAt)).toEqual([]);
    },
    LIMIT_MS,
  );
}
