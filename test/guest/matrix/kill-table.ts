// The kill matrix as a table for people: what each script said, what became of machine and run.
import { availableParallelism } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { BLOWS, type Blow } from '#test/guest/matrix/kill-blows.ts';
import { runKillCase, seenOf } from '#test/guest/matrix/kill-case.ts';
import { ROWS, type Row } from '#test/guest/matrix/kill-rows.ts';
import { type Truth, truthOf } from '#test/guest/matrix/kill-truth.ts';

const WIDTHS = [22, 20, 34, 13, 18, 24];
const HEAD = ['struck in', 'by', "the script's last word", 'machine', 'a second boot', 'the run'];

/** Prints every cell; false when one is not as the rules say. */
export async function printKillTable(print: (line: string) => void): Promise<boolean> {
  print(lineOf(HEAD));
  const cells = ROWS.flatMap((row) => BLOWS.map((blow) => ({ row, blow })));
  const waiting = cells.map(() => Promise.withResolvers<readonly [string, boolean]>());
  let next = 0;
  const work = async () => {
    for (let at = next++; at < cells.length; at = next++) {
      const cell = cells[at];
      if (cell !== undefined) waiting[at]?.resolve(await runCell(cell.row, cell.blow));
    }
  };
  const workers = Promise.all(Array.from({ length: 2 * availableParallelism() }, work));
  let right = true;
  for (const { promise } of waiting) {
    const [line, isRight] = await promise;
    print(line);
    right &&= isRight;
  }
  await workers;
  return right;
}

async function runCell(row: Row, blow: Blow): Promise<readonly [string, boolean]> {
  const seen = seenOf(await runKillCase(row, blow));
  const truth = truthOf(row, blow);
  const isRight = isDeepStrictEqual(seen, truth);
  const line = lineOf([row.name, blow.name, ...wordsOf(seen)]);
  return [isRight ? line : `${line}\n  expected: ${wordsOf(truth).join(', ')}`, isRight];
}

function wordsOf({ claimed, marker, selfDeleted, worksAfterReboot, run }: Truth): string[] {
  const code = marker?.exit_code === null ? '' : ` ${marker?.exit_code}`;
  const said = marker && `${marker.status} ${marker.cause}${code}, ${marker.step}`;
  const boot = worksAfterReboot === 0 ? 'does not work' : 'works';
  return [
    said ?? (claimed ? 'none' : 'none, no claim'),
    selfDeleted ? 'deletes itself' : 'stays',
    worksAfterReboot === null ? '–' : boot,
    `${run.status} ${run.cause}`,
  ];
}

function lineOf(words: readonly string[]): string {
  return words
    .map((word, index) => word.padEnd(WIDTHS[index] ?? 0))
    .join('  ')
    .trimEnd();
}
