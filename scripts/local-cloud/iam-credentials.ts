// IAM Service Account Credentials: signBlob, the only one of its methods that is needed here.
// Source: the REST reference of projects.serviceAccounts.signBlob.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asString } from '#scripts/local-cloud/json.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** `params.account` is the e-mail. A caller needs the right on that account, on its own too. */
function signBlob(context: Context, call: Call): Reply {
  const { account = '' } = call.params;
  const payload = asString(asObject(call.body).payload);
  const resource = `projects/-/serviceAccounts/${account}`;
  const refusal = denied(context, call.principal, 'iam.serviceAccounts.signBlob', resource);
  if (refusal !== null) {
    return refusal;
  }
  if (payload === undefined || payload === '' || !BASE64.test(payload)) {
    return refuseRpc(400, 'payload: must be bytes in base64.');
  }
  const { keyId, signature } = context.world.accountKeys.sign(
    account,
    Buffer.from(payload, 'base64'),
  );
  return ok({ keyId, signedBlob: signature.toString('base64') });
}

export const iamCredentialsMethods: Methods = {
  'iamcredentials.projects.serviceAccounts.signBlob': signBlob,
};
