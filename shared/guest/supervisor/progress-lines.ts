// What the command writes to file descriptor 3, one JSON object a line: at most one event a period, the
// latest wins.
import { PROGRESS_BYTES_MAX, readProgressLine } from '#shared/guest/supervisor/events.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';

type Progress = Readonly<Record<string, unknown>>;

export class ProgressLines {
  readonly #deps: Pick<SupervisorDeps, 'clock' | 'periods'>;
  readonly #give: (progress: Progress) => void;
  readonly #over = new AbortController();
  #held = Buffer.alloc(0);
  #skipping = false;
  #latest: Progress | null = null;
  #waiting = false;

  constructor(deps: Pick<SupervisorDeps, 'clock' | 'periods'>, give: (progress: Progress) => void) {
    this.#deps = deps;
    this.#give = give;
  }

  take(bytes: Uint8Array): void {
    let rest = Buffer.from(bytes);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.#hold(rest.subarray(0, end));
      this.#line();
      rest = rest.subarray(end + 1);
    }
    this.#hold(rest);
  }

  /** The command has ended: what waits is given at once. */
  end(): void {
    this.#line();
    this.#over.abort();
    this.#pass();
  }

  #hold(bytes: Buffer): void {
    this.#skipping ||= this.#held.length + bytes.length > PROGRESS_BYTES_MAX;
    this.#held = this.#skipping ? Buffer.alloc(0) : Buffer.concat([this.#held, bytes]);
  }

  #line(): void {
    const progress = this.#skipping ? null : readProgressLine(this.#held.toString('utf8'));
    this.#held = Buffer.alloc(0);
    this.#skipping = false;
    if (progress === null) return;
    this.#latest = progress;
    if (!this.#waiting) this.#passAndWait();
  }

  #passAndWait(): void {
    if (this.#latest === null) return;
    this.#pass();
    this.#waiting = true;
    void this.#deps.clock.sleep(this.#deps.periods.progressMs, this.#over.signal).then(() => {
      this.#waiting = false;
      if (!this.#over.signal.aborted) this.#passAndWait();
    });
  }

  #pass(): void {
    if (this.#latest !== null) this.#give(this.#latest);
    this.#latest = null;
  }
}
