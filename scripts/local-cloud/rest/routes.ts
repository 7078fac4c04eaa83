// Google's REST paths and the API methods behind them. `{name}` takes one path segment, decoded; a verb
// after a colon belongs to the last segment.

export interface Route {
  readonly verb: string;
  readonly path: string;
  readonly method: string;
}

const ZONE = '/compute/v1/projects/{project}/zones/{zone}';
const PROJECT = '/compute/v1/projects/{project}';
const SECRETS = '/v1/projects/{project}/secrets';
const RUN = '/v2/projects/{project}/locations/{location}';
const KNATIVE = '/apis/run.googleapis.com/v1/namespaces/{namespace}';
const ACCOUNTS = '/v1/projects/{project}/serviceAccounts';
const JOBS = '/v1/projects/{project}/locations/{location}/jobs';

const routes = (text: string): Route[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [verb = '', path = '', method = ''] = line.trim().split(/\s+/);
      return { verb, path, method };
    });

/** Both path styles of the real clients: with `/storage/v1` in front and without. */
const storageRoutes = ['/storage/v1', ''].flatMap((base) =>
  routes(`
    GET    ${base}/b                                    storage.buckets.list
    POST   ${base}/b                                    storage.buckets.insert
    GET    ${base}/b/{bucket}                           storage.buckets.get
    PATCH  ${base}/b/{bucket}                           storage.buckets.patch
    DELETE ${base}/b/{bucket}                           storage.buckets.delete
    GET    ${base}/b/{bucket}/o                         storage.objects.list
    GET    ${base}/b/{bucket}/o/{object}                storage.objects.get
    DELETE ${base}/b/{bucket}/o/{object}                storage.objects.delete
    PATCH  ${base}/b/{bucket}/o/{object}                storage.objects.patch
    GET    ${base}/b/{bucket}/notificationConfigs       storage.notifications.list
    POST   ${base}/b/{bucket}/notificationConfigs       storage.notifications.insert
    DELETE ${base}/b/{bucket}/notificationConfigs/{notification} storage.notifications.delete
    POST   ${base}/b/{sourceBucket}/o/{sourceObject}/rewriteTo/b/{destinationBucket}/o/{destinationObject} storage.objects.rewrite
    POST   ${base}/b/{sourceBucket}/o/{sourceObject}/copyTo/b/{destinationBucket}/o/{destinationObject}    storage.objects.copy
  `),
);

