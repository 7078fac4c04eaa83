// What is said of a machine whose delete was refused. Only then, and never of one that is gone: a command
// for its serial console would lead nowhere. Pure.

export interface UndeletedMachine {
  readonly instance: string;
  readonly zone: string;
  readonly project: string;
  /** The platform's answer. */
  readonly why: string;
}

/** What it costs, what happens next, and how to look at it: one line each. */
export function describeUndeleted(machine: UndeletedMachine): readonly string[] {
  const { instance, zone, project, why } = machine;
  return [
    `VM ${instance} in ${zone} of project ${project} was not deleted (${why}): it may still run and bill in ${zone}`,
    'each pass of the sweep sends the delete again until it is taken; its own time limit holds meanwhile',
    `its serial console: gcloud compute instances get-serial-port-output ${instance} --zone=${zone} --project=${project}`,
  ];
}
