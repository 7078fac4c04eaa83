// Those who set the functions in motion: Google's own agents (notifications, dead letters, tokens, log
// sinks) and the push account, which alone may call the functions.
import { completionFilter, taskEventFilter } from '#functions/signals/job-entry.ts';
import { signalFilter } from '#functions/signals/signal.ts';
import { asArray, asObject, asString, type JsonObject } from '#scripts/local-cloud/json.ts';
import { checkAccess } from '#scripts/mayfly/doctor/access.ts';
import { accountOf, type Deployed } from '#scripts/mayfly/doctor/deployed.ts';
import { type Finding, fault, ok, unknown } from '#scripts/mayfly/doctor/finding.ts';
import { eachOf, unreadable } from '#scripts/mayfly/doctor/reader.ts';

interface Need {
  readonly agent: string;
  readonly email: string;
  readonly permission: string;
  readonly resource: string;
  readonly fix: string;
}

/** `missing`: names of resources that are not there. */
export async function checkAgents(deployed: Deployed, missing: ReadonlySet<string>) {
  const { reader, number } = deployed;
  if (number === null) {
    const why = 'the number of the project, which they are named after, cannot be read';
    return [unknown('agents', why, 'have someone give you roles/viewer on the project')];
  }
  const needs = needsOf(deployed, number).filter(({ resource }) => !missing.has(resource));
  return eachOf(needs, ({ agent, email, permission, resource, fix }) => {
    const [service = ''] = permission.split('.');
    const check = `agent ${agent}: ${permission} on ${resource.replace(/^.*\//, '').replace(/@.*/, '')}`;
    const full = `//${service}.googleapis.com/${resource}`;
    return checkAccess(reader, check, { principal: email, permission, resource: full }, fix);
  });
}

function needsOf(deployed: Deployed, number: string): Need[] {
  const { project, deployment } = deployed;
  const emailOf = (agent: string) => `service-${number}@${agent}.iam.gserviceaccount.com`;
  const push = accountOf(deployed, 'push');
  const member = (agent: string, role: string) =>
    `--project=${project} --member=serviceAccount:${emailOf(agent)} --role=${role}`;
  const topic = (agent: string, name: string) => ({
    ...{ agent, email: emailOf(agent), permission: 'pubsub.topics.publish' },
    resource: `projects/${project}/topics/${deployment}-${name}`,
    fix: `gcloud pubsub topics add-iam-policy-binding ${deployment}-${name} ${member(agent, 'roles/pubsub.publisher')}`,
  });
  const tokens = (agent: string) => ({
    ...{ agent, email: emailOf(agent), permission: 'iam.serviceAccounts.getOpenIdToken' },
    resource: `projects/${project}/serviceAccounts/${push}`,
    fix: `gcloud iam service-accounts add-iam-policy-binding ${push} ${member(agent, 'roles/iam.serviceAccountTokenCreator')}`,
  });
  const submit = `${deployment}-submit`;
  return [
    topic('gcp-sa-pubsub', 'dead'),
    {
      ...{ agent: 'gcp-sa-pubsub', email: emailOf('gcp-sa-pubsub') },
      permission: 'pubsub.subscriptions.consume',
      resource: `projects/${project}/subscriptions/${submit}`,
      fix: `gcloud pubsub subscriptions add-iam-policy-binding ${submit} ${member('gcp-sa-pubsub', 'roles/pubsub.subscriber')}`,
    },
    tokens('gcp-sa-pubsub'),
    tokens('gcp-sa-cloudscheduler'),
    topic('gs-project-accounts', 'run-status'),
    topic('gs-project-accounts', 'run-results'),
  ];
}

