// Where the calls of the page are made: one deployment, one folder, and a terminal that keeps what it was
// told, data and words for people in the order in which they came.
import type { Cloud } from '#scripts/mayfly/cloud.ts';
import { runCommand } from '#scripts/mayfly/command.ts';
import type { Target } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

/** Something that the page shows: a file's text, or a call of the command. */
export type Step = FileStep | CallStep;

export interface FileStep {
  readonly file: string;
}

export interface CallStep {
  readonly words: readonly string[];
  /** Seconds that pass before the call. */
  readonly after?: number;
  /** Ctrl-C while the command waits. */
  readonly interrupt?: true;
  /** What the person answers who is asked. */
  readonly answer?: string;
  /** What happens in the cloud before the call. */
  readonly before?: string;
}

export interface Place extends AsyncDisposable {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  cloud(target: Target, interruption: AbortController | null): Cloud;
  /** Lets seconds pass. */
  pass(seconds: number): Promise<void>;
  /** Makes what a step's `before` says happen. */
  happen(what: string): void;
}

/** What a person would have seen of that call, the exit code at the end where it is not 0. */
export async function callIn(place: Place, step: CallStep): Promise<string> {
  let told = '';
  const line = (text: string) => {
    told += `${text}\n`;
  };
  const controller = new AbortController();
  const interrupting = step.interrupt ? controller : null;
  const terminal: Terminal = {
    ...{ environment: place.environment, folder: place.folder },
    readStdin: async () => new Uint8Array(),
    cloud: (target) => place.cloud(target, interrupting),
    write: (text) => {
      told += text;
    },
    ask: async (question) => {
      line(`${question}${step.answer ?? ''}`);
      return step.answer ?? null;
    },
    ...{ note: line, complain: line, move: () => {}, interruption: () => controller.signal },
  };
  const code = await runCommand(step.words, () => terminal);
  // The folder has another name each time.
  const shown = told.replaceAll(place.folder, '~/pipeline');
  return `${shown}${code === 0 ? '' : `$? = ${code}\n`}`;
}
