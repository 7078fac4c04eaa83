// What each account is granted is what it makes use of: every call that functions, machines and tasks ever
// make, under the rights that Terraform gives. A right that is missing is refused to somebody here, one
// too many is used by nobody: take it out of terraform/grants.json, or add the scenario that needs it.
import { expect, test } from 'vitest';
import {
  LOCAL_BUCKET,
  LOCAL_DEPLOYMENT,
  LOCAL_PROJECT,
  localAccount,
} from '#scripts/local-cloud/deployment/environment.ts';
import {
  DATA_FOLDERS,
  GRANT_ROWS,
  type GrantPlace,
  grantsOf,
} from '#scripts/local-cloud/deployment/grants.ts';
import type { World } from '#scripts/local-cloud/world.ts';
import { openDeployment, runExamples } from '#test/permissions/processes.ts';
import { play, SCENARIOS } from '#test/permissions/scenarios.ts';
import { cellsOf, describeTable, keyOf, usedCells } from '#test/permissions/table.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

const LIMIT_MS = 240_000;
const { bucket, project, deployment } = SETTINGS.plan;
const SIMULATED: GrantPlace = {
  ...{ project, bucket, deployment },
  emailOf: (account) => `${account}@${project}.iam.gserviceaccount.com`,
  data: [`gs://${bucket}/data/`],
};
const LOCAL: GrantPlace = {
  ...{ project: LOCAL_PROJECT, bucket: LOCAL_BUCKET, deployment: LOCAL_DEPLOYMENT },
  emailOf: localAccount,
  data: DATA_FOLDERS.map((folder) => `gs://${LOCAL_BUCKET}/${folder}`),
};
/**
 * Refusals that are answers: a task that was fenced off is told 403 of a bootstrap that is not there, and
 * an uploader may create alone, so that what is there is never overwritten.
 */
const ANSWERS = [
  /^(?:mayfly-)?jobs-task@\S+ storage\.objects\.list \S+\/objects\/runs\/bootstrap\//,
  /^(?:mayfly-)?jobs-uploader@\S+ storage\.objects\.delete \S+\/objects\/runs\/(?:work|gce-status)\//,
];
const usedBy = new Map<string, string[]>();

function note(world: World, place: GrantPlace, scenario: string): void {
  for (const cell of usedCells(world, GRANT_ROWS, place)) {
    const key = keyOf(cell);
    usedBy.set(key, [...(usedBy.get(key) ?? []), scenario]);
  }
}

const refusals = ({ iam }: World) =>
  [...iam.refused].filter((line) => !ANSWERS.some((answer) => answer.test(line)));

test.each(SCENARIOS)('nothing is refused to $name', async (scenario) => {
  const grants = GRANT_ROWS.flatMap((row) => grantsOf(row, SIMULATED));
  const kernel = await play(scenario, grants);
  expect(refusals(kernel.world)).toEqual([]);
  expect(kernel.result('r1')?.status ?? null).toBe(scenario.status);
  note(kernel.world, SIMULATED, scenario.name);
});

test(
  'nothing is refused to machines and tasks as they are',
  async () => {
    await using installation = await openDeployment();
    const ends = await runExamples(installation);
    const { world } = installation.cloud;
    expect(refusals(world)).toEqual([]);
    expect([...ends].sort()).toEqual(['jobs SUCCEEDED', 'machine SUCCEEDED']);
    note(world, LOCAL, 'machines and tasks as they are');
  },
  LIMIT_MS,
);

test('used = granted, account by account', () => {
  const cells = cellsOf(GRANT_ROWS);
  console.log(describeTable(cells, usedBy).join('\n'));
  expect(cells.map(keyOf).filter((key) => !usedBy.has(key))).toEqual([]);
});
