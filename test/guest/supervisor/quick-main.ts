// The supervisor as a real process with periods that a test can wait for; otherwise as main.ts.
import { processDeps } from '#shared/guest/supervisor/process-deps.ts';
import { supervise } from '#shared/guest/supervisor/supervise.ts';

const real = processDeps();
// The test's end of the pipe closes when its process ends, however it does.
process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume();
const periods = { ...real.periods, ...JSON.parse(process.env.TEST_PERIODS ?? '{}') };
const cgroupDir = process.env.TEST_CGROUP ?? real.cgroupDir;
process.exitCode = await supervise({ ...real, periods, cgroupDir });
process.exit();
