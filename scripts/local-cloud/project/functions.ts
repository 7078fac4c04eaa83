// Cloud Functions (v2): the resources of deployed functions. Nothing is built or run here: whoever lays
// the deployment out says in `serviceConfig.uri` where the function answers, which Google would say.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asString, copyJson, type JsonObject } from '#scripts/local-cloud/json.ts';

const parentOf = ({ project, location }: Call['params']) =>
  `projects/${project}/locations/${location}`;
const nameOf = (call: Call) => `${parentOf(call.params)}/functions/${call.params.function}`;

function createFunction(context: Context, call: Call): Reply {
  const { functionId = '' } = call.params;
  const parent = parentOf(call.params);
  const name = `${parent}/functions/${functionId}`;
  const { functions } = context.world.project;
  const refused = denied(context, call.principal, 'cloudfunctions.functions.create', name);
  if (refused !== null) {
    return refused;
  }
  if (!/^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(functionId)) {
    return refuseRpc(400, `Function name must have 1 to 63 characters: ${functionId}`);
  }
  if (functions.has(name)) {
    return refuseRpc(409, `Could not create Cloud Function ${functionId}: it already exists.`);
  }
  const body = copyJson(asObject(call.body));
  const serviceConfig = {
    ...asObject(body.serviceConfig),
    service: `${parent}/services/${functionId}`,
  };
  const url = asString(asObject(body.serviceConfig).uri) ?? '';
  const made = { state: 'ACTIVE', ...body, name, environment: 'GEN_2', url, serviceConfig };
  functions.set(name, made);
  return ok({ name: `${parent}/operations/${functionId}`, done: true, response: copyJson(made) });
}

function withFunction(
  verb: string,
  act: (context: Context, name: string, found: JsonObject) => Reply,
) {
  return (context: Context, call: Call): Reply => {
    const name = nameOf(call);
    const found = context.world.project.functions.get(name);
    return (
      denied(context, call.principal, `cloudfunctions.functions.${verb}`, name) ??
      (found === undefined
        ? refuseRpc(404, `Resource '${name}' was not found`)
        : act(context, name, found))
    );
  };
}

export const functionMethods: Methods = {
  'cloudfunctions.functions.create': createFunction,
  'cloudfunctions.functions.get': withFunction('get', (_, __, found) => ok(copyJson(found))),
  'cloudfunctions.functions.delete': withFunction('delete', (context, name) => {
    context.world.project.functions.delete(name);
    return ok({ name: `${name}/deleted`, done: true });
  }),
};
