// Who speaks by a signature: the V4 signature of a request's query, or that of a form's policy, is checked
// against the key of the account that it names. The call then has that account's rights.
// Source: "Signed URLs" and "Policy documents" of the Cloud Storage documentation; codes and texts of
// refusals as others have published them.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import type { Context, Reply } from '#scripts/local-cloud/call.ts';
import {
  ALGORITHM,
  canonicalRequest,
  readCompactTime,
  stringToSign,
  UNSIGNED_PAYLOAD,
} from '#scripts/local-cloud/storage/v4.ts';
import type { XmlRequest } from '#scripts/local-cloud/storage/xml.ts';

export type Speaker = { readonly account: string } | { readonly refusal: Reply };

const EXPIRES_SECONDS_MAX = 604_800;
const SKEW_MS_MAX = 15 * 60_000;
const CREDENTIAL = /^(.+)\/((\d{8})\/[^/]+\/storage\/goog4_request)$/;

const invalid = (message: string) => ({ refusal: refuse(400, 'InvalidArgument', message) });
const malformedHeader = (name: string, what: string) => ({
  refusal: refuse(
    400,
    'MalformedSecurityHeader',
    `Your request has a malformed header: ${name}. ${what}`,
  ),
});
const mismatch = () => ({
  refusal: refuse(
    403,
    'SignatureDoesNotMatch',
    'The request signature we calculated does not match the signature you provided. Check your Google secret key and signing method.',
  ),
});

interface Claim {
  readonly algorithm: string | undefined;
  readonly credential: string | undefined;
  readonly date: string | undefined;
}

interface Signer {
  readonly account: string;
  readonly scope: string;
  readonly timestamp: string;
  readonly signedMs: number;
}

/** The parts that requests and policies have in common. */
function readSigner({ algorithm, credential = '', date = '' }: Claim): Signer | null {
  const [, account = '', scope = '', day = ''] = CREDENTIAL.exec(credential) ?? [];
  const signedMs = readCompactTime(date);
  return algorithm === ALGORITHM && account !== '' && signedMs !== null && date.startsWith(day)
    ? { account, scope, timestamp: date, signedMs }
    : null;
}

export const isSigned = ({ query }: XmlRequest) =>
  query.some(([name]) => name.toLowerCase() === 'x-goog-algorithm');

/** The account by whose signature the request is made. */
export function speakerOfRequest(context: Context, request: XmlRequest): Speaker {
  const query = new Map(request.query.map(([name, value]) => [name.toLowerCase(), value]));
  const signer = readSigner({
    algorithm: query.get('x-goog-algorithm'),
    credential: query.get('x-goog-credential'),
    date: query.get('x-goog-date'),
  });
  const expires = Number(query.get('x-goog-expires'));
  if (signer === null) {
    return invalid('Invalid X-Goog-Algorithm, X-Goog-Credential or X-Goog-Date.');
  }
  if (!Number.isInteger(expires) || expires < 1 || expires > EXPIRES_SECONDS_MAX) {
    return invalid(`X-Goog-Expires must be between 1 and ${EXPIRES_SECONDS_MAX}.`);
  }
  if (context.nowMs > signer.signedMs + expires * 1000) {
    const message = 'Invalid argument. The provided token has expired.';
    return { refusal: refuse(400, 'ExpiredToken', message) };
  }
  if (context.nowMs < signer.signedMs - SKEW_MS_MAX) {
    const message = 'The difference between the request time and the current time is too large.';
    return { refusal: refuse(403, 'RequestTimeTooSkewed', message) };
  }
  return checkSignature(context, request, signer, query);
}

function checkSignature(
  context: Context,
  request: XmlRequest,
  signer: Signer,
  query: ReadonlyMap<string, string>,
): Speaker {
  const names = (query.get('x-goog-signedheaders') ?? '').split(';').filter((name) => name !== '');
  const missing = names.find((name) => request.headers[name] === undefined);
  if (missing !== undefined) {
    const what = 'Header was included in signedheaders, but not in the request.';
    return malformedHeader(missing, what);
  }
  const unsigned = ['host', ...Object.keys(request.headers)].find(
    (name) => (name === 'host' || name.startsWith('x-goog-')) && !names.includes(name),
  );
  if (unsigned !== undefined) {
    return malformedHeader(
      unsigned,
      'Header was included in the request, but not in signedheaders.',
    );
  }
  const signature = query.get('x-goog-signature');
  // Clients sign the host's name alone; with a port in the header there are two ways to read that.
  const { host = '' } = request.headers;
  const asSent = verified(context, signer, textOf(request, signer, names, host), signature);
  const name = host.replace(/:\d+$/, '');
  return 'refusal' in asSent && name !== host
    ? verified(context, signer, textOf(request, signer, names, name), signature)
    : asSent;
}

