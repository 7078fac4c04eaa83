// What a machine says of its boot before it holds a claim: three guest attributes, written by the
// startup script and gone with the machine. Read by the sweep's boot watchdog and by `mayfly watch`,
// and never more than a hint: who holds the claim speaks by its marker.
import { STEPS, type Step } from '#shared/lifecycle/marker.ts';

export interface BootReport {
  /** `booting`, `ready` or `failed:<step>`; '' where the machine has not said. */
  readonly status: string;
  /** The end of the script's own log. */
  readonly detail: string;
  readonly bootId: string;
}

/** Lines of the log that a person is shown. */
export const BOOT_LINES_MAX = 25;
const FAILED = /^failed:([a-z]+)$/;

/** Null when there are no attributes, or they could not be read. */
export function readBootReport(
  attributes: Readonly<Record<string, string>> | null,
): BootReport | null {
  if (attributes === null) return null;
  const { status = '', detail = '', boot_id: bootId = '' } = attributes;
  return { status, detail, bootId };
}

/** The step at which the boot failed; null while it has not. A step of another version is `boot`. */
export function failedStep(report: BootReport): Step | null {
  const name = FAILED.exec(report.status)?.[1];
  return name === undefined ? null : (STEPS.find((step) => step === name) ?? 'boot');
}

/** The last lines of the log, as many as fit into so many characters. */
export function bootLines(report: BootReport, charactersMax: number): string {
  const lines = report.detail.trimEnd().split('\n').slice(-BOOT_LINES_MAX);
  while (lines.length > 1 && lines.join('\n').length > charactersMax) lines.shift();
  return lines.join('\n').slice(-charactersMax);
}

/** One sentence and the log: the detail of an ending without the machine's last word. */
export function describeBoot(report: BootReport, charactersMax: number): string {
  const step = failedStep(report);
  const boot = report.bootId === '' ? '' : ` (boot ${report.bootId})`;
  const said =
    step === null
      ? `its machine never began to work; the last it said of itself is ${JSON.stringify(report.status)}${boot}`
      : `step ${step} failed on its machine${boot}`;
  const log = bootLines(report, charactersMax - said.length - 2);
  return log === '' ? said : `${said}:\n${log}`;
}
