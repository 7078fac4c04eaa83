// `npm run bench -- cold [--rounds N]`: each function from the bundle, unpacked and prepared as the
// platform does it, beside a bare node:http server on the same Node, taking turns. First from process
// start to the first answer that the framework gives to an authenticated request, which needs no
// client; then to the first message handled against the local cloud, beside a second one, which finds
// the clients loaded.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import {
  BARE_SERVERS,
  type Environment,
  FUNCTION_PROGRAM,
  functionEnvironment,
  prepareBundle,
  startProgram,
} from '#scripts/bench/cold-start.ts';
import { median } from '#scripts/bench/measure.ts';
import { localAccount } from '#scripts/local-cloud/deployment/environment.ts';
import { openInstallation } from '#scripts/local-cloud/deployment/installation.ts';
import { FUNCTION_NAMES, type FunctionName } from '#scripts/local-cloud/deployment/inventory.ts';

const ROUNDS = 9;
const RATIO_AIM = 1.5;

/** What a function is told first. None of them makes a machine. */
const MESSAGES: Readonly<Record<FunctionName, object>> = {
  submit: push('{}', {}),
  finalize: push('{}', { eventType: 'OBJECT_FINALIZE', objectId: 'runs/bench/attempts/1/done' }),
  signals: push('{}', {}),
  notify: push('{}', { eventType: 'OBJECT_FINALIZE', objectId: 'runs/bench/result.json' }),
  sweep: { dryRun: true },
};

export async function benchCold(options: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...options], options: { rounds: { type: 'string' } } });
  const rounds = Number(values.rounds ?? ROUNDS);
  await using bundle = await prepareBundle();
  print(`zip ${bundle.zipBytes} bytes; load of this machine ${loadavg()[0]?.toFixed(1)}`);
  await compareStarts(bundle.path, rounds);
  await handleMessages(bundle.path, Math.ceil(rounds / 3));
}

async function compareStarts(folder: string, rounds: number): Promise<void> {
  const bare = Object.keys(BARE_SERVERS).map((program) => ({ name: program, program }));
  const own = FUNCTION_NAMES.flatMap((name) => [
    { name, program: FUNCTION_PROGRAM, environment: functionEnvironment(name) },
    {
      name: '  no compile cache',
      program: FUNCTION_PROGRAM,
      environment: { ...functionEnvironment(name), NODE_DISABLE_COMPILE_CACHE: '1' },
    },
  ]);
  const variants: { name: string; program: string; environment?: Environment }[] = [
    ...bare,
    ...own,
  ];
  const figures = variants.map((): number[] => []);
  for (let round = -1; round < rounds; round += 1) {
    for (const [index, { program, environment = {} }] of variants.entries()) {
      await using started = await startProgram(folder, program, environment);
      // The framework answers this path by itself: no code of the function is called.
      const ms = await started.ask('/favicon.ico', '', [404]);
      // In the first round files are read from disk for the first time.
      if (round >= 0) figures[index]?.push(ms);
    }
  }
  const medians = figures.map(median);
  print(`first answer, ${rounds} rounds   median ms   × bare.mjs   × bare.cjs`);
  for (const [index, { name }] of variants.entries()) {
    const ms = medians[index] ?? Number.NaN;
    const [times, strict] = bare.map((_, other) => ms / (medians[other] ?? Number.NaN));
    const mark = (times ?? 0) > RATIO_AIM ? `   above ${RATIO_AIM}` : '';
    const ratios = `${times?.toFixed(2).padStart(10)}${strict?.toFixed(2).padStart(13)}`;
    print(`  ${name.padEnd(24)}${ms.toFixed(0).padStart(6)}${ratios}${mark}`);
  }
}

async function handleMessages(folder: string, rounds: number): Promise<void> {
  await using installation = await openInstallation({
    port: 0,
    environment: process.env,
    objects: [],
    onLog: () => {},
  });
  const { baseUrl } = installation.deployment;
  const bareMs: number[] = [];
  const parts = FUNCTION_NAMES.map((name) => ({ name, figures: [] as (readonly number[])[] }));
  for (let round = 0; round < rounds; round += 1) {
    {
      await using bare = await startProgram(folder, 'bare.mjs', {});
      bareMs.push(bare.listensMs);
    }
    for (const { name, figures } of parts) {
      await using metadata = await installation.cloud.openMetadata({
        kind: 'account',
        email: localAccount(name),
      });
      await using started = await startProgram(folder, FUNCTION_PROGRAM, {
        ...functionEnvironment(name, baseUrl),
        ...{ GCE_METADATA_HOST: metadata.host, METADATA_SERVER_DETECTION: 'assume-present' },
        CLOUDSDK_CONFIG: '/nonexistent',
      });
      const body = JSON.stringify(MESSAGES[name]);
      const firstMs = await started.ask('/', body, [200, 204]);
      const secondMs = await started.ask('/', body, [200, 204]);
      figures.push([started.listensMs, firstMs, secondMs - firstMs]);
    }
  }
  const nodeMs = median(bareMs);
  print(
    '\nstart → first message handled, ms   = bare server + our start + message   (a second one)',
  );
  for (const { name, figures } of parts) {
    const [listens = 0, first = 0, second = 0] = [0, 1, 2].map((part) =>
      median(figures.map((figure) => figure[part] ?? Number.NaN)),
    );
    const columns = [first, nodeMs, listens - nodeMs, first - listens];
    const [total, ...rest] = columns.map((ms) => ms.toFixed(0).padStart(6));
    print(`  ${name.padEnd(24)}${total}      = ${rest.join('   + ')}   (${second.toFixed(0)})`);
  }
}

function push(text: string, attributes: Readonly<Record<string, string>>): object {
  const data = Buffer.from(text).toString('base64');
  const message = { data, attributes, messageId: '1', publishTime: '2026-01-01T00:00:00Z' };
  return { message, subscription: 'projects/local-project/subscriptions/bench' };
}

const print = (line: string) => process.stdout.write(`${line}\n`);
