// Counts the outcome of a test run from vitest's JSON report.
import * as z from 'zod';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
});

/**
 * Counts tests by outcome. A file that failed without one failed test of its own (it could not be
 * loaded, a hook threw) is one failure; so is a run that failed although no test did (an error
 * outside of any test) or that left no readable report.
 *
 * @param reportText vitest's JSON report; null when there is none
 * @param exitedWell true when vitest ended with exit code 0
 */
export function countTests(reportText: string | null, exitedWell: boolean): Counts {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of readReport(reportText)) {
    const failed = file.assertionResults.filter((test) => test.status === 'failed').length;
    const passed = file.assertionResults.filter((test) => test.status === 'passed').length;
    counts.passed += passed;
    counts.failed += failed === 0 && file.status === 'failed' ? 1 : failed;
    counts.skipped += file.assertionResults.length - failed - passed;
  }
  if (!exitedWell && counts.failed === 0) counts.failed = 1;
  return counts;
}

function readReport(text: string | null) {
  if (text === null) return [];
  try {
    return reportSchema.parse(JSON.parse(text)).testResults;
  } catch {
    return []; // a half-written report: the exit code still says that the run failed
  }
}

/** The one line that CI reads: `12 passed, 0 failed`, with `, 1 skipped` when there were any. */
export function formatCounts(counts: Counts): string {
  const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`;
  return `${counts.passed} passed, ${counts.failed} failed${skipped}`;
}
