// Guest scripts carry every part that a machine may need; a run's script keeps those that it does need. A
// part is a section between two marker lines, or one line that ends in ` # with PART`.

export const PARTS = [
  'apt',
  'cos-gpu',
  'full-log',
  'gpu',
  'gpu-idle',
  'image-credentials',
  'inputs',
  'local-ssd',
  'login',
  'metadata-wall',
  'outputs',
  'package',
  'secrets',
  'spot',
  'transfer',
] as const;
export type ScriptPart = (typeof PARTS)[number];

const SECTION = /^# --- with ([a-z-]+) ---\n([\s\S]*?)^# --- end of \1 ---\n/gm;
const LINE = /^(.*) # with ([a-z-]+)\n/gm;
const SCRIPTS_CACHED_MAX = 64;

/** Constant script texts and parts alone: nothing of a request is kept. */
const selected = new Map<string, Map<string, string>>();

/** A text as a section of a part. */
export function partSection(part: string, text: string): string {
  return `# --- with ${part} ---\n${text}# --- end of ${part} ---\n`;
}

/** The script without the parts that are not wanted, and without marks. */
export function selectParts(script: string, wanted: ReadonlySet<ScriptPart>): string {
  const key = [...wanted].sort().join();
  let ofScript = selected.get(script);
  if (ofScript === undefined) {
    if (selected.size > 2) selected.clear();
    ofScript = new Map();
    selected.set(script, ofScript);
  }
  const known = ofScript.get(key);
  if (known !== undefined) return known;
  const has = (part: string) => [...wanted].some((name) => name === part);
  const text = script
    .replace(SECTION, (_, part: string, body: string) => (has(part) ? body : ''))
    .replace(LINE, (_, line: string, part: string) => (has(part) ? `${line}\n` : ''));
  if (ofScript.size >= SCRIPTS_CACHED_MAX) ofScript.clear();
  ofScript.set(key, text);
  return text;
}
