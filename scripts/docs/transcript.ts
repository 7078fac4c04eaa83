// The page of every verb as a new user would call it: the command itself, on deployments in the local
// cloud with a virtual clock, so that the text is the same each time.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { callIn, type Place, type Step } from '#scripts/docs/transcript/place.ts';
import { FILES, SECTIONS } from '#scripts/docs/transcript/steps.ts';

const HEAD = `# The command, verb by verb

Each verb as it answers on a deployment in the local cloud, on a virtual clock; a machine boots in 10
seconds there, and its container runs for 30. \`$?\` is the exit code where it is not 0. \`mayfly VERB
--help\` has all flags; \`--json\` gives data.
`;

export async function transcriptPage(): Promise<string> {
  const parts = [HEAD];
  let open: Place | null = null;
  let opener: unknown = null;
  try {
    for (const section of SECTIONS) {
      if (open === null || opener !== section.open) {
        await open?.[Symbol.asyncDispose]();
        open = await section.open();
        opener = section.open;
        for (const [name, value] of Object.entries(FILES)) {
          const path = join(open.folder, name);
          await mkdir(dirname(path), { recursive: true });
          await writeFile(path, typeof value === 'string' ? value : `${JSON.stringify(value)}\n`);
        }
      }
      parts.push(`## ${section.title}\n`, ...(section.text === '' ? [] : [`${section.text}\n`]));
      for (const step of section.steps) parts.push(await show(open, step));
    }
  } finally {
    await open?.[Symbol.asyncDispose]();
  }
  return parts.join('\n');
}

async function show(place: Place, step: Step): Promise<string> {
  if ('file' in step) {
    const text = await readFile(join(place.folder, step.file), 'utf8');
    return block(`$ cat ${step.file}\n${text}`);
  }
  const { words, after = 0, before, interrupt } = step;
  if (after > 0) await place.pass(after);
  if (before !== undefined) place.happen(before);
  const notes = [
    ...(after > 0 ? [`# ${after} seconds later\n`] : []),
    ...(before === undefined ? [] : [`# ${before}\n`]),
    ...(interrupt ? ['# with Ctrl-C\n'] : []),
  ];
  return block(`${notes.join('')}$ mayfly ${words.join(' ')}\n${await callIn(place, step)}`);
}

const block = (text: string) => `\`\`\`console\n${text}\`\`\`\n`;
