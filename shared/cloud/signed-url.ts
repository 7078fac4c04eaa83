// Signs addresses and forms of Cloud Storage as one of two accounts whose keys nobody holds: IAM
// Credentials signs (`signBlob`) for who may ask it to. Google promises such a key for 12 hours.
import { systemClock } from '#shared/cloud/clock.ts';
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import { CloudError, isGoogleError, unreadableReply } from '#shared/cloud/errors.ts';
import type { HttpReply } from '#shared/cloud/http.ts';
import { createRest, type RestOptions, translateRefusal } from '#shared/cloud/rest.ts';
import { stampOf, unsignedForm, unsignedUrl } from '#shared/cloud/signature-v4.ts';
import type { UrlSigner } from '#shared/cloud/url-signer.ts';

export interface SignerOptions extends RestOptions {
  /** Base URLs without a trailing slash; null: Google's own. */
  readonly endpoints: { readonly storage: string | null; readonly iamCredentials: string | null };
  /** Who may read what addresses lead to; null: the setting is missing. */
  readonly reader: string | null;
  /** Who may write it. */
  readonly uploader: string | null;
}

const METHOD = 'iamcredentials.projects.serviceAccounts.signBlob';
const EXPIRES_SECONDS = 12 * 3600;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function createUrlSigner(options: SignerOptions): UrlSigner {
  const { endpoints, reader, uploader, clock = systemClock } = options;
  const sign = createSign(options);
  const storage = endpoints.storage ?? GOOGLE_ENDPOINTS.storage;
  return {
    async signUrl({ method, bucket, object, generation, contentType }) {
      const account = method === 'GET' ? given(reader, 'READER') : given(uploader, 'UPLOADER');
      const headers = {
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...(method === 'PUT' ? { 'x-goog-if-generation-match': '0' } : {}),
      };
      const request = {
        method,
        origin: new URL(storage).origin,
        bucket,
        object,
        headers,
        generation: generation ?? null,
        expiresSeconds: EXPIRES_SECONDS,
      };
      const { text, url } = unsignedUrl(request, stampOf(account, clock.nowMs()));
      return { url: `${url}${await sign(account, text)}`, headers };
    },
    async signForm({ bucket, prefix }) {
      const account = given(uploader, 'UPLOADER');
      const nowMs = clock.nowMs();
      const untilMs = nowMs + EXPIRES_SECONDS * 1000;
      const form = unsignedForm({ bucket, prefix, untilMs }, stampOf(account, nowMs));
      const fields = { ...form.fields, 'x-goog-signature': await sign(account, form.policy) };
      // As Google's own clients: an emulator's address has no slash behind it.
      const slash = endpoints.storage === null ? '/' : '';
      return { url: `${storage}/${bucket}${slash}`, fields, bucket, prefix };
    },
  };
}

/** Gives the signature in lower-case hex. A signature changes nothing, so that the call is repeated. */
function createSign(options: SignerOptions) {
  const endpoint = options.endpoints.iamCredentials ?? GOOGLE_ENDPOINTS.iamCredentials;
  const rest = createRest(`${endpoint}/v1/projects/-/serviceAccounts`, options, refusalOf);
  return async (account: string, text: string): Promise<string> => {
    const body = { payload: Buffer.from(text).toString('base64') };
    const reply = await rest.read(METHOD, { path: [account], verb: 'signBlob', body }, 'POST');
    const signed = (reply as { readonly signedBlob?: unknown } | undefined)?.signedBlob;
    if (typeof signed !== 'string' || !BASE64.test(signed)) {
      throw unreadableReply(METHOD, 200, 'no signature');
    }
    return Buffer.from(signed, 'base64').toString('hex');
  };
}

/** A missing permission says what to do about it. */
function refusalOf(method: string, reply: HttpReply): CloudError {
  const error = translateRefusal(method, reply);
  if (reply.status !== 403 || !isGoogleError(reply.body)) return error;
  const message = `${error.message}; the calling account lacks iam.serviceAccounts.signBlob on the account that signs: grant it roles/iam.serviceAccountTokenCreator there`;
  const { code, status, reason } = error;
  return new CloudError({ code, method, status, reason, message });
}

function given(account: string | null, name: 'READER' | 'UPLOADER'): string {
  if (account !== null) return account;
  const message = `nothing can be signed: set MAYFLY_JOBS_${name}_SERVICE_ACCOUNT`;
  throw new CloudError({ code: 'invalid', method: METHOD, status: null, reason: '', message });
}
