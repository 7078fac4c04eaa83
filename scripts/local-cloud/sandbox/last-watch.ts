// Ends everything that a machine host started when the host itself is killed: its stdin then closes.
// Argument: the environment entry that all processes of the host's machines carry.
import { endProcesses } from '#scripts/local-cloud/sandbox/processes.ts';

const [mark = ''] = process.argv.slice(2);
process.stdin.resume().once('end', async () => {
  await endProcesses({ marks: [mark], groups: [] });
  process.exit(0);
});
