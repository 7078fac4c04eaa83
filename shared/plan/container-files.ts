// What of Cloud Storage a container finds in its file system, as the guest script's blanks: package,
// inputs and outputs. On the machine the files of the n-th input or output stand in folder or file `n`.
import { requireGsUri } from '#shared/plan/gs-uri.ts';
import type { ResolvedInput, RunRequest } from '#shared/plan/model.ts';
import type { BlankValues } from '#shared/plan/script-blanks.ts';

export function packageBlanks({ package: code }: RunRequest): BlankValues {
  const address = code === null ? { bucket: '', object: '' } : requireGsUri(code.uri);
  return {
    PACKAGE_BUCKET: address.bucket,
    PACKAGE_OBJECT: address.object,
    PACKAGE_SHA256: code?.sha256 ?? '',
  };
}

export function inputBlanks(request: RunRequest, inputs: readonly ResolvedInput[]): BlankValues {
  const paths = Object.keys(request.inputs);
  return {
    INPUT_PATHS: paths,
    INPUT_FILES: inputs.map(({ path }) => fileOfInput(path, paths)),
    INPUT_BUCKETS: inputs.map(({ bucket }) => bucket),
    INPUT_OBJECTS: inputs.map(({ object }) => object),
    INPUT_GENERATIONS: inputs.map(({ generation }) => generation),
    INPUT_BYTES: inputs.map(({ bytes }) => String(bytes)),
  };
}

/** `n` for an object that the request names itself, `n/rest` for one of the n-th prefix. */
function fileOfInput(path: string, requested: readonly string[]): string {
  const exact = requested.indexOf(path);
  if (exact >= 0) return String(exact);
  let folder = '';
  let index = -1;
  for (const [position, candidate] of requested.entries()) {
    const prefix = candidate.endsWith('/') ? candidate : `${candidate}/`;
    if (path.startsWith(prefix) && prefix.length > folder.length) {
      folder = prefix;
      index = position;
    }
  }
  if (index < 0) throw new Error(`the input ${path} belongs to none of the request's inputs`);
  return `${index}/${path.slice(folder.length)}`;
}

export function outputBlanks(request: RunRequest): BlankValues {
  const addresses = Object.values(request.outputs).map(requireGsUri);
  return {
    OUTPUT_PATHS: Object.keys(request.outputs),
    OUTPUT_BUCKETS: addresses.map(({ bucket }) => bucket),
    OUTPUT_PREFIXES: addresses.map(({ object }) => object),
  };
}
