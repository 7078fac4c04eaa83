// Where the guest scripts' sources are.
import { join } from 'node:path';

export const GUEST_FOLDER = join(import.meta.dirname, '..', '..', 'shared', 'guest');
export const PIECES = join(GUEST_FOLDER, 'pieces');
