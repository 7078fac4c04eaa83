// IAM policies of single resources, read and set as a whole, and the Policy Troubleshooter (v3), which
// says whether an account has a permission: by the world's grants, or by a role that a policy binds.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Handler,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied, wouldBeAllowed } from '#scripts/local-cloud/iam.ts';
import { asArray, asObject, asString } from '#scripts/local-cloud/json.ts';
import type { Binding } from '#scripts/local-cloud/project/state.ts';

/** What of Google's predefined roles a deployment's service agents and callers are given. */
const ROLES: Readonly<Record<string, readonly string[]>> = {
  'roles/run.invoker': ['run.routes.invoke'],
  'roles/pubsub.publisher': ['pubsub.topics.publish'],
  'roles/pubsub.subscriber': ['pubsub.subscriptions.consume'],
  'roles/iam.serviceAccountTokenCreator': ['iam.serviceAccounts.getOpenIdToken'],
  'roles/artifactregistry.reader': ['artifactregistry.repositories.downloadArtifacts'],
};

type NameOf = (params: Call['params']) => string;

const RESOURCES: Readonly<Record<string, NameOf>> = {
  'pubsub.topics': ({ project, topic }) => `projects/${project}/topics/${topic}`,
  'pubsub.subscriptions': ({ project, subscription }) =>
    `projects/${project}/subscriptions/${subscription}`,
  'iam.serviceAccounts': ({ project, account }) => `projects/${project}/serviceAccounts/${account}`,
  'run.services': ({ project, location, service }) =>
    `projects/${project}/locations/${location}/services/${service}`,
  'resourcemanager.projects': ({ project }) => `projects/${project}`,
};

const policyOf = (bindings: readonly Binding[]) =>
  ok({ version: 1, etag: 'ACAB', bindings: bindings.map((binding) => ({ ...binding })) });

function getPolicy(kind: string, nameOf: NameOf): Handler {
  return (context, call) => {
    const name = nameOf(call.params);
    return (
      denied(context, call.principal, `${kind}.getIamPolicy`, name) ??
      policyOf(context.world.project.policies.get(name) ?? [])
    );
  };
}

function setPolicy(kind: string, nameOf: NameOf): Handler {
  return (context, call) => {
    const name = nameOf(call.params);
    const bindings = asArray(asObject(asObject(call.body).policy).bindings).map((value) => {
      const { role, members } = asObject(value);
      return {
        role: asString(role) ?? '',
        members: asArray(members).filter((member) => typeof member === 'string'),
      };
    });
    const refusal = denied(context, call.principal, `${kind}.setIamPolicy`, name);
    if (refusal !== null) {
      return refusal;
    }
    context.world.project.policies.set(name, bindings);
    return policyOf(bindings);
  };
}

/** A role on the resource or on its project. */
function isBound(context: Context, principal: string, permission: string, resource: string) {
  const project = /^projects\/[^/]+/.exec(resource)?.[0] ?? '';
  const { policies } = context.world.project;
  return [resource, project].some((name) =>
    policies
      .get(name)
      ?.some(
        ({ role, members }) =>
          ROLES[role]?.includes(permission) === true &&
          members.includes(`serviceAccount:${principal}`),
      ),
  );
}

/** `accessTuple`: conditions are judged by the resource of its context, where it names one. */
function troubleshoot(context: Context, call: Call): Reply {
  const accessTuple = asObject(asObject(call.body).accessTuple);
  const principal = asString(accessTuple.principal);
  const permission = asString(accessTuple.permission);
  const full = /^\/\/[a-z.]+\/(.+)$/.exec(asString(accessTuple.fullResourceName) ?? '')?.[1];
  if (principal === undefined || permission === undefined || full === undefined) {
    return refuseRpc(400, 'accessTuple needs principal, permission and fullResourceName.');
  }
  const { project } = context.world.options;
  const blind = denied(
    context,
    call.principal,
    'resourcemanager.projects.getIamPolicy',
    `projects/${project}`,
  );
  const named = asString(asObject(asObject(accessTuple.conditionContext).resource).name);
  const resource = named ?? full;
  // Grants name an account without its project, as the credentials API does.
  const known = [
    resource,
    resource.replace(/^projects\/[^/]+(?=\/serviceAccounts\/)/, 'projects/-'),
  ];
  const can =
    known.some((name) => wouldBeAllowed(context, principal, permission, name)) ||
    isBound(context, principal, permission, full);
  const state = blind !== null ? 'UNKNOWN_INFO' : can ? 'CAN_ACCESS' : 'CANNOT_ACCESS';
  return ok({ overallAccessState: state, accessTuple });
}

export const policyMethods: Methods = {
  ...Object.fromEntries(
    Object.entries(RESOURCES).flatMap(([kind, nameOf]) => [
      [`${kind}.getIamPolicy`, getPolicy(kind, nameOf)],
      [`${kind}.setIamPolicy`, setPolicy(kind, nameOf)],
    ]),
  ),
  'policytroubleshooter.iam.troubleshoot': troubleshoot,
};
