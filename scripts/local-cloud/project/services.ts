// Service Usage (v1): which APIs of the project are enabled. A disabled one still answers here: what is
// shown is what doctor and Terraform read.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';

function resource(context: Context, service: string): JsonObject {
  const parent = `projects/${context.world.options.compute.projectNumber}`;
  const state = context.world.project.services.has(service) ? 'ENABLED' : 'DISABLED';
  return { name: `${parent}/services/${service}`, parent, state, config: { name: service } };
}

const refusal = (context: Context, call: Call, verb: string) =>
  denied(
    context,
    call.principal,
    `serviceusage.services.${verb}`,
    `projects/${call.params.project}`,
  );

/** Enabled ones alone: the others are Google's whole catalogue, and nobody asks the local cloud for it. */
function listServices(context: Context, call: Call): Reply {
  if (call.params.filter !== 'state:ENABLED') {
    return (
      refusal(context, call, 'list') ?? refuseRpc(400, 'The filter here is state:ENABLED alone.')
    );
  }
  const services = [...context.world.project.services].map((name) => resource(context, name));
  return refusal(context, call, 'list') ?? ok({ services });
}

/** Enabling and disabling are operations that are done at once. */
function change(verb: 'enable' | 'disable') {
  return (context: Context, call: Call): Reply => {
    const { service = '' } = call.params;
    const refused = refusal(context, call, verb);
    if (refused !== null) {
      return refused;
    }
    const { services } = context.world.project;
    if (verb === 'enable') {
      services.add(service);
    } else {
      services.delete(service);
    }
    return ok({
      name: `operations/${service}`,
      done: true,
      response: { service: resource(context, service) },
    });
  };
}

export const serviceMethods: Methods = {
  'serviceusage.services.list': listServices,
  'serviceusage.services.enable': change('enable'),
  'serviceusage.services.disable': change('disable'),
};
