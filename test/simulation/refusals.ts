// Tells of every refusal of a place that submit is answered with, at once or by the operation.
import type { Compute } from '#shared/cloud/compute.ts';

export interface Refusal {
  readonly how: 'at once' | 'by the operation';
  readonly code: string;
  readonly message: string;
  /** HTTP; null: none was heard. */
  readonly status: number | null;
}

export function tellRefusals(compute: Compute, tell: (refusal: Refusal) => void): Compute {
  return {
    ...compute,
    insertInstance: async (zone, requestId, body) => {
      const reply = await compute.insertInstance(zone, requestId, body);
      if (reply.kind === 'accepted') return reply;
      const { code, message, status = null } = reply.error;
      const word = 'reason' in reply.error ? reply.error.reason : code;
      tell({ how: 'at once', code: word, message, status });
      return reply;
    },
    getOperation: async (zone, name) => {
      const reply = await compute.getOperation(zone, name);
      const [error] = reply.kind === 'there' ? reply.operation.errors : [];
      if (error !== undefined) tell({ how: 'by the operation', ...error, status: null });
      return reply;
    },
  };
}
