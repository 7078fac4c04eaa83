// Rules on what a run's container is given: image, package, variables, mounts, labels.
import { fault, fieldPath } from '#shared/plan/fault.ts';
import { type GsAddress, requireGsUri } from '#shared/plan/gs-uri.ts';
import { legalLabels } from '#shared/plan/labels.ts';
import { ANNOTATION_BYTES_MAX } from '#shared/plan/limits.ts';
import { CODE_PREFIX, OWN_PREFIX } from '#shared/plan/objects.ts';
import { packageSha256 } from '#shared/plan/package-name.ts';
import { NONE, type Rule } from '#shared/plan/rule.ts';
import { overlap } from '#shared/plan/text.ts';

const imageNeeded: Rule = {
  reads: ['image'],
  check: ({ request, runtime }) =>
    runtime !== 'gce' || request.image !== undefined
      ? NONE
      : [
          fault('image', undefined, {
            rule: 'a run on gce needs an image',
            accepted: 'for example alpine:3.20',
          }),
        ],
};

const commandNeeded: Rule = {
  reads: ['command'],
  check: ({ request, runtime }) =>
    runtime !== 'cloudrun-jobs' || request.command !== undefined
      ? NONE
      : [
          fault('command', undefined, {
            rule: 'a run on cloudrun-jobs needs a command: the image of a Job has none of its own',
            accepted: '["python", "fit.py"]',
          }),
        ],
};

const packageChecked: Rule = {
  reads: ['package', 'package.uri', 'package.sha256'],
  check: ({ request }) => {
    const asked = request.package;
    if (asked === undefined) return NONE;
    if (asked.uri === undefined) {
      const broken = { rule: 'a package has an address', accepted: '{"uri": "gs://…"}' };
      return [fault('package.uri', undefined, broken)];
    }
    const named = packageSha256(asked.uri);
    if (named === null && asked.sha256 === undefined) {
      const rule = 'a package whose name does not end in its sha256 needs the field sha256';
      return [fault('package.sha256', undefined, { rule, accepted: 'the output of sha256sum' })];
    }
    if (named === null || asked.sha256 === undefined || named === asked.sha256) return NONE;
    const rule = 'the sha256 is the one that the name of the package ends in';
    return [fault('package.sha256', asked.sha256, { rule, accepted: named })];
  },
};

/** Bash's own, and those that steer the programs that start the container: a secret passes through them. */
const MACHINE_VARIABLE =
  /^(?:BASH.*|DOCKER_.*|EUID|GODEBUG|HOME|HTTPS?_PROXY|IFS|LC_ALL|LD_.*|NO_PROXY|PATH|PPID|SHELLOPTS|UID)$/;

const secretVariables: Rule = {
  reads: ['secrets'],
  check: ({ request: { secrets = {} } }) => {
    const broken = {
      rule: 'the machine uses this variable itself, so no secret can have its name',
      accepted: 'another name, or a path: the secret as a file',
    };
    const found = Object.keys(secrets).filter((name) => MACHINE_VARIABLE.test(name));
    return found.map((name) => fault(fieldPath('secrets', [name]), secrets[name], broken));
  },
};

const variablesOnce: Rule = {
  reads: ['env', 'secrets'],
  check: ({ request: { env = {}, secrets = {} } }) => {
    const broken = {
      rule: 'a variable is set by env or by secrets, not by both',
      accepted: 'one of both',
    };
    const both = Object.keys(secrets).filter((name) => Object.hasOwn(env, name));
    return both.map((name) => fault(fieldPath('secrets', [name]), secrets[name], broken));
  },
};

const mountsApart: Rule = {
  reads: ['inputs', 'outputs', 'checkpoint', 'secrets'],
  check: ({ request }) => {
    const { inputs = {}, outputs = {}, checkpoint = {}, secrets = {} } = request;
    const files = Object.keys(secrets).filter((key) => key.startsWith('/'));
    const mounts = [inputs, outputs, checkpoint].flatMap((map) => Object.keys(map));
    const pair = overlap([...mounts, ...files]);
    if (pair === null) return NONE;
    const rule = `no path of inputs, outputs, checkpoint and secrets is another one or lies in it, as ${pair[1]} does with ${pair[0]}`;
    const owner = [
      ['inputs', inputs],
      ['outputs', outputs],
      ['checkpoint', checkpoint],
      ['secrets', secrets],
    ] as const;
    const field = owner.find(([, map]) => Object.hasOwn(map, pair[1]))?.[0] ?? 'inputs';
    return [
      fault(fieldPath(field, [pair[1]]), pair[1], { rule, accepted: 'paths beside each other' }),
    ];
  },
};

/**
 * The accounts that a run reaches Cloud Storage with, a machine's own or those that sign for a task, reach
 * objects of other runs too: claims, markers, logs. No request may name them.
 */
const ownObjectsKept: Rule = {
  reads: ['package.uri', 'inputs', 'outputs', 'checkpoint'],
  check: ({ request, settings }) => {
    const { inputs = {}, outputs = {}, checkpoint = {} } = request;
    const uri = request.package?.uri;
    const given = [
      ...(uri === undefined ? [] : [{ field: 'package.uri', uri, reads: true }]),
      ...addresses('inputs', inputs, true),
      ...addresses('outputs', outputs, false),
      ...addresses('checkpoint', checkpoint, false),
    ];
    const broken = {
      rule: `what lies under gs://${settings.bucket}/${OWN_PREFIX} is the deployment's own, and out of a run's reach`,
      accepted: `another folder of that bucket, or another bucket; ${CODE_PREFIX} to read`,
    };
    return given
      .filter(({ uri, reads }) => isOwn(requireGsUri(uri), settings.bucket, reads))
      .map(({ field, uri }) => fault(field, uri, broken));
  },
};

const addresses = (field: string, map: Readonly<Record<string, string>>, reads: boolean) =>
  Object.entries(map).map(([path, uri]) => ({ field: fieldPath(field, [path]), uri, reads }));

function isOwn({ bucket, object }: GsAddress, ownBucket: string, reads: boolean): boolean {
  if (bucket !== ownBucket || (reads && object.startsWith(CODE_PREFIX))) return false;
  return object === '' || object.startsWith(OWN_PREFIX);
}

const labelsLegal: Rule = {
  reads: ['labels'],
  check: ({ request: { labels = {} } }) => legalLabels(labels).faults,
};

const annotationsShort: Rule = {
  reads: ['annotations'],
  check: ({ request: { annotations = {} } }) => {
    const bytes = Object.entries(annotations).reduce(
      (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text),
      0,
    );
    if (bytes <= ANNOTATION_BYTES_MAX) return NONE;
    const rule = `annotations have at most ${ANNOTATION_BYTES_MAX} bytes in all, and these have ${bytes}`;
    return [fault('annotations', annotations, { rule, accepted: `${ANNOTATION_BYTES_MAX} bytes` })];
  },
};

export const contentRules: readonly Rule[] = [
  imageNeeded,
  commandNeeded,
  packageChecked,
  secretVariables,
  variablesOnce,
  mountsApart,
  ownObjectsKept,
  labelsLegal,
  annotationsShort,
];
