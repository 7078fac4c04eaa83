// The metadata server's answers. Which machine or account asks stands in `params.machine` (its id) or
// `params.account` (an e-mail): each has its own server, as in the cloud.
import { createHash } from 'node:crypto';
import type { Call, Context, Methods, Reply } from '#scripts/local-cloud/call.ts';
import { ACCESS_TOKEN_LIFETIME_MS, issueToken } from '#scripts/local-cloud/iam.ts';
import { asString, type JsonObject } from '#scripts/local-cloud/json.ts';
import { idTokenClaims } from '#scripts/local-cloud/keys.ts';
import {
  functionTree,
  type MetadataTree,
  machineTree,
} from '#scripts/local-cloud/metadata/tree.ts';

const PREFIX = '/computeMetadata/v1';
const GUEST_PATH = /^instance\/guest-attributes\/([\w-]+\/[\w-]+)$/;
const ACCOUNT_PATH = /^instance\/service-accounts\/([^/]+)\/(token|identity)$/;

function answer(status: number, text: string, type = 'application/text'): Reply {
  const bytes = Buffer.from(text);
  const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const headers = { 'content-type': type, 'metadata-flavor': 'Google', server: 'Metadata Server' };
  return { status, bytes, headers: { ...headers, etag } };
}

function movedTo(location: string): Reply {
  const reply = answer(301, location);
  return { ...reply, headers: { ...reply.headers, location } };
}

const missing = () => answer(404, '<html><title>Error 404 (Not Found)</title></html>', 'text/html');

function treeOf({ world }: Context, { params }: Call): MetadataTree | null {
  const machine = world.compute.machinesById.get(params.machine ?? '');
  if (machine !== undefined) {
    return machineTree(world, machine);
  }
  return params.account === undefined ? null : functionTree(world, params.account);
}

type Node = MetadataTree[string];

const isFolder = (node: Node): node is MetadataTree =>
  typeof node === 'object' && !Array.isArray(node);

function nodeAt(tree: MetadataTree, parts: readonly string[]): Node | undefined {
  let node: Node | undefined = tree;
  for (const part of parts) {
    node = node !== undefined && isFolder(node) ? node[part] : undefined;
  }
  return node;
}

/** Names in JSON are written in camel case, but those of attributes stay as they are. */
function toJson(node: Node, keepNames: boolean): unknown {
  if (!isFolder(node)) {
    return node;
  }
  const object: JsonObject = {};
  for (const [name, child] of Object.entries(node)) {
    const camel = name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    object[keepNames ? name : camel] = toJson(child, keepNames || name.endsWith('attributes'));
  }
  return object;
}

function listing(folder: MetadataTree): string {
  const lines = Object.entries(folder).map(([name, child]) => {
    return isFolder(child) ? `${name}/\n` : `${name}\n`;
  });
  return lines.join('');
}

function read(tree: MetadataTree, path: string, params: Call['params']): Reply {
  const parts = path.split('/').filter((part) => part !== '');
  const node = nodeAt(tree, parts);
  if (node === undefined) {
    return missing();
  }
  const recursive = params.recursive === 'true';
  const attributes = parts.some((part) => part.endsWith('attributes'));
  if (isFolder(node) && !recursive) {
    return path.endsWith('/') || path === ''
      ? answer(200, listing(node))
      : movedTo(`${PREFIX}/${path}/`);
  }
  if (params.alt === 'json' || isFolder(node)) {
    return answer(200, JSON.stringify(toJson(node, attributes)), 'application/json');
  }
  return answer(200, Array.isArray(node) ? node.map((line) => `${line}\n`).join('') : String(node));
}

/** `token` and `identity` of an account of this machine. */
function credential(context: Context, call: Call, tree: MetadataTree, path: string): Reply | null {
  const match = ACCOUNT_PATH.exec(path);
  if (match === null) {
    return null;
  }
  const [, account = '', kind] = match;
  const email = asString(nodeAt(tree, ['instance', 'service-accounts', account, 'email']));
  if (email === undefined) {
    return missing();
  }
  if (kind === 'identity') {
    const { audience } = call.params;
    return audience === undefined
      ? answer(400, 'non-empty audience parameter required')
      : answer(200, context.world.keys.sign(idTokenClaims({ audience, email }, context.nowMs)));
  }
  const token = {
    access_token: issueToken(context, email),
    expires_in: Math.floor(ACCESS_TOKEN_LIFETIME_MS / 1000),
    token_type: 'Bearer',
  };
  return answer(200, JSON.stringify(token), 'application/json');
}

/** `params.path` is the path with its prefix; `params.flavor` the header Metadata-Flavor. */
function getMetadata(context: Context, call: Call): Reply {
  const { path = '', flavor, forwarded } = call.params;
  if (path === '/') {
    return answer(200, 'computeMetadata/\n');
  }
  if (!path.startsWith(PREFIX)) {
    return missing();
  }
  if (flavor !== 'Google' || forwarded !== undefined) {
    return answer(403, 'Missing Metadata-Flavor:Google header.');
  }
  const tree = treeOf(context, call);
  const inner = path.slice(PREFIX.length).replace(/^\/+/, '');
  return tree === null
    ? missing()
    : (credential(context, call, tree, inner) ?? read(tree, inner, call.params));
}

/** Guest attributes: written by any process of the machine, when its metadata allows it. */
function putMetadata(context: Context, call: Call): Reply {
  const machine = context.world.compute.machinesById.get(call.params.machine ?? '');
  const inner = (call.params.path ?? '').slice(PREFIX.length + 1);
  const [, key] = GUEST_PATH.exec(inner) ?? [];
  if (call.params.flavor !== 'Google') {
    return answer(403, 'Missing Metadata-Flavor:Google header.');
  }
  if (machine === undefined || key === undefined) {
    return missing();
  }
  if (!/^(?:true|1|yes|y)$/i.test(machine.metadata['enable-guest-attributes'] ?? '')) {
    return answer(403, 'Guest attributes endpoint access is disabled.');
  }
  machine.guestAttributes.set(key, Buffer.from(bytesOf(call.body)).toString());
  return answer(200, '');
}

const bytesOf = (body: unknown) => (body instanceof Uint8Array ? body : new Uint8Array());

export const metadataMethods: Methods = {
  'metadata.get': getMetadata,
  'metadata.put': putMetadata,
};
