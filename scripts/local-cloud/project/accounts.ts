// Service accounts (IAM v1): create, get, delete, disable, enable.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asString, type JsonObject } from '#scripts/local-cloud/json.ts';

const refusal = (context: Context, call: Call, verb: string) =>
  denied(context, call.principal, `iam.serviceAccounts.${verb}`, `projects/${call.params.project}`);

function resource(project: string, email: string, disabled: boolean): JsonObject {
  const name = `projects/${project}/serviceAccounts/${email}`;
  return { name, projectId: project, email, ...(disabled ? { disabled } : {}) };
}

function createAccount(context: Context, call: Call): Reply {
  const { project = '' } = call.params;
  const id = asString(asObject(call.body).accountId) ?? '';
  const email = `${id}@${project}.iam.gserviceaccount.com`;
  const { accounts } = context.world.project;
  const refused = refusal(context, call, 'create');
  if (refused !== null) {
    return refused;
  }
  if (!/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(id)) {
    return refuseRpc(400, `The account ID "${id}" must have 6 to 30 characters.`);
  }
  if (accounts.has(email)) {
    return refuseRpc(409, `Service account ${id} already exists within ${project}.`);
  }
  accounts.set(email, { disabled: false });
  return ok(resource(project, email, false));
}

function withAccount(
  verb: string,
  act: (context: Context, email: string, account: { disabled: boolean }) => JsonObject,
) {
  return (context: Context, call: Call): Reply => {
    const { project = '', account: email = '' } = call.params;
    const account = context.world.project.accounts.get(email);
    const missing = `Unknown service account: projects/${project}/serviceAccounts/${email}`;
    return (
      refusal(context, call, verb) ??
      (account === undefined ? refuseRpc(404, missing) : ok(act(context, email, account)))
    );
  };
}

const switchTo = (disabled: boolean) =>
  withAccount(disabled ? 'disable' : 'enable', (_, __, account) => {
    account.disabled = disabled;
    return {};
  });

export const accountMethods: Methods = {
  'iam.serviceAccounts.create': createAccount,
  'iam.serviceAccounts.get': withAccount('get', (context, email, { disabled }) =>
    resource(context.world.options.project, email, disabled),
  ),
  'iam.serviceAccounts.delete': withAccount('delete', (context, email) => {
    const { accounts, policies } = context.world.project;
    accounts.delete(email);
    policies.delete(`projects/${context.world.options.project}/serviceAccounts/${email}`);
    return {};
  }),
  'iam.serviceAccounts.disable': switchTo(true),
  'iam.serviceAccounts.enable': switchTo(false),
};
