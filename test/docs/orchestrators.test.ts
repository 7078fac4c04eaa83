// docs/orchestrators.md as a reader takes it: each block is of its language, each request is planned, each
// filter lets through what the page says. What the TypeScript block does is in test/e2e/orchestrators.test.ts.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { eventAttributes } from '#functions/notify/handler.ts';
import { requestSchema } from '#scripts/docs/schemas.ts';
import { compileAttributeFilter } from '#scripts/local-cloud/pubsub/filter.ts';
import { readMessage } from '#shared/plan/message.ts';
import { rejectedObject, resultObject } from '#shared/plan/objects.ts';
import { planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';
import { makeSettings } from '#test/plan/fixtures.ts';
import { isRequired } from '#test/required.ts';

const page = readFileSync('docs/orchestrators.md', 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => text,
  );

const SCRIPT = fileURLToPath(new URL('requests-of.py', import.meta.url));
const python = (words: readonly string[], input: string) =>
  spawnSync('python3', words, { input, encoding: 'utf8' });
const PARTS = [
  { part: 'python', language: 'python', probe: 'import ast', count: 5, requests: 3 },
  { part: 'python-yaml', language: 'yaml', probe: 'import yaml', count: 1, requests: 1 },
];

const request = new Ajv2020({ strict: false, formats: { 'date-time': true } }).compile(
  requestSchema(),
);

function expectPlanned(given: unknown): void {
  expect(request(given), JSON.stringify(request.errors)).toBe(true);
  const read = readMessage(given);
  if (read.kind === 'cancel') return;
  if (read.kind !== 'request') throw new Error(`it is read as ${read.kind}`);
  const settings = makeSettings();
  const parsed = parseRequest(read.value, { defaultRunId: 'none-given', settings });
  if (parsed.kind === 'invalid') throw new Error(JSON.stringify(parsed.faults));
  expect(parsed.request.runId).not.toBe('none-given');
  expect(planRun(parsed.request, settings).kind).toBe('planned');
}

test('the programs shown are those beside the other examples', () => {
  expect(blocks('ts')).toEqual([readFileSync('scripts/examples/run-and-wait.ts', 'utf8')]);
  expect(blocks('python')[0]).toBe(readFileSync('scripts/examples/run_and_wait.py', 'utf8'));
});

test('each message shown as JSON is one, and planned', () => {
  const messages = blocks('json').map((text) => JSON.parse(text));
  expect(messages.map((message) => Object.keys(message)[0])).toEqual(['runId', 'cancel']);
  for (const message of messages) expectPlanned(message);
});

describe.each(PARTS)('$language', ({ part, language, probe, count, requests }) => {
  const missing = python(['-c', probe], '').status !== 0;
  if (missing && isRequired(part)) {
    test(`${part} is there, as this run requires`, () => expect(missing).toBe(false));
  }
  test.skipIf(missing)(`each block is ${language}, and the requests in it are planned`, () => {
    const texts = blocks(language);
    expect(texts.length).toBe(count);
    const { stdout, stderr } = python([SCRIPT, language], JSON.stringify(texts));
    expect(stderr).toBe('');
    const found: unknown[] = JSON.parse(stdout);
    expect(found.length).toBe(requests);
    for (const message of found) expectPlanned(message);
  });
});

test('objects and rights on the page have the names that the functions use', () => {
  expect(page).toContain(`| \`${rejectedObject('<runId>', '<messageId>')}\` |`);
  expect(page).toContain(`| \`${resultObject('<runId>')}\` |`);
  for (const text of [...blocks('python').slice(0, 2), ...blocks('ts')]) {
    expect(text).toMatch(/runs\/rejected\/[^/]+\/[^/]+\.json.*\n?.*runs\/results\/[^/]+\.json/);
  }
  expect(page).toContain("objects/runs/$FOLDER/')");
});

type Announced = Parameters<typeof eventAttributes>[1];

describe('the filters', () => {
  const plan = { project: 'p', deployment: 'mayfly' };
  const ended = (runId: string, status: string, team: string) =>
    eventAttributes(
      resultObject(runId),
      { runId, status, labels: { team }, runtime: 'gce', phases: {} } as unknown as Announced,
      plan,
    );
  const rejected = (runId: string) =>
    eventAttributes(
      rejectedObject(runId, '7'),
      { runId, status: 'REJECTED', rejectedAt: '' } as unknown as Announced,
      plan,
    );
  const events = {
    'RUN ended': ended('RUN', 'SUCCEEDED', 'ml'),
    'RUN rejected': rejected('RUN'),
    'RUN-2 ended': ended('RUN-2', 'FAILED', 'ml'),
    'forecast-1 ended': ended('forecast-1', 'FAILED', 'other'),
    'forecast-1 rejected': rejected('forecast-1'),
  };
  const passed: Readonly<Record<string, readonly string[]>> = {
    'attributes.ce-subject = "RUN"': ['RUN ended', 'RUN rejected'],
    'hasPrefix(attributes.ce-subject, "forecast-")': ['forecast-1 ended', 'forecast-1 rejected'],
    'attributes.label-team = "ml" AND attributes.status != "SUCCEEDED"': ['RUN-2 ended'],
    'attributes.ce-type = "dev.mayfly.run.rejected"': ['RUN rejected', 'forecast-1 rejected'],
  };

  test('are those of the page, each within 256 bytes', () => {
    const shown = [...page.matchAll(/^\| `(.*attributes\..*?)` \|/gm)].map(([, filter]) => filter);
    expect(shown).toEqual(Object.keys(passed));
    expect(blocks('sh').join('')).toContain(`'${shown[1]}'`);
    for (const filter of shown) expect(Buffer.byteLength(filter ?? '')).toBeLessThanOrEqual(256);
  });

  test.each(Object.entries(passed))('%s', (filter, names) => {
    const lets = compileAttributeFilter(filter);
    if (typeof lets === 'string') throw new Error(lets);
    const through = Object.entries(events).filter(([, attributes]) => lets(attributes));
    expect(through.map(([name]) => name)).toEqual(names);
  });
});
