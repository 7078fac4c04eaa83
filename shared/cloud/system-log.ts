// The log of a deployed function: Cloud Run reads what is written to standard output.
import { createLog } from '#shared/cloud/log.ts';

export const systemLog = createLog((line) => process.stdout.write(line));
