// Secret Manager: secrets.create, addVersion, versions.access, disable, enable, destroy.
// Source: the REST reference (v1); refusals are worded as the service words them.
import { refuse, refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Handler,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { isAllowed } from '#scripts/local-cloud/iam.ts';
import { asObject, asString, type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import { projectId, type SecretVersion, shownName } from '#scripts/local-cloud/secrets/state.ts';
import { crc32c } from '#scripts/local-cloud/storage/crc32c.ts';

const PAYLOAD_BYTES_MAX = 65_536;
const SECRET_ID = /^[A-Za-z0-9_-]{1,255}$/;

function secretName({ world }: Context, { project = '', secret = '' }: Call['params']): string {
  return `projects/${projectId(world, project)}/secrets/${secret}`;
}

/** Who may not know is not told whether it exists. */
function denied(context: Context, call: Call, permission: string, resource: string): Reply | null {
  return isAllowed(context, call.principal, permission, resource)
    ? null
    : refuseRpc(
        403,
        `Permission '${permission}' denied for resource '${resource}' (or it may not exist).`,
      );
}

function versionResource(context: Context, secret: string, version: SecretVersion): JsonObject {
  return {
    name: shownName(context.world, `${secret}/versions/${version.number}`),
    createTime: timestamp(version.createdMs),
    state: version.state,
  };
}

function createSecret(context: Context, call: Call): Reply {
  const { world, nowMs } = context;
  const id = call.params.secretId ?? '';
  const name = secretName(context, { ...call.params, secret: id });
  const refusal = denied(context, call, 'secretmanager.secrets.create', name);
  if (refusal !== null) {
    return refusal;
  }
  if (!SECRET_ID.test(id)) {
    return refuseRpc(400, `Secret id must match the expected format [[a-zA-Z_0-9]+]: '${id}'.`);
  }
  if (world.secrets.secrets.has(name)) {
    return refuseRpc(409, `Secret [${shownName(world, name)}] already exists.`);
  }
  world.secrets.secrets.set(name, []);
  return ok({
    name: shownName(world, name),
    replication: asObject(asObject(call.body).replication),
    createTime: timestamp(nowMs),
  });
}

function append(context: Context, secret: string, bytes: Uint8Array): SecretVersion {
  const versions = context.world.secrets.secrets.get(secret) ?? [];
  const version: SecretVersion = {
    number: versions.length + 1,
    bytes,
    state: 'ENABLED',
    createdMs: context.nowMs,
  };
  context.world.secrets.secrets.set(secret, [...versions, version]);
  return version;
}

function addVersion(context: Context, call: Call): Reply {
  const secret = secretName(context, call.params);
  const refusal = denied(context, call, 'secretmanager.versions.add', secret);
  if (refusal !== null) {
    return refusal;
  }
  if (!context.world.secrets.secrets.has(secret)) {
    return refuseRpc(404, `Secret [${shownName(context.world, secret)}] not found.`);
  }
  const data = asString(asObject(asObject(call.body).payload).data);
  const bytes = data === undefined ? null : Buffer.from(data, 'base64');
  if (bytes === null || bytes.length === 0 || bytes.length > PAYLOAD_BYTES_MAX) {
    return refuseRpc(400, `A payload has 1 to ${PAYLOAD_BYTES_MAX} bytes.`);
  }
  return ok(versionResource(context, secret, append(context, secret, bytes)));
}

/** The version that a path names (`latest` is the newest, whatever its state), or its refusal. */
function findVersion(context: Context, call: Call, permission: string): SecretVersion | Reply {
  const { world } = context;
  const { version: wanted = '' } = call.params;
  const secret = secretName(context, call.params);
  const refusal = denied(context, call, permission, `${secret}/versions/${wanted}`);
  if (refusal !== null) {
    return refusal;
  }
  const versions = world.secrets.secrets.get(secret) ?? [];
  const newest = versions.at(-1);
  if (newest === undefined) {
    return refuseRpc(404, `Secret [${shownName(world, secret)}] not found or has no versions.`);
  }
  const found =
    wanted === 'latest' ? newest : versions.find(({ number }) => String(number) === wanted);
  const path = shownName(world, `${secret}/versions/${wanted}`);
  return found ?? refuseRpc(404, `Secret Version [${path}] not found.`);
}

/** Bytes as base64, their CRC32C as the text of an int64. */
function access(context: Context, call: Call): Reply {
  const found = findVersion(context, call, 'secretmanager.versions.access');
  if ('headers' in found) {
    return found;
  }
  const path = `${secretName(context, call.params)}/versions/${found.number}`;
  const name = shownName(context.world, path);
  if (found.state !== 'ENABLED') {
    const message = `Secret Version [${name}] is in ${found.state} state.`;
    return refuseRpc(400, message, 'FAILED_PRECONDITION');
  }
  const data = Buffer.from(found.bytes).toString('base64');
  return ok({ name, payload: { data, dataCrc32c: String(crc32c(found.bytes)) } });
}

function setState(permission: string, state: SecretVersion['state']): Handler {
  return (context, call) => {
    const found = findVersion(context, call, permission);
    if ('headers' in found) {
      return found;
    }
    found.state = state;
    return ok(versionResource(context, secretName(context, call.params), found));
  };
}

/** `{ name: 'projects/P/secrets/S', text }`: makes the secret if need be, and a further version. */
export function plantSecret(context: Context, body: JsonObject): Reply {
  const parts = /^projects\/([^/]+)\/secrets\/([\w-]+)$/.exec(asString(body.name) ?? '');
  const text = asString(body.text);
  if (parts === null || text === undefined) {
    return refuse(400, 'invalid', 'A secret is { name: projects/P/secrets/S, text }.');
  }
  const [, project = '', secret = ''] = parts;
  const name = secretName(context, { project, secret });
  return ok(versionResource(context, name, append(context, name, Buffer.from(text))));
}

export const secretMethods: Methods = {
  'secretmanager.secrets.create': createSecret,
  'secretmanager.secrets.addVersion': addVersion,
  'secretmanager.versions.access': access,
  'secretmanager.versions.disable': setState('secretmanager.versions.disable', 'DISABLED'),
  'secretmanager.versions.enable': setState('secretmanager.versions.enable', 'ENABLED'),
  'secretmanager.versions.destroy': setState('secretmanager.versions.destroy', 'DESTROYED'),
};
