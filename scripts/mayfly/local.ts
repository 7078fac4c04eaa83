// `mayfly local`: a whole deployment on this machine, on one port, until stopped.
import {
  clientEnvironment,
  dataFolderLine,
  exampleCommands,
  exportLines,
} from '#scripts/local-cloud/deployment/client-lines.ts';
import { openInstallation } from '#scripts/local-cloud/deployment/installation.ts';
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { EXIT_DONE, usageError } from '#scripts/mayfly/exit-codes.ts';
import { type Terminal, untilAborted } from '#scripts/mayfly/terminal.ts';

export const localVerb: Verb = {
  name: 'local',
  operands: '',
  operandsMin: 0,
  operandsMax: 0,
  takesRest: false,
  summary: 'runs the local cloud and a deployment in it, until Ctrl-C',
  details: [
    'Prints the environment lines that point this command, gcloud and the client libraries at it. With',
    '--json: these variables as an object, on one line.',
  ],
  flags: {
    port: { value: 'PORT', help: 'its port on 127.0.0.1 (default: a free one)' },
    logs: { help: 'the functions’ log lines, on stderr' },
  },
  run: runLocal,
};

async function runLocal(call: Call, terminal: Terminal): Promise<number> {
  const interruption = terminal.interruption();
  terminal.move('starting the local cloud and the functions');
  await using installation = await openInstallation({
    port: readPort(call.text('port')),
    environment: terminal.environment,
    objects: [],
    onLog: (name, line) => {
      if (call.has('logs')) terminal.note(`${name}: ${line}`);
    },
  });
  terminal.move(null);
  const { deployment } = installation;
  const environment = clientEnvironment(deployment);
  const lines = call.has('json') ? [JSON.stringify(environment)] : exportLines(environment);
  terminal.write(`${lines.join('\n')}\n`);
  terminal.note(`the local cloud is up at ${deployment.baseUrl}; ${installation.containers}`);
  terminal.note('for example, with these lines in another terminal:');
  for (const command of exampleCommands(deployment)) terminal.note(`  ${command}`);
  terminal.note(`${dataFolderLine(deployment)}; Ctrl-C ends everything`);
  await untilAborted(interruption);
  return EXIT_DONE;
}

function readPort(text: string | null): number {
  if (text === null) return 0;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw usageError(`--port ${JSON.stringify(text)} is no port from 0 to 65535`);
}
