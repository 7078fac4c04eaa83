// Fields of the contract that planning knows and the machine's script does not honour yet. A run that
// asks for one is refused, never started half done.
import { machineFacts } from '#shared/plan/machines/catalogue.ts';
import type { Fault, RunPlan, RunRequest } from '#shared/plan/model.ts';

export function notYetFaults({ request, candidates }: RunPlan): Fault[] {
  const faults = FIELDS.flatMap(({ field, isSet, value }) =>
    isSet(request) ? [notYet(field, value(request))] : [],
  );
  const gpu = candidates.find(({ machineType }) => machineFacts(machineType)?.gpu != null);
  if (request.resources.gpu !== null) faults.push(notYet('resources.gpu', request.resources.gpu));
  else if (gpu !== undefined) faults.push(notYet('resources.machineTypes', gpu.machineType));
  return faults;
}

const FIELDS: readonly {
  readonly field: string;
  readonly isSet: (request: RunRequest) => boolean;
  readonly value: (request: RunRequest) => unknown;
}[] = [
  {
    field: 'secrets',
    isSet: ({ secrets }) => Object.keys(secrets).length > 0,
    value: ({ secrets }) => Object.keys(secrets),
  },
  {
    field: 'imageCredentials',
    isSet: ({ imageCredentials }) => imageCredentials !== null,
    value: ({ imageCredentials }) => imageCredentials,
  },
  {
    field: 'keepOnFailureSeconds',
    isSet: ({ keepOnFailureSeconds }) => keepOnFailureSeconds > 0,
    value: ({ keepOnFailureSeconds }) => keepOnFailureSeconds,
  },
  {
    field: 'resources.bootImage',
    isSet: ({ resources }) => resources.bootImage !== null && resources.bootImage !== 'cos',
    value: ({ resources }) => resources.bootImage,
  },
  {
    field: 'resources.localSsdCount',
    isSet: ({ resources }) => resources.localSsdCount > 0,
    value: ({ resources }) => resources.localSsdCount,
  },
];

function notYet(field: string, value: unknown): Fault {
  const rule = 'not yet: this version’s machines cannot do it';
  return { field, value: JSON.stringify(value), rule, accepted: 'leave it out' };
}
