// Which service wakes up for which timer.
import type { Context } from '#scripts/local-cloud/call.ts';
import { removeDisk } from '#scripts/local-cloud/compute/disks.ts';
import { endByTtl, stepMachine } from '#scripts/local-cloud/compute/lifecycle.ts';
import { expireOperation, startOperation } from '#scripts/local-cloud/compute/operations.ts';
import { deliver, expireDelivery, publishPending } from '#scripts/local-cloud/pubsub/delivery.ts';
import { killTask, startExecution, timeTaskOut } from '#scripts/local-cloud/run/lifecycle.ts';
import { runSlot, settleAttempt } from '#scripts/local-cloud/scheduler/jobs.ts';
import type { TimerTask } from '#scripts/local-cloud/timers.ts';

export function runTask(context: Context, task: TimerTask): void {
  switch (task.kind) {
    case 'operation-running':
      startOperation(context, task.operation);
      break;
    case 'operation-expired':
      expireOperation(context, task.operation);
      break;
    case 'machine-step':
      stepMachine(context, task.machine, task.epoch);
      break;
    case 'machine-ttl':
      endByTtl(context, task.machine, task.epoch);
      break;
    case 'disk-delete':
      removeDisk(context, task.disk, task.operation);
      break;
    case 'notify':
      publishPending(context, task.topic, task.message);
      break;
    case 'deliver':
      deliver(context, task.subscription, task.message);
      break;
    case 'delivery-deadline':
      expireDelivery(context, task.delivery);
      break;
    case 'job-slot':
      runSlot(context, task.job, task.epoch);
      break;
    case 'attempt-deadline':
      settleAttempt(context, task.attempt, 0);
      break;
    case 'execution-start':
      startExecution(context, task.execution);
      break;
    case 'task-timeout':
      timeTaskOut(context, task);
      break;
    case 'task-kill':
      killTask(context, task);
      break;
    default:
      task satisfies never;
  }
}
