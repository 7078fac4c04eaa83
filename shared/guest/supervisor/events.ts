// The task's own lines on standard output: signed events, which the log brings to `signals`. Numbers are
// given once and never twice, whatever stops and continues the process.
import {
  type SignedEvent,
  signEvent,
  type TaskEvent,
  taskSequence,
} from '#shared/lifecycle/task-event.ts';
import type { Bootstrap } from '#shared/plan/bootstrap.ts';

/** Of a progress line of the command, as JSON. */
export const PROGRESS_BYTES_MAX = 2048;

export interface EventLine {
  readonly severity: 'INFO';
  readonly message: string;
  readonly mayfly_event: SignedEvent;
}

export class EventPrinter {
  readonly #about: Pick<Bootstrap, 'runId' | 'attempt' | 'eventKey'>;
  readonly #task: number;
  readonly #nowMs: () => number;
  readonly #print: (line: string) => void;
  #count = 0;

  constructor(
    about: Pick<Bootstrap, 'runId' | 'attempt' | 'eventKey'>,
    task: number,
    nowMs: () => number,
    print: (line: string) => void,
  ) {
    this.#about = about;
    this.#task = task;
    this.#nowMs = nowMs;
    this.#print = print;
  }

  print(kind: TaskEvent['kind'], data: TaskEvent['data'] = {}): void {
    const { runId, attempt, eventKey } = this.#about;
    const event: TaskEvent = {
      runId,
      attempt,
      task: this.#task,
      seq: taskSequence(this.#task, this.#count),
      kind,
      atMs: this.#nowMs(),
      data,
    };
    this.#count += 1;
    const line: EventLine = {
      severity: 'INFO',
      message: `${runId} attempt ${attempt} task ${this.#task}: ${kind}`,
      mayfly_event: signEvent(eventKey, event),
    };
    this.#print(`${JSON.stringify(line)}\n`);
  }
}

/** A line of the command's progress, or null when it is no JSON object or too large. */
export function readProgressLine(line: string): Readonly<Record<string, unknown>> | null {
  if (Buffer.byteLength(line) > PROGRESS_BYTES_MAX) return null;
  try {
    const value: unknown = JSON.parse(line);
    const object = typeof value === 'object' && value !== null && !Array.isArray(value);
    return object ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