export const ROUTES: readonly Route[] = [
  ...storageRoutes,
  ...routes(`
    GET    /download/storage/v1/b/{bucket}/o/{object}   storage.objects.get
    POST   /upload/storage/v1/b/{bucket}/o              storage.objects.insert
    PUT    /upload/storage/v1/b/{bucket}/o              storage.uploads.continue

    POST   ${ZONE}/instances                            compute.instances.insert
    GET    ${ZONE}/instances                            compute.instances.list
    GET    ${ZONE}/instances/{instance}                 compute.instances.get
    DELETE ${ZONE}/instances/{instance}                 compute.instances.delete
    POST   ${ZONE}/instances/{instance}/stop            compute.instances.stop
    POST   ${ZONE}/instances/{instance}/start           compute.instances.start
    POST   ${ZONE}/instances/{instance}/reset           compute.instances.reset
    POST   ${ZONE}/instances/{instance}/setLabels       compute.instances.setLabels
    GET    ${ZONE}/instances/{instance}/getGuestAttributes compute.instances.getGuestAttributes
    GET    ${PROJECT}/aggregated/instances              compute.instances.aggregatedList
    GET    ${PROJECT}/aggregated/disks                  compute.disks.aggregatedList
    GET    ${PROJECT}/aggregated/machineTypes           compute.machineTypes.aggregatedList
    POST   ${ZONE}/disks                                compute.disks.insert
    GET    ${ZONE}/disks                                compute.disks.list
    GET    ${ZONE}/disks/{disk}                         compute.disks.get
    DELETE ${ZONE}/disks/{disk}                         compute.disks.delete
    GET    ${ZONE}/operations                           compute.zoneOperations.list
    GET    ${ZONE}/operations/{operation}               compute.zoneOperations.get
    POST   ${ZONE}/operations/{operation}/wait          compute.zoneOperations.wait
    DELETE ${ZONE}/operations/{operation}               compute.zoneOperations.delete
    GET    ${ZONE}/machineTypes                         compute.machineTypes.list
    GET    ${ZONE}/machineTypes/{machineType}           compute.machineTypes.get
    GET    ${ZONE}                                      compute.zones.get
    GET    ${PROJECT}/zones                             compute.zones.list
    GET    ${PROJECT}/regions                           compute.regions.list
    GET    ${PROJECT}/regions/{region}                  compute.regions.get
    GET    ${PROJECT}                                   compute.projects.get

    PUT    /v1/projects/{project}/topics/{topic}                         pubsub.topics.create
    GET    /v1/projects/{project}/topics                                 pubsub.topics.list
    GET    /v1/projects/{project}/topics/{topic}                         pubsub.topics.get
    DELETE /v1/projects/{project}/topics/{topic}                         pubsub.topics.delete
    POST   /v1/projects/{project}/topics/{topic}:publish                 pubsub.topics.publish
    PUT    /v1/projects/{project}/subscriptions/{subscription}           pubsub.subscriptions.create
    GET    /v1/projects/{project}/subscriptions                          pubsub.subscriptions.list
    GET    /v1/projects/{project}/subscriptions/{subscription}           pubsub.subscriptions.get
    DELETE /v1/projects/{project}/subscriptions/{subscription}           pubsub.subscriptions.delete
    POST   /v1/projects/{project}/subscriptions/{subscription}:pull      pubsub.subscriptions.pull
    POST   /v1/projects/{project}/subscriptions/{subscription}:acknowledge pubsub.subscriptions.acknowledge
    POST   /v1/projects/{project}/subscriptions/{subscription}:modifyAckDeadline pubsub.subscriptions.modifyAckDeadline

    POST   ${JOBS}                                      cloudscheduler.jobs.create
    GET    ${JOBS}                                      cloudscheduler.jobs.list
    GET    ${JOBS}/{job}                                cloudscheduler.jobs.get
    DELETE ${JOBS}/{job}                                cloudscheduler.jobs.delete
    POST   ${JOBS}/{job}:run                            cloudscheduler.jobs.run
    POST   ${JOBS}/{job}:pause                          cloudscheduler.jobs.pause
    POST   ${JOBS}/{job}:resume                         cloudscheduler.jobs.resume

    POST   ${RUN}/jobs                                         run.projects.locations.jobs.create
    GET    ${RUN}/jobs                                         run.projects.locations.jobs.list
    GET    ${RUN}/jobs/{job}                                   run.projects.locations.jobs.get
    DELETE ${RUN}/jobs/{job}                                   run.projects.locations.jobs.delete
    POST   ${RUN}/jobs/{job}:run                               run.projects.locations.jobs.run
    GET    ${RUN}/jobs/{job}/executions                        run.projects.locations.jobs.executions.list
    GET    ${RUN}/jobs/{job}/executions/{execution}            run.projects.locations.jobs.executions.get
    DELETE ${RUN}/jobs/{job}/executions/{execution}            run.projects.locations.jobs.executions.delete
    POST   ${RUN}/jobs/{job}/executions/{execution}:cancel     run.projects.locations.jobs.executions.cancel
    GET    ${RUN}/jobs/{job}/executions/{execution}/tasks      run.projects.locations.jobs.executions.tasks.list
    GET    ${RUN}/operations/{operation}                       run.projects.locations.operations.get
    GET    ${KNATIVE}/executions                               run.namespaces.executions.list
    GET    ${KNATIVE}/executions/{execution}                   run.namespaces.executions.get
    DELETE ${KNATIVE}/executions/{execution}                   run.namespaces.executions.delete
    POST   ${KNATIVE}/executions/{execution}:cancel            run.namespaces.executions.cancel
    GET    ${KNATIVE}/tasks                                    run.namespaces.tasks.list
    GET    ${KNATIVE}/jobs                                     run.namespaces.jobs.list
    GET    ${KNATIVE}/jobs/{job}                               run.namespaces.jobs.get

    POST   ${SECRETS}                                         secretmanager.secrets.create
    POST   ${SECRETS}/{secret}:addVersion                      secretmanager.secrets.addVersion
    GET    ${SECRETS}/{secret}/versions/{version}:access       secretmanager.versions.access
    POST   ${SECRETS}/{secret}/versions/{version}:disable      secretmanager.versions.disable
    POST   ${SECRETS}/{secret}/versions/{version}:enable       secretmanager.versions.enable
    POST   ${SECRETS}/{secret}/versions/{version}:destroy      secretmanager.versions.destroy

    POST   /v2/entries:write                            logging.entries.write
    POST   /v2/entries:list                             logging.entries.list
    POST   /v2/projects/{project}/sinks                 logging.projects.sinks.create
    GET    /v2/projects/{project}/sinks                 logging.projects.sinks.list
    GET    /v2/projects/{project}/sinks/{sink}          logging.projects.sinks.get
    DELETE /v2/projects/{project}/sinks/{sink}          logging.projects.sinks.delete

    POST   /v1/projects/-/serviceAccounts/{account}:signBlob  iamcredentials.projects.serviceAccounts.signBlob

    POST   /v1/projects/{project}/topics/{topic}:setIamPolicy                 pubsub.topics.setIamPolicy
    GET    /v1/projects/{project}/topics/{topic}:getIamPolicy                 pubsub.topics.getIamPolicy
    POST   /v1/projects/{project}/subscriptions/{subscription}:setIamPolicy   pubsub.subscriptions.setIamPolicy
    GET    /v1/projects/{project}/subscriptions/{subscription}:getIamPolicy   pubsub.subscriptions.getIamPolicy
    POST   ${RUN}/services/{service}:setIamPolicy              run.services.setIamPolicy
    GET    ${RUN}/services/{service}:getIamPolicy              run.services.getIamPolicy
    POST   /v3/projects/{project}:setIamPolicy                 resourcemanager.projects.setIamPolicy
    POST   /v3/projects/{project}:getIamPolicy                 resourcemanager.projects.getIamPolicy
    POST   /v3/iam:troubleshoot                                policytroubleshooter.iam.troubleshoot

    POST   ${ACCOUNTS}                                  iam.serviceAccounts.create
    GET    ${ACCOUNTS}/{account}                        iam.serviceAccounts.get
    DELETE ${ACCOUNTS}/{account}                        iam.serviceAccounts.delete
    POST   ${ACCOUNTS}/{account}:disable                iam.serviceAccounts.disable
    POST   ${ACCOUNTS}/{account}:enable                 iam.serviceAccounts.enable
    POST   ${ACCOUNTS}/{account}:setIamPolicy           iam.serviceAccounts.setIamPolicy
    POST   ${ACCOUNTS}/{account}:getIamPolicy           iam.serviceAccounts.getIamPolicy

    GET    /v1/projects/{project}/services                     serviceusage.services.list
    POST   /v1/projects/{project}/services/{service}:enable    serviceusage.services.enable
    POST   /v1/projects/{project}/services/{service}:disable   serviceusage.services.disable

    POST   ${RUN}/functions                             cloudfunctions.functions.create
    GET    ${RUN}/functions/{function}                  cloudfunctions.functions.get
    DELETE ${RUN}/functions/{function}                  cloudfunctions.functions.delete

    GET    /oauth2/v3/certs                             oauth2.certs
  `).filter(({ method }) => method !== ''),
];
