// One run and one refusal in the local cloud, on a virtual clock: what they leave are the page's examples.
import type { InstanceBody } from '#shared/plan/model.ts';
import { markerObject, REJECTED_PREFIX, resultObject } from '#shared/plan/objects.ts';
import { Kernel } from '#test/simulation/kernel.ts';

export const EXAMPLE_RUN_ID = 'forecast-2026-12-01.eu';
const LIFE_MS = 30 * 60_000;

const REQUEST = {
  runId: EXAMPLE_RUN_ID,
  image: 'europe-docker.pkg.dev/my-project/jobs/forecast:v3',
  resources: { machineTypes: ['e2-standard-4'] },
  labels: { team: 'forecasting' },
  annotations: { ticket: 'OPS-17' },
};

export interface ReferenceRun {
  readonly result: object;
  readonly rejection: object;
  readonly marker: object;
  /** Of the result's event. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The machine as it was asked for. */
  readonly machine: InstanceBody;
}

export async function playExampleRun(): Promise<ReferenceRun> {
  const kernel = new Kernel();
  kernel.request(REQUEST);
  kernel.request({ ...REQUEST, runId: 'misspelt', imagee: 'x' });
  await kernel.run(LIFE_MS);
  const read = (name: string | undefined) => JSON.parse(kernel.object(name ?? '') ?? 'null');
  const machine = kernel.inserts[0]?.body as InstanceBody;
  const [rejected] = kernel.objects(REJECTED_PREFIX);
  return {
    result: read(resultObject(EXAMPLE_RUN_ID)),
    rejection: read(rejected),
    marker: read(markerObject(machine.name)),
    attributes: kernel.events().find((event) => event['ce-subject'] === EXAMPLE_RUN_ID) ?? {},
    machine,
  };
}
