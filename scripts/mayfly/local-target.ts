// Whether a request is for the local cloud, and what that cannot do: its machines are processes of the
// computer that it runs on.
import { isLocal } from '#scripts/mayfly/cloud.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { machineFacts } from '#shared/plan/machines/catalogue.ts';
import type { RunRequest } from '#shared/plan/model.ts';

/** One warning at most. */
export function localWarnings(
  environment: Terminal['environment'],
  { runtime, resources }: Pick<RunRequest, 'runtime' | 'resources'>,
): readonly string[] {
  const { machineTypes } = resources;
  const gpu = resources.gpu !== null || machineTypes.some((type) => machineFacts(type)?.gpu);
  if (runtime !== 'gce' || !gpu || !isLocal(environment)) return [];
  return [
    'MAYFLY_ENDPOINT_COMPUTE names a local cloud, whose machines have no GPU: the run is placed there, and fails before its container starts',
  ];
}
