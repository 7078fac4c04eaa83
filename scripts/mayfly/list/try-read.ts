// Reads one of many objects: one that another version wrote, or that is no longer whole, must not hide the
// others.
import { CommandError } from '#scripts/mayfly/exit-codes.ts';
import { CloudError } from '#shared/cloud/errors.ts';

/** `unreadable`: why there is no value; null where it was read. */
export type Tried<Value> =
  | { readonly value: Value; readonly unreadable: null }
  | { readonly value: null; readonly unreadable: string };

export async function tryRead<Value>(reading: Promise<Value>): Promise<Tried<Value>> {
  try {
    return { value: await reading, unreadable: null };
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof CloudError)) throw error;
    return { value: null, unreadable: error.message };
  }
}
