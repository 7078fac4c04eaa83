// The part about names: each is made here by the function that makes it in the product.
import { EXAMPLE_RUN_ID, type ReferenceRun } from '#scripts/docs/reference/example-run.ts';
import { code, table } from '#scripts/docs/reference/markdown.ts';
import { planSettings } from '#scripts/docs/reference/refusals.ts';
import {
  ACK_DEADLINE_SECONDS,
  DELIVERY_ATTEMPTS_MAX,
  NOTIFICATIONS,
  RETRY_POLICY,
  SUBSCRIPTIONS,
  TOPICS,
} from '#scripts/local-cloud/deployment/inventory.ts';
import { diskName, instanceName } from '#shared/plan/names.ts';
import * as objects from '#shared/plan/objects.ts';
import { TURNS_PREFIX } from '#shared/runs/jobs/turns.ts';

const RUN = '<runId>';
const ATTEMPT = '<attempt>' as unknown as number;
const TASK = '<task>' as unknown as number;
const ENDED_AT = '<YYYY-MM-DDTHH:MM:SS.sssZ>';
const DAY_SECONDS = 86_400;

/** What each object is; the names are the product's. */
const OBJECTS: readonly (readonly [name: string, what: string])[] = [
  [objects.requestObject(RUN), 'the request as it was accepted'],
  [objects.inputsObject(RUN), 'prefixes of inputs, resolved, with generations'],
  [objects.recordObject(RUN), 'the state of the run'],
  [objects.activeObject(RUN), 'there while anything of the run may be left; empty'],
  [objects.claimObject(RUN, ATTEMPT), 'who may work on the attempt'],
  [objects.logObject(RUN, ATTEMPT), 'the end of the output; rewritten as a heartbeat'],
  [objects.progressObject(RUN, ATTEMPT, TASK), 'what a task has told of itself'],
  [objects.markerObject('<instance>'), 'the marker'],
  [objects.taskMarkerObject('<instance>', TASK), 'the marker of one of several tasks'],
  [objects.bootstrapObject('<nonce>'), 'what the tasks of one execution may know'],
  [objects.resultObject(RUN), 'the result'],
  [endedObject(), 'index of ended runs by time; empty, and what a report counts is its metadata'],
  [objects.rejectedObject('<runId or _>', '<messageId>'), 'a rejection'],
  [objects.deadObject('<messageId>'), 'what could not be read, or was given up'],
  [`${objects.CODE_PREFIX}…`, 'packages, which runs may read'],
  [objects.offersObject('<machine type>'), 'the zones that offer it'],
  [`${TURNS_PREFIX}<region>/…`, 'who may start an execution when'],
  [objects.DEPLOYMENT_OBJECT, 'whose bucket this is'],
];

/** The function cuts the day from the time: put back as it is written here. */
function endedObject(): string {
  const name = objects.endedObject(ENDED_AT, RUN);
  return name.replace(ENDED_AT.slice(0, 10), '<YYYY-MM-DD>').replace(ENDED_AT, '<endedAt>');
}

export function namesPart({ machine }: ReferenceRun): string {
  const { deployment } = planSettings();
  const instance = instanceName(deployment, EXAMPLE_RUN_ID, 1);
  const disk = diskName(deployment, EXAMPLE_RUN_ID, 1, 1);
  const labels = Object.entries(machine.labels).map(([key, value]) => [code(key), code(value)]);
  const keys = machine.metadata.items.map(({ key }) => code(key)).join(', ');
  return `All begin with the deployment's name, here ${code(deployment)}. Of the run ${code(EXAMPLE_RUN_ID)}:

- its first machine is ${code(instance)}, the boot disk ${code(disk)}
- metadata keys of a machine: ${keys}; guest attributes stand under ${code('mayfly/')}

### Labels of machines and disks

The run's own first, then Mayfly's, whose keys no request can take.

${table(['label', 'for example'], labels)}
### Topics and subscriptions

Deadline ${ACK_DEADLINE_SECONDS} s, pauses of ${RETRY_POLICY.minimumBackoff} to ${RETRY_POLICY.maximumBackoff}; what is given up after
${DELIVERY_ATTEMPTS_MAX} deliveries goes to the dead topic where the table says so.

${table(['topic', 'subscription', 'pushes to', 'kept for', 'dead letters'], topicRows(deployment))}
The bucket's notifications come from the prefixes ${NOTIFICATIONS.map(({ prefix, topic }) => `${code(prefix)} (${code(topic)})`).join(', ')}.

### Objects in the bucket

${table(
  ['object', 'is'],
  OBJECTS.map(([name, what]) => [code(name), what]),
)}`;
}

function topicRows(deployment: string): string[][] {
  return TOPICS.flatMap((topic) => {
    const name = code(`${deployment}-${topic}`);
    const own = SUBSCRIPTIONS.filter((subscription) => subscription.topic === topic);
    if (own.length === 0) return [[name, 'yours', '', '', '']];
    return own.map((subscription) => [
      name,
      code(`${deployment}-${subscription.name}`),
      code(
        `${deployment}-${subscription.function}${subscription.path === '/' ? '' : subscription.path}`,
      ),
      `${subscription.retentionSeconds / DAY_SECONDS} days`,
      subscription.deadLetters ? 'yes' : '',
    ]);
  });
}
