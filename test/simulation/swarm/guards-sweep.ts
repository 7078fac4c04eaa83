// Guards of the sweep, of what counts as gone, and of the looks that keep runs moving (R5, laws 1, 2, 5).
import type { Guard } from '#test/simulation/swarm/guards.ts';

const SWEEP = 'functions/sweep/handler.ts';
const MACHINES = 'functions/sweep/machines.ts';
const OWNERS = 'functions/sweep/owners.ts';
const JUDGE = 'shared/lifecycle/sweep.ts';
const KNOWN = '      const { zone } = candidate;\n      if (machines.unknownZones';

const LOOK_IMPORT = "import { publishLook } from '#shared/runs/act.ts';";

export const SWEEP_GUARDS: readonly Guard[] = [
  {
    name: 'only submit creates',
    serves: 'R5',
    edits: [
      {
        file: SWEEP,
        find: LOOK_IMPORT,
        replace: `${LOOK_IMPORT}
import { continueRun } from '#functions/submit/accept.ts';
import { readGuestScripts } from '#shared/guest/scripts.ts';`,
      },
      {
        file: SWEEP,
        find: '      await publishLook(deps, { runId });',
        replace:
          '      await continueRun({ ...deps, scripts: readGuestScripts(), openBucket: () => deps.store }, runId);',
      },
    ],
  },
  {
    name: 'absence from a list ends nothing',
    serves: 'R3',
    edits: [
      {
        file: SWEEP,
        find: KNOWN,
        replace: KNOWN.replace(
          '      if',
          "      facts[machineKey(attempt.instance, zone)] = { kind: 'gone' };\n      if",
        ),
      },
    ],
  },
  {
    name: 'machines listed before records are read',
    serves: 'law 2',
    edits: [
      {
        file: SWEEP,
        find: '  for (const machine of machinesOf(machines, runId)) {',
        replace:
          '  const relisted = await listMachines(deps.compute, deps.settings.plan.deployment);\n  for (const machine of machinesOf(relisted, runId)) {',
      },
      {
        file: JUDGE,
        find: "    return { kind: 'unknown', why: `run",
        replace:
          "    return { kind: 'doomed', why: 'attempt-ended' };\n    return { kind: 'unknown', why: `run",
      },
    ],
  },
  {
    name: 'unknown is not gone',
    serves: 'law 2',
    edits: [
      {
        file: 'shared/cloud/rest.ts',
        find: "  return error.code === 'not-found' ?",
        replace: "  return error.code !== 'invalid' ?",
      },
    ],
  },
  {
    name: 'label of the deployment',
    serves: 'law 2',
    edits: [
      {
        file: 'functions/sweep/listing.ts',
        find: 'labels.managed-by=mayfly AND labels.deployment=',
        replace: 'labels.deadline:* OR labels.deployment=',
      },
      {
        file: JUDGE,
        find: "  if (!ours) return { kind: 'foreign' };",
        replace: "  if (deadlineMs === null && !ours) return { kind: 'foreign' };",
      },
    ],
  },
  {
    name: 'slack after a deadline label',
    serves: 'law 2',
    edits: [
      {
        file: JUDGE,
        find: 'nowMs > deadlineMs + SLACK_MS',
        replace: 'nowMs > deadlineMs - SLACK_MS',
      },
    ],
  },
  {
    name: 'a machine without a record is left its time',
    serves: 'law 2',
    edits: [
      {
        file: JUDGE,
        find: 'nowMs - bornMs > strayAfterMs\n',
        replace: 'nowMs - bornMs > 0\n',
      },
    ],
  },
  {
    name: 'a machine of an active run is no stray',
    serves: 'law 2',
    edits: [
      {
        file: SWEEP,
        find: '    await judge(pass, machine, owner);',
        replace: '    await judge(pass, machine, await ownerByMarker(deps, machine));',
      },
    ],
  },
  {
    name: 'an unread record is not a missing one',
    serves: 'law 2',
    edits: [
      {
        file: OWNERS,
        find: "    if (error instanceof CloudError) return { kind: 'unknown' };",
        replace: "    if (error instanceof CloudError) return { kind: 'none' };",
      },
      {
        file: SWEEP,
        find: "code: error.code });\n    return { kind: 'unknown' };",
        replace: "code: error.code });\n    return { kind: 'none' };",
      },
    ],
  },
  {
    name: 'strays are taken away',
    serves: 'law 1',
    edits: [
      {
        file: MACHINES,
        find: "      return await reap(deps, machine, 'no record', verdict.sinceMs, report);",
        replace: '      return;',
      },
    ],
  },
  {
    name: 'look for what is due between attempts',
    serves: 'R5',
    edits: [
      {
        file: 'shared/lifecycle/decide.ts',
        find: "seen.looked ? { kind: 'rest' } : { kind: 'publish-look' }",
        replace: "{ kind: 'rest' }",
      },
    ],
  },
  {
    name: 'look for a placement that stands still',
    serves: 'R5',
    edits: [
      {
        file: 'shared/lifecycle/decide-placement.ts',
        find: "(failed || due) && !seen.looked ? { kind: 'publish-look' } : REST",
        replace: 'failed && due && seen.looked ? REST : REST',
      },
    ],
  },
  {
    name: 'our own delete is nobody’s decision',
    serves: 'law 5',
    edits: [
      {
        file: 'shared/runs/observe.ts',
        find: '  return !workerServiceAccounts.includes(user);',
        replace: '  return user.length > 0;',
      },
    ],
  },
];
