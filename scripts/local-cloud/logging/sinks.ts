// Log sinks (Cloud Logging v2, projects.sinks): an entry that a sink's filter takes is published on its
// topic, the whole LogEntry as JSON; late, twice or not at all, as the world's options say.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { compileFilter } from '#scripts/local-cloud/filter.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asString, copyJson, type JsonObject } from '#scripts/local-cloud/json.ts';
import { keepEntry, type StoredEntry } from '#scripts/local-cloud/logging/state.ts';
import { publishUnreliably } from '#scripts/local-cloud/pubsub/delivery.ts';

const DESTINATION = /^pubsub\.googleapis\.com\/(projects\/[^/]+\/topics\/[^/]+)$/;

/** Keeps an entry and gives it to the sinks of its project; one that is there already is neither. */
export function receiveEntry(context: Context, stored: StoredEntry): void {
  const { logging, options } = context.world;
  if (!keepEntry(logging, stored, options.logging.bytesMax)) {
    return;
  }
  const { entry } = stored;
  const [project = ''] = String(entry.logName).split('/logs/');
  for (const [name, sink] of logging.sinks) {
    if (!name.startsWith(`${project}/`) || !sink.matches(entry)) {
      continue;
    }
    const attributes = { 'logging.googleapis.com/timestamp': String(entry.timestamp) };
    const data = Buffer.from(JSON.stringify(entry));
    publishUnreliably(context, sink.topic, { data, attributes }, options.logging.sink);
  }
}

const projectOf = ({ params }: Call) => `projects/${params.project}`;
const sinkName = (call: Call) => `${projectOf(call)}/sinks/${call.params.sink}`;
const unknown = (call: Call) => refuseRpc(404, `Sink ${call.params.sink} does not exist`);

function createSink(context: Context, call: Call): Reply {
  const project = projectOf(call);
  const body = asObject(call.body);
  const name = asString(body.name) ?? '';
  const { logging, options, pubsub } = context.world;
  const refusal = denied(context, call.principal, 'logging.sinks.create', project);
  const topic = DESTINATION.exec(asString(body.destination) ?? '')?.[1];
  const matches = compileFilter(asString(body.filter) ?? '');
  if (refusal !== null) {
    return refusal;
  }
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(name)) {
    return refuseRpc(400, `Invalid sink name: '${name}'.`);
  }
  if (topic === undefined || !pubsub.topics.has(topic)) {
    return refuseRpc(400, `Invalid destination: '${body.destination}': only topics that exist.`);
  }
  if (typeof matches === 'string') {
    return refuseRpc(400, `Unparseable filter: ${matches}`);
  }
  if (logging.sinks.has(`${project}/sinks/${name}`)) {
    return refuseRpc(409, `Sink ${name} already exists`);
  }
  const agent = `service-${options.compute.projectNumber}@gcp-sa-logging.iam.gserviceaccount.com`;
  const resource: JsonObject = { ...copyJson(body), writerIdentity: `serviceAccount:${agent}` };
  logging.sinks.set(`${project}/sinks/${name}`, { topic, matches, resource });
  return ok(copyJson(resource));
}

function getSink(context: Context, call: Call): Reply {
  const sink = context.world.logging.sinks.get(sinkName(call));
  return (
    denied(context, call.principal, 'logging.sinks.get', projectOf(call)) ??
    (sink === undefined ? unknown(call) : ok(copyJson(sink.resource)))
  );
}

function listSinks(context: Context, call: Call): Reply {
  const sinks = [...context.world.logging.sinks.entries()]
    .filter(([name]) => name.startsWith(`${projectOf(call)}/`))
    .map(([, { resource }]) => copyJson(resource));
  return denied(context, call.principal, 'logging.sinks.list', projectOf(call)) ?? ok({ sinks });
}

function deleteSink(context: Context, call: Call): Reply {
  const refusal = denied(context, call.principal, 'logging.sinks.delete', projectOf(call));
  if (refusal !== null) {
    return refusal;
  }
  return context.world.logging.sinks.delete(sinkName(call)) ? ok({}) : unknown(call);
}

export const sinkMethods: Methods = {
  'logging.projects.sinks.create': createSink,
  'logging.projects.sinks.get': getSink,
  'logging.projects.sinks.list': listSinks,
  'logging.projects.sinks.delete': deleteSink,
};
