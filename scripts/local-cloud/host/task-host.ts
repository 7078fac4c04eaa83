// What runs the tasks of executions. The world only says when a task starts and when it is to end; a host
// makes a real process of it (process-task-host.ts), or a test does something of its own.
import type { JobTask, JobTaskStartedEvent } from '#scripts/local-cloud/call.ts';

export interface HostedTask extends Omit<JobTaskStartedEvent, 'kind'> {
  /** `host:port` of the task's own metadata server, open until the task has ended. */
  readonly metadataHost: string;
}

export interface TaskEnd {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly termSignal: number | null;
  /** Its memory limit was reached: what it ended with says nothing. */
  readonly outOfMemory: boolean;
}

/** How a host tells the cloud what a task does by itself. */
export interface TaskListener {
  line(task: JobTask, stream: 'stdout' | 'stderr', line: string): void;
  /** Once, after the last line: nothing of the task runs any more. */
  ended(task: JobTask, end: TaskEnd): void;
}

/** No call waits for the task: `start` returns when it has begun, the others when the signal is sent. */
export interface TaskHost {
  start(task: HostedTask): Promise<void>;
  /** TERM to the task's first process. */
  stop(task: JobTask): Promise<void>;
  /** Ends all of its processes: when it resolves nothing of the task runs any more. */
  kill(task: JobTask): Promise<void>;
  /** Ends every task. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A host is made by the server, which gives it the way back. */
export type TaskHostFactory = (listener: TaskListener) => TaskHost;

export const taskKey = ({ execution, task, attempt }: JobTask) =>
  `${execution}/tasks/${task}/${attempt}`;