function textOf(
  request: XmlRequest,
  signer: Signer,
  names: readonly string[],
  host: string,
): string {
  const values: Readonly<Record<string, string>> = { ...request.headers, host };
  const headers = Object.fromEntries(names.map((name) => [name, values[name] ?? '']));
  const canonical = canonicalRequest({
    verb: request.verb,
    path: request.path,
    query: request.query.filter(([name]) => name.toLowerCase() !== 'x-goog-signature'),
    headers,
    payload: headers['x-goog-content-sha256'] ?? UNSIGNED_PAYLOAD,
  });
  return stringToSign(signer.timestamp, signer.scope, canonical);
}

function verified(
  { world }: Context,
  { account }: Signer,
  text: string,
  signature: string | undefined,
): Speaker {
  const bytes = Buffer.from(signature ?? '', 'hex');
  return world.accountKeys.verify(account, Buffer.from(text), bytes) ? { account } : mismatch();
}

/** The account by whose policy a form is taken, once every condition of the policy holds. */
export function speakerOfForm(
  context: Context,
  bucket: string,
  fields: Readonly<Record<string, string>>,
  bytes: Uint8Array,
): Speaker {
  const { policy = '' } = fields;
  const signer = readSigner({
    algorithm: fields['x-goog-algorithm'],
    credential: fields['x-goog-credential'],
    date: fields['x-goog-date'],
  });
  if (signer === null) {
    return invalid('Invalid x-goog-algorithm, x-goog-credential or x-goog-date.');
  }
  const speaker = verified(context, signer, policy, fields['x-goog-signature']);
  if ('refusal' in speaker) {
    return speaker;
  }
  const document = readPolicy(policy);
  if (document === null) {
    return { refusal: refuse(400, 'InvalidPolicyDocument', 'The policy document cannot be read.') };
  }
  if (!(context.nowMs <= Date.parse(document.expiration))) {
    return { refusal: refuse(400, 'ExpiredToken', 'The provided token has expired.') };
  }
  const broken = unmetPolicy(document.conditions, { ...fields, bucket }, bytes.length);
  return broken === null
    ? speaker
    : {
        refusal: refuse(
          400,
          'InvalidPolicyDocument',
          `The content of the form does not meet the conditions specified in the policy document: ${broken}`,
        ),
      };
}

interface Policy {
  readonly expiration: string;
  readonly conditions: readonly unknown[];
}

function readPolicy(base64: string): Policy | null {
  try {
    const document = JSON.parse(Buffer.from(base64, 'base64').toString());
    return typeof document?.expiration === 'string' && Array.isArray(document.conditions)
      ? document
      : null;
  } catch {
    return null;
  }
}

type Test = { readonly field: string; readonly holds: (value: string) => boolean };

/** One condition in any of its three forms; null when it is none of them. */
function readCondition(condition: unknown): readonly Test[] | 'length' | null {
  if (Array.isArray(condition)) {
    const [operator, name, value] = condition as unknown[];
    if (operator === 'content-length-range') {
      return 'length';
    }
    const field = String(name).replace(/^\$/, '').toLowerCase();
    const tests: Readonly<Record<string, Test['holds']>> = {
      eq: (actual) => actual === value,
      'starts-with': (actual) => actual.startsWith(String(value)),
    };
    const holds = tests[String(operator)];
    return holds === undefined ? null : [{ field, holds }];
  }
  return typeof condition === 'object' && condition !== null
    ? Object.entries(condition).map(([name, value]) => ({
        field: name.toLowerCase(),
        holds: (actual: string) => actual === value,
      }))
    : null;
}

/** Fields that no condition needs to name. */
const FREE = new Set(['policy', 'x-goog-signature', 'bucket']);

/** What does not hold: a condition, or a field that none of them allows. */
function unmetPolicy(
  conditions: readonly unknown[],
  fields: Readonly<Record<string, string>>,
  size: number,
): string | null {
  const named = new Set<string>();
  for (const condition of conditions) {
    const tests = readCondition(condition);
    const [, least, most] = Array.isArray(condition) ? condition : [];
    if (tests === 'length' ? size < Number(least) || size > Number(most) : tests === null) {
      return JSON.stringify(condition);
    }
    for (const { field, holds } of tests === 'length' ? [] : (tests ?? [])) {
      named.add(field);
      if (!holds(fields[field] ?? '')) {
        return JSON.stringify(condition);
      }
    }
  }
  const free = (name: string) => FREE.has(name) || name.startsWith('x-ignore-');
  return Object.keys(fields).find((name) => !named.has(name) && !free(name)) ?? null;
}
