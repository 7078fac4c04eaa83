// `npm run bench -- plan`: from a validated request to the JSON text of the insert call, beside
// JSON.parse + JSON.stringify of that same text. Every iteration has another run id, other arguments
// and another environment; nothing is kept between requests but the constant text of the scripts.
import { type Measurement, measure, median, ratio } from '#scripts/bench/measure.ts';
import { localSettings } from '#scripts/local-cloud/deployment/environment.ts';
import { readGuestScripts } from '#shared/guest/scripts.ts';
import type { InstanceBody, RunPlan, RunRequest } from '#shared/plan/model.ts';
import { planIntent, planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';

const ROUNDS = { warmups: 4, rounds: 15, iterations: 200 } as const;
const RATIO_AIM = 3;

const settings = localSettings().plan;
const scripts = readGuestScripts();

export async function benchPlan(): Promise<void> {
  const count = (ROUNDS.warmups + ROUNDS.rounds) * ROUNDS.iterations;
  const jsons = Array.from({ length: count }, (_, index) => makeRequest(index));
  const requests = jsons.map(validate);
  const texts = requests.map((request) => JSON.stringify(bodyOf(planOf(request))));
  const plans = requests.map(planOf);
  const bodies = plans.map(bodyOf);
  const at = <Item>(items: readonly Item[], index: number): Item => items[index] as Item;
  const [whole, baseline, ...phases] = measure(
    [
      {
        name: 'validated request → text',
        run: (i) => JSON.stringify(bodyOf(planOf(at(requests, i)))),
      },
      { name: 'JSON.parse + JSON.stringify', run: (i) => JSON.stringify(JSON.parse(at(texts, i))) },
      { name: 'validation (not in the ratio)', run: (i) => validate(at(jsons, i)) },
      { name: 'plan of the run', run: (i) => planOf(at(requests, i)) },
      { name: 'instance body and scripts', run: (i) => bodyOf(at(plans, i)) },
      { name: 'JSON.stringify', run: (i) => JSON.stringify(at(bodies, i)) },
    ],
    ROUNDS,
  );
  if (whole === undefined || baseline === undefined) throw new Error('nothing was measured');
  print(`insert call of ${median(texts.map((text) => text.length)).toFixed(0)} characters`);
  for (const figure of [whole, baseline, ...phases]) print(line(figure));
  print(`requests a second: ${(1e6 / median(whole.microseconds)).toFixed(0)}`);
  print(`ratio to the baseline: ${ratio(whole, baseline).toFixed(2)} (aim: ${RATIO_AIM})`);
}

/** A request in the middle of the ordinary: 20 arguments, 20 variables, two machine types. */
function makeRequest(index: number): Readonly<Record<string, unknown>> {
  return {
    runId: `forecast-${index}.eu`,
    image: 'europe-docker.pkg.dev/p/r/forecast:v3',
    args: Array.from({ length: 20 }, (_, i) => `--series-${i}=αβ "${index * i}" $y 'z' \\`),
    env: Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [
        `NAME_${i}_${index % 97}`,
        `value ${index + i}\n"$(x)"`,
      ]),
    ),
    resources: { machineTypes: ['n2-standard-8', 'n2d-standard-8'] },
    timeoutSeconds: 3600,
  };
}

function validate(json: unknown): RunRequest {
  const parsed = parseRequest(json, { defaultRunId: null, settings });
  if (parsed.kind === 'valid') return parsed.request;
  throw new Error(`the benchmark’s request is refused: ${JSON.stringify(parsed.faults)}`);
}

function planOf(request: RunRequest): RunPlan {
  const planned = planRun(request, settings);
  if (planned.kind === 'planned') return planned.plan;
  throw new Error(`the benchmark’s request has no plan: ${JSON.stringify(planned.faults)}`);
}

function bodyOf(plan: RunPlan): InstanceBody {
  const [candidate] = plan.candidates;
  if (candidate === undefined) throw new Error('a plan without a candidate');
  const { body } = planIntent({
    plan,
    settings,
    scripts,
    inputs: [],
    attempt: 1,
    intent: 1,
    nonce: '0123456789abcdef0123456789abcdef',
    candidate,
    createdSeconds: 1_796_126_400,
    pinnedImage: null,
  });
  return body;
}

function line(figure: Measurement): string {
  const low = Math.min(...figure.microseconds);
  const high = Math.max(...figure.microseconds);
  const shown = [low, median(figure.microseconds), high].map((value) => value.toFixed(1));
  return `${figure.name.padEnd(32)} ${shown.join(' / ')} µs (min / median / max of ${ROUNDS.rounds} rounds)`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
