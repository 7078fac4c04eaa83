// The mutation score by file, from Stryker's report (mutation-testing-report-schema): detected by all
// valid mutants, where a time-out counts as detected and what does not compile or was ignored not at all.

export interface Mutant {
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly location: { readonly start: { readonly line: number } };
}

export interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly Mutant[] }>>;
}

export interface FileScore {
  readonly file: string;
  readonly detected: number;
  readonly survived: number;
  readonly uncovered: number;
  /** Null when there was nothing to change. */
  readonly percent: number | null;
}

const DETECTED = ['Killed', 'Timeout'];

export function scoreFiles(report: Report): readonly FileScore[] {
  const files = Object.entries(report.files).map(([file, { mutants }]) => scoreOf(file, mutants));
  return files.sort((left, right) => (left.percent ?? 100) - (right.percent ?? 100));
}

/** All files as one. */
export function scoreAll(report: Report): FileScore {
  return scoreOf(
    'all',
    Object.values(report.files).flatMap(({ mutants }) => mutants),
  );
}

function scoreOf(file: string, mutants: readonly Mutant[]): FileScore {
  const count = (statuses: readonly string[]) =>
    mutants.filter(({ status }) => statuses.includes(status)).length;
  const detected = count(DETECTED);
  const survived = count(['Survived']);
  const uncovered = count(['NoCoverage']);
  const valid = detected + survived + uncovered;
  return {
    file,
    detected,
    survived,
    uncovered,
    percent: valid === 0 ? null : (100 * detected) / valid,
  };
}

export function formatScore({ file, detected, survived, uncovered, percent }: FileScore): string {
  const shown = percent === null ? '-' : percent.toFixed(1);
  const counts = `${detected} detected, ${survived} survived, ${uncovered} not covered`;
  return `${shown.padStart(6)} %  ${file.padEnd(40)} ${counts}`;
}

/** What no test noticed, in the order of the lines. */
export function listSurvivors(report: Report): readonly string[] {
  return Object.entries(report.files).flatMap(([file, { mutants }]) =>
    mutants
      .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
      .toSorted((left, right) => left.location.start.line - right.location.start.line)
      .map(({ location, mutatorName, replacement = '' }) => {
        const text = replacement.replace(/\s+/g, ' ').slice(0, 80);
        return `${file}:${location.start.line} ${mutatorName}: ${text}`;
      }),
  );
}
