// What may be wrong with how long the bucket keeps objects; see doctor-faults.ts. By hand: ten tries, each
// with a week and 10 minutes until it runs and a week and 30 s of life, are 140.07 days, so that 141 come
// on top of the 30 of the retention, and request and result stay a day longer.
import { asArray, asObject, type JsonObject } from '#scripts/local-cloud/json.ts';
import { BUCKET, type PlantedFault, type Send } from '#test/scripts/mayfly/doctor-plants.ts';

const OTHERS = ['work', 'gce-status', 'bootstrap', 'ended', 'dead', 'rejected'].map(
  (name) => `runs/${name}/`,
);
const TAKEN = ['runs/state/', 'runs/results/'];

export const deleteRule = (condition: JsonObject) => ({ action: { type: 'Delete' }, condition });
const ages = (others: number, taken: number) => [
  deleteRule({ age: others, matchesPrefix: OTHERS }),
  deleteRule({ age: taken, matchesPrefix: TAKEN }),
];

const rules = (rule: readonly object[]) => (send: Send) =>
  send('PATCH', BUCKET, { lifecycle: { rule } });

/** One rule more than a right bucket has. */
export const further = (rule: object) => async (send: Send) => {
  const { lifecycle } = await send('GET', BUCKET);
  return rules([...asArray(asObject(lifecycle).rule).map(asObject), rule])(send);
};

const wrong = (name: string, plant: PlantedFault['plant'], what: string): PlantedFault => ({
  name,
  plant,
  check: 'bucket lifecycle',
  what,
  fix: 'mayfly deploy',
});

export const LIFETIME_FAULTS: readonly PlantedFault[] = [
  wrong(
    'ids are free again before their time',
    rules(ages(7, 7)),
    'runs/work/ after 7 days, not 171',
  ),
  wrong(
    'objects go when the retention is over, alive or not',
    rules(ages(30, 31)),
    'runs/work/ after 30 days, not 171',
  ),
  wrong(
    'markers and claims go a day before the longest run ends',
    rules(ages(170, 172)),
    'runs/gce-status/ after 170 days, not 171',
  ),
  wrong(
    'an id is free on the day when the rest of its run goes',
    rules(ages(171, 171)),
    'runs/state/ after 171 days, not 172',
  ),
  wrong(
    'a rule takes the markers of some machines',
    further(deleteRule({ age: 3, matchesPrefix: ['runs/gce-status/team-'] })),
    'runs/gce-status/ after 3 days, not 171',
  ),
  wrong(
    'a rule takes logs after a week wherever they are',
    further(deleteRule({ age: 7, matchesPrefix: ['runs/work/'], matchesSuffix: ['.txt'] })),
    'runs/work/ after 7 days, not 171',
  ),
  wrong(
    'a rule takes entries of active runs, however old they are',
    further(deleteRule({ age: 900, matchesPrefix: ['runs/active/a'] })),
    'a rule deletes runs/active/, which must stay',
  ),
  wrong(
    'old work goes where its name ends in .json alone',
    rules([
      deleteRule({ age: 171, matchesPrefix: ['runs/work/'], matchesSuffix: ['.json'] }),
      deleteRule({ age: 171, matchesPrefix: OTHERS.slice(1) }),
      deleteRule({ age: 172, matchesPrefix: TAKEN }),
    ]),
    'nothing deletes old runs/work/',
  ),
];

/** Rules that are not the layout's, and that nothing is wrong with. */
export const HARMLESS: readonly (readonly [string, PlantedFault['plant']])[] = [
  ['exactly the retention and the longest run', rules(ages(171, 172))],
  ['longer than needed', rules([deleteRule({ age: 400, matchesPrefix: [...OTHERS, ...TAKEN] })])],
  [
    'turns and offers after two days',
    further(deleteRule({ age: 2, matchesPrefix: ['runs/turns/', 'runs/offers/'] })),
  ],
  ['outputs of runs after a week', further(deleteRule({ age: 7, matchesPrefix: ['outputs/'] }))],
  ['versions that are no longer current', further(deleteRule({ isLive: false }))],
  ['all but the newest three versions', further(deleteRule({ numNewerVersions: 3 }))],
  [
    'uploads that were left',
    further({ action: { type: 'AbortIncompleteMultipartUpload' }, condition: { age: 1 } }),
  ],
];
