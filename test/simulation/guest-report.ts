// The marker as a guest writes it: over the generation that was read, never over a terminal one.
import { CloudError } from '#shared/cloud/errors.ts';
import { hashNonce } from '#shared/lifecycle/marker.ts';
import type { GuestCalls } from '#test/simulation/guest-calls.ts';

interface Reporter {
  readonly runId: string;
  readonly attempt: number;
  readonly object: string;
  readonly nonce: string;
  /** In seconds, by its own clock. */
  readonly bootEpoch: number;
}

const IMAGE_DIGEST = `sha256:${'ab'.repeat(32)}`;
const PEAK_MEMORY_BYTES = 256 * 1024 * 1024;

export class GuestReport {
  readonly #machine: { readonly id: string; readonly name: string; readonly zone: string };
  readonly #calls: GuestCalls;
  readonly #reporter: Reporter;

  constructor(
    machine: { readonly id: string; readonly name: string; readonly zone: string },
    calls: GuestCalls,
    reporter: Reporter,
  ) {
    this.#machine = machine;
    this.#calls = calls;
    this.#reporter = reporter;
  }

  /** `ended`: another terminal marker stands there already; `given-up` after so many tries. */
  async write(
    status: string,
    change: object,
    tries = Number.POSITIVE_INFINITY,
  ): Promise<'written' | 'ended' | 'given-up'> {
    const text = JSON.stringify(this.#marker(status, change));
    try {
      return await this.#calls.persist(() => this.#tryWrite(text), tries);
    } catch (error) {
      if (error instanceof CloudError) return 'given-up';
      throw error;
    }
  }

  async #tryWrite(text: string): Promise<'written' | 'ended'> {
    const { object } = this.#reporter;
    const { store } = this.#calls;
    for (;;) {
      const read = await store.read(object);
      const live = read.kind === 'found' ? new TextDecoder().decode(read.bytes) : null;
      if (live === text) return 'written';
      const status = live === null ? null : JSON.parse(live).status;
      if (status === 'SUCCEEDED' || status === 'FAILED') return 'ended';
      const ifGeneration = read.kind === 'found' ? read.generation : '0';
      const reply = await store.write(object, text, { ifGeneration });
      if (reply.kind === 'written') return 'written';
      await this.#calls.pause(1000);
    }
  }

  #marker(status: string, change: object): object {
    const { runId, attempt, nonce, bootEpoch } = this.#reporter;
    const nowEpoch = Math.floor(this.#calls.clock.nowMs() / 1000);
    const running = status === 'RUNNING';
    return {
      status,
      exit_code: null,
      instance: this.#machine.name,
      zone: this.#machine.zone,
      detail: '',
      boot_epoch: bootEpoch,
      exec_start_epoch: bootEpoch,
      end_epoch: running ? null : nowEpoch,
      execute_s: running ? null : nowEpoch - bootEpoch,
      schema: 1,
      run_id: runId,
      attempt,
      step: 'run',
      cause: null,
      boot_id: `boot-${this.#machine.id}`,
      image_digest: IMAGE_DIGEST,
      peak_memory_bytes: running ? null : PEAK_MEMORY_BYTES,
      gpu_count: 0,
      pull_end_epoch: bootEpoch,
      outputs: [],
      nonce: running ? hashNonce(nonce) : nonce,
      ...change,
    };
  }
}
