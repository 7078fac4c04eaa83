import { expect, test } from 'vitest';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const NOT_YET: [string, object][] = [
  ['secrets', { secrets: { TOKEN: 'projects/p/secrets/s/versions/3' } }],
  ['imageCredentials', { imageCredentials: 'projects/p/secrets/s/versions/3' }],
  ['keepOnFailureSeconds', { keepOnFailureSeconds: 600 }],
  ['resources.bootImage', { resources: { bootImage: 'deep-learning' } }],
  ['resources.gpu', { resources: { gpu: { type: 'L4' } } }],
  ['resources.machineTypes', { resources: { machineType: 'g2-standard-4' } }],
  ['resources.localSsdCount', { resources: { machineType: 'n2-standard-4', localSsdCount: 1 } }],
];

test.each(NOT_YET)('%s: what machines cannot do yet is refused by name', async (field, change) => {
  const kernel = new Kernel();
  kernel.request({ ...REQUEST, runId: 'bad', ...change });
  await kernel.run(60_000);
  const [name = ''] = kernel.objects('runs/rejected/');
  expect(JSON.parse(kernel.object(name) ?? '{}').errors).toMatchObject([
    { field, rule: expect.stringMatching(/^not yet/) },
  ]);
  expect(kernel.machines()).toEqual([]);
});
