// Entry of the bundle that is the entrypoint of the Jobs' images.
import { processDeps } from '#shared/guest/supervisor/process-deps.ts';
import { supervise } from '#shared/guest/supervisor/supervise.ts';

process.exitCode = await supervise(processDeps());
// Sockets that are kept for a next call would hold the process for seconds.
process.exit();
