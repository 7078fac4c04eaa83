// `docker run` and `docker create`: their flags read into one plain object. Flags that a plain process
// cannot honour (limits, capabilities, devices) are accepted and have no effect here.
import { readFileSync } from 'node:fs';
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';
import {
  type Flags,
  type FlagTable,
  lastValue,
  parseFlags,
} from '#scripts/local-cloud/sandbox/flags.ts';

export interface Mount {
  /** Absolute path on the machine; null: an empty folder of the container's own. */
  readonly source: string | null;
  /** Absolute path in the container. */
  readonly target: string;
}

export interface RunOptions {
  readonly name: string | null;
  readonly detach: boolean;
  /** `--rm`. */
  readonly remove: boolean;
  readonly image: string;
  readonly args: readonly string[];
  readonly entrypoint: string | null;
  readonly workingDir: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  /** For example `SIGTERM`. */
  readonly stopSignal: string;
  readonly stopTimeoutSeconds: number;
  readonly cidFile: string | null;
}

const STOP_TIMEOUT_SECONDS = 10;

const WITHOUT_EFFECT = [
  ...['add-host', 'annotation', 'blkio-weight', 'cap-add', 'cap-drop', 'cgroup-parent', 'cgroupns'],
  ...['cpu-shares', 'cpus', 'cpuset-cpus', 'device', 'dns', 'gpus', 'group-add', 'hostname', 'ipc'],
  ...['isolation', 'log-driver', 'log-opt', 'memory', 'memory-reservation', 'memory-swap'],
  ...['network', 'net', 'oom-score-adj', 'pid', 'pids-limit', 'platform', 'publish', 'pull'],
  ...[
    'restart',
    'runtime',
    'security-opt',
    'shm-size',
    'sysctl',
    'ulimit',
    'user',
    'userns',
    'uts',
  ],
];

const WITH_EFFECT = [
  ...['cidfile', 'entrypoint', 'env', 'env-file', 'label', 'mount', 'name', 'stop-signal'],
  ...['stop-timeout', 'tmpfs', 'volume', 'workdir'],
];

const RUN_FLAGS: FlagTable = {
  values: [...WITHOUT_EFFECT, ...WITH_EFFECT],
  switches: [
    ...['detach', 'init', 'interactive', 'oom-kill-disable', 'privileged', 'quiet', 'read-only'],
    ...['rm', 'sig-proxy', 'tty', 'no-healthcheck'],
  ],
  short: {
    ...{ d: 'detach', e: 'env', h: 'hostname', i: 'interactive', l: 'label', m: 'memory' },
    ...{ p: 'publish', q: 'quiet', t: 'tty', u: 'user', v: 'volume', w: 'workdir' },
  },
  interspersed: false,
  usageExitCode: 125,
};

/**
 * Reads the tokens after `docker run`. `clientEnv` is what `-e NAME` without a value takes its value from.
 * Throws a DockerError (125) for what docker would refuse.
 */
export function parseRunOptions(
  tokens: readonly string[],
  clientEnv: Readonly<Record<string, string | undefined>>,
): RunOptions {
  const flags = parseFlags(tokens, RUN_FLAGS);
  const [image, ...args] = flags.words;
  if (image === undefined) {
    throw new DockerError('"docker run" requires at least 1 argument: an image', 125);
  }
  return {
    name: lastValue(flags, 'name'),
    detach: flags.switches.has('detach'),
    remove: flags.switches.has('rm'),
    image,
    args,
    entrypoint: lastValue(flags, 'entrypoint'),
    workingDir: lastValue(flags, 'workdir'),
    env: readEnv(flags, clientEnv),
    labels: Object.fromEntries((flags.values.get('label') ?? []).map(splitPair)),
    mounts: readMounts(flags),
    stopSignal: lastValue(flags, 'stop-signal') ?? 'SIGTERM',
    stopTimeoutSeconds: Number(lastValue(flags, 'stop-timeout') ?? STOP_TIMEOUT_SECONDS),
    cidFile: lastValue(flags, 'cidfile'),
  };
}

function readEnv(
  flags: Flags,
  clientEnv: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const lines = (flags.values.get('env-file') ?? []).flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('#')),
  );
  const env: Record<string, string> = {};
  for (const entry of [...lines, ...(flags.values.get('env') ?? [])]) {
    const [name, value] = splitPair(entry);
    if (entry.includes('=')) env[name] = value;
    else if (clientEnv[name] !== undefined) env[name] = clientEnv[name];
  }
  return env;
}

function readMounts(flags: Flags): Mount[] {
  const volumes = (flags.values.get('volume') ?? []).map(readVolume);
  const mounts = (flags.values.get('mount') ?? []).map(readMount);
  const temporary = (flags.values.get('tmpfs') ?? []).map((entry) => ({
    source: null,
    target: entry.split(':')[0] ?? entry,
  }));
  return [...volumes, ...mounts, ...temporary];
}

/** `SOURCE:TARGET[:OPTIONS]`, or `TARGET` alone for an anonymous volume. */
function readVolume(entry: string): Mount {
  const [first = '', target] = entry.split(':');
  if (target === undefined) return { source: null, target: first };
  if (!first.startsWith('/')) {
    throw new DockerError(
      `the process sandbox mounts folders alone; named volume "${first}" refused`,
      125,
    );
  }
  return { source: first, target };
}

/** `type=bind,source=/a,target=/b,readonly`: one line of CSV. */
function readMount(entry: string): Mount {
  const fields = new Map(splitCsv(entry).map(splitPair));
  const target = fields.get('target') ?? fields.get('destination') ?? fields.get('dst');
  if (target === undefined) throw new DockerError(`invalid argument "${entry}" for --mount`, 125);
  return { source: fields.get('source') ?? fields.get('src') ?? null, target };
}

/** A field with a comma or a quote stands in quotes, and a quote in it is doubled. */
function splitCsv(line: string): string[] {
  const fields = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...fields].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}

function splitPair(entry: string): [string, string] {
  const equals = entry.indexOf('=');
  return equals === -1 ? [entry, ''] : [entry.slice(0, equals), entry.slice(equals + 1)];
}