/** The sinks to `run-signals`, by their filters, and whether each sink's own account may publish. */
export async function checkSinks(deployed: Deployed, missing: ReadonlySet<string>) {
  const { reader, project, deployment, settings } = deployed;
  const answer = await reader.get('LOGGING', `v2/projects/${project}/sinks`);
  if (answer.kind === 'unknown') return [unreadable('sinks', answer.error)];
  const topic = `projects/${project}/topics/${deployment}-run-signals`;
  const destination = `pubsub.googleapis.com/${topic}`;
  const listed = answer.kind === 'gone' ? [] : asArray(answer.body.sinks).map(asObject);
  const sinks = listed.filter((sink) => sink.destination === destination);
  const findings = Object.entries(filtersOf(deployment, settings)).map(([what, filter]) =>
    judgeSink(
      `sink ${what}`,
      { project, name: `${deployment}-${what}`, destination, filter },
      sinks,
    ),
  );
  if (missing.has(topic)) return findings;
  const writers = [...new Set(sinks.map(({ writerIdentity }) => asString(writerIdentity) ?? ''))];
  const rights = await eachOf(writers, (writer) => {
    const principal = writer.replace(/^serviceAccount:/, '');
    const agent = /@([^.]+)/.exec(principal)?.[1] ?? principal;
    const access = { principal, permission: 'pubsub.topics.publish' };
    return checkAccess(
      reader,
      `agent ${agent}: ${access.permission} on ${deployment}-run-signals`,
      { ...access, resource: `//pubsub.googleapis.com/${topic}` },
      `gcloud pubsub topics add-iam-policy-binding ${deployment}-run-signals --project=${project} --member=${writer} --role=roles/pubsub.publisher`,
    );
  });
  return [...findings, ...rights];
}

function filtersOf(deployment: string, settings: Deployed['settings']) {
  const signals = { signals: signalFilter(deployment) };
  if (settings?.plan.jobs.readerServiceAccount == null) return signals;
  const { plan } = settings;
  return { ...signals, 'task-events': taskEventFilter(plan), executions: completionFilter(plan) };
}

interface WantedSink {
  readonly project: string;
  readonly name: string;
  readonly destination: string;
  readonly filter: string;
}

function judgeSink(check: string, wanted: WantedSink, sinks: readonly JsonObject[]): Finding {
  const plain = (filter: unknown) => String(filter).replace(/\s+/g, ' ').trim();
  const right = sinks.find(
    (sink) =>
      plain(sink.filter) === plain(wanted.filter) &&
      sink.disabled !== true &&
      exclusionsOf(sink).length === 0,
  );
  if (right !== undefined) return ok(check, `${right.name}`);
  const { project, name, destination, filter } = wanted;
  const named = sinks.find((sink) => sink.name === name);
  return named === undefined
    ? fault(
        check,
        'no sink takes these entries',
        `gcloud logging sinks create ${name} ${destination} --project=${project} --log-filter='${filter}'`,
      )
    : fault(
        check,
        whatIsWrong(named, plain(named.filter)),
        `gcloud logging sinks update ${name} --project=${project} --no-disabled --clear-exclusions --log-filter='${filter}'`,
      );
}

const exclusionsOf = ({ exclusions }: JsonObject) =>
  asArray(exclusions)
    .map(asObject)
    .filter(({ disabled }) => disabled !== true);

function whatIsWrong(sink: JsonObject, filter: string): string {
  if (sink.disabled === true) return 'is disabled';
  const [excluded] = exclusionsOf(sink);
  return excluded === undefined ? `takes ${filter}` : `leaves out ${excluded.filter}`;
}

/** The push account may call each function that is there, and nobody else without a name may. */
export function checkInvokers(deployed: Deployed): Promise<Finding[]> {
  const { reader, project, region, deployment, urls } = deployed;
  const push = accountOf(deployed, 'push');
  return eachOf([...urls.keys()], async (name) => {
    const service = `${deployment}-${name}`;
    const check = `invoker ${service}`;
    const path = `projects/${project}/locations/${region}/services/${service}`;
    const binding = (verb: string, member: string) =>
      `gcloud run services ${verb}-iam-policy-binding ${service} --project=${project} --region=${region} --member=${member} --role=roles/run.invoker`;
    const answer = await reader.get('RUN', `v2/${path}:getIamPolicy`);
    if (answer.kind === 'unknown') return unreadable(check, answer.error);
    const bindings = answer.kind === 'gone' ? [] : asArray(answer.body.bindings).map(asObject);
    const open = bindings
      .flatMap(({ members }) => asArray(members).map(String))
      .find((member) => member === 'allUsers' || member === 'allAuthenticatedUsers');
    if (open !== undefined) {
      return fault(check, `${open} may call it`, binding('remove', open));
    }
    const access = { principal: push, permission: 'run.routes.invoke' };
    const resource = `//run.googleapis.com/${path}`;
    return checkAccess(
      reader,
      check,
      { ...access, resource },
      binding('add', `serviceAccount:${push}`),
    );
  });
}
