// The reference page: everything on it that stands in code is taken from there when the page is made, and
// every refusal on it is the code's answer to the request beside it.
import { readFileSync } from 'node:fs';
import { answersPart, endingsPart, runExitCodes } from '#scripts/docs/reference/answers.ts';
import { containerPart } from '#scripts/docs/reference/container.ts';
import { playExampleRun, type ReferenceRun } from '#scripts/docs/reference/example-run.ts';
import { code, plain, table } from '#scripts/docs/reference/markdown.ts';
import { namesPart } from '#scripts/docs/reference/names.ts';
import { requestPart } from '#scripts/docs/reference/request.ts';
import { rulesPart } from '#scripts/docs/reference/rules.ts';
import { settingsPart } from '#scripts/docs/reference/settings.ts';
import { variablesPart } from '#scripts/docs/reference/variables.ts';
import * as exits from '#scripts/mayfly/exit-codes.ts';
import { MESSAGE_BYTES_MAX } from '#shared/plan/limits.ts';

export async function referencePage(): Promise<string> {
  const parts = partsOf(await playExampleRun());
  const contents = Object.entries(parts).map(([title, text]) => {
    const sections = [...text.matchAll(/^### (.+)$/gm)].map(([, section = '']) => linkTo(section));
    return `- ${linkTo(title)}${sections.length === 0 ? '' : `: ${sections.join(', ')}`}`;
  });
  const chapters = Object.entries(parts).map(([title, text]) => `## ${title}\n\n${text}`);
  return `${HEAD}\n${contents.join('\n')}\n\n${chapters.join('\n')}`;
}

const HEAD = `# Reference

What users and programs may rely on. The page is made from the code (${code('npm run docs')}), like the JSON
Schemas of [request](schemas/request.schema.json), [result](schemas/result.schema.json),
[event](schemas/event.schema.json) and [marker](schemas/marker.schema.json). Log lines:
[log-events.md](log-events.md); verbs: [commands.md](commands.md).
`;

const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');

const linkTo = (title: string) => `[${title}](#${anchorOf(title)})`;

const read = (path: string) => readFileSync(path, 'utf8');

function partsOf(run: ReferenceRun): Readonly<Record<string, string>> {
  return {
    Messages: messagesPart(),
    'The request': `A field that the runtime cannot honour is refused, never ignored; so is a field that there is not.

${requestPart()}`,
    'Rules that JSON Schema cannot say': `Each of these requests is right by its schema, and refused with what stands
beside it. Settings are those of a new deployment in ${code('europe-west1')} and ${code('europe-west4')}.

${rulesPart()}`,
    'What the container sees': containerPart(read('shared/guest/pieces/container.sh')),
    'What comes back': answersPart(run),
    'Status and cause': `The closed table of endings. What to check and how to mend it stands behind each cause. Attempts after
the first count by cause; no cause that is not named here is tried again.

${endingsPart(symptomsOf(read('docs/operations.md')))}`,
    'Exit codes': exitCodesPart(),
    Names: namesPart(run),
    Settings: `Environment variables of the functions. An empty one is an unset one; a wrong or missing one stops the
start, and all faults are named at once. Terraform sets some by variables of its own, the others by
${code('settings')}.

${settingsPart(read('terraform/functions.tf'))}`,
    'Variables of Terraform': `Of the root module (${code('terraform/')}, or ${code('mayfly deploy --var NAME=VALUE')}).

${variablesPart(read('terraform/variables.tf'))}`,
  };
}

function messagesPart(): string {
  const rows = [
    [code('{ "image": …, … }'), 'asks for a run, see [the request](#the-request)'],
    [
      code('{ "cancel": "<runId>", "reason": "…" }'),
      'ends a run, whatever it does; the reason may be left out',
    ],
  ];
  return `Data of a message on the topic ${code('<deployment>-run-requests')}: JSON in UTF-8, ${MESSAGE_BYTES_MAX} bytes at most.

${table(['data', 'does'], rows)}
${code('runId')} is the idempotency key: equal content under a known id continues, or announces the finished result
again; other content is rejected as ${code('conflict')}. A right request is acknowledged when it is stored, a
wrong one when its rejection is; what is no request at all becomes a dead letter.

The attribute ${code('traceparent')} (W3C), or else ${code('googclient_traceparent')}, which Google's clients add, is
handed on to logs, container and event. Other attributes are not looked at.
`;
}

/** What is seen of each cause, as the page of operations says it. */
function symptomsOf(page: string): (cause: string) => string {
  return (cause) => {
    const section = page.split(`### \`${cause}\`\n`)[1]?.split('\n### ')[0] ?? '';
    const [, symptom] = /\*\*Symptom\.\*\*\s+([\s\S]*?)\s+\*\*Check\.\*\*/.exec(section) ?? [];
    if (symptom === undefined)
      throw new Error(`operations.md does not say what ${cause} looks like`);
    return symptom;
  };
}

function exitCodesPart(): string {
  const rows = [
    [exits.EXIT_DONE, 'done'],
    [exits.EXIT_USAGE, 'the command line or the request is wrong; nothing was sent'],
    [
      exits.EXIT_REFUSED,
      'refused by the platform, or it could not be reached; doctor: a fault is there',
    ],
    [exits.EXIT_NOT_FOUND, 'nothing found'],
    [exits.EXIT_INTERRUPTED, 'Ctrl-C'],
  ] as const;
  return `Of every verb:

${table(
  ['code', 'means'],
  rows.map(([number, text]) => [code(String(number)), plain(text)]),
)}
${code('submit --wait')} and ${code('watch')} end with the container's own code when there is one other than 0, else:

${runExitCodes()}`;
}
