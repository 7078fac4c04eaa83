// A world with one Job, and its calls by their REST paths, as a client makes them.
import type { Reply } from '#scripts/local-cloud/call.ts';
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { routeRequest } from '#scripts/local-cloud/rest/router.ts';
import { PROJECT, TestWorld } from '#test/local-cloud/fixtures.ts';

export const REGION = 'europe-west1';
export const PLACE = `projects/${PROJECT}/locations/${REGION}`;
export const JOB = 'mayfly-base-bayes-s';
export const TASK_ACCOUNT = `jobs-task@${PROJECT}.iam.gserviceaccount.com`;

/** The definition of a Job, with other fields of its task template. */
export function jobBody(template: object = {}, execution: object = {}) {
  return {
    template: {
      ...execution,
      template: {
        containers: [
          {
            image: 'europe-docker.pkg.dev/p/r/base-bayes:1',
            resources: { limits: { cpu: '2', memory: '8Gi' } },
            env: [
              { name: 'MAYFLY_CLASS', value: 'S' },
              { name: 'KEPT', value: '' },
            ],
          },
        ],
        maxRetries: 0,
        timeout: '600s',
        serviceAccount: TASK_ACCOUNT,
        ...template,
      },
    },
  };
}

export class RunWorld extends TestWorld {
  constructor(choices: WorldChoices = {}, job: object = jobBody()) {
    super(choices);
    const reply = this.rest('POST', `/v2/${PLACE}/jobs?jobId=${JOB}`, job);
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  }

  rest(verb: string, path: string, body?: unknown, principal: string | null = null): Reply {
    const target = routeRequest(verb, path);
    if (target === null) throw new Error(`no route ${verb} ${path}`);
    return this.call(target.method, target.params, body, principal);
  }

  /** Starts an execution and gives its full name. */
  run(overrides?: object): string {
    const body = overrides === undefined ? {} : { overrides };
    const reply = this.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, body);
    const metadata = reply.body?.metadata as { name?: string } | undefined;
    if (metadata?.name === undefined) throw new Error(JSON.stringify(reply.body));
    return metadata.name;
  }

  execution(name: string): Record<string, unknown> {
    return this.rest('GET', `/v2/${name}`).body ?? {};
  }

  tasks(name: string): Record<string, unknown>[] {
    const reply = this.rest('GET', `/v2/${name}/tasks`);
    return (reply.body?.tasks ?? []) as Record<string, unknown>[];
  }

  /** Executions by their short names, page by page. */
  listed(query = ''): string[] {
    const names: string[] = [];
    for (let token = ''; ; ) {
      const path = `/v2/${PLACE}/jobs/${JOB}/executions?pageToken=${token}${query}`;
      const { executions = [], nextPageToken } = this.rest('GET', path).body as {
        executions?: { name: string }[];
        nextPageToken?: string;
      };
      names.push(...executions.map(({ name }) => name.replace(/^.*\//, '')));
      if (nextPageToken === undefined) return names;
      token = nextPageToken;
    }
  }

  /** The task's process ends, as its host tells. */
  end(execution: string, how: { task?: number; exitCode?: number; termSignal?: number }): void {
    this.call('local.run.taskEnded', {}, { execution, ...how });
  }
}

/** The condition of that type. */
export function condition(resource: Record<string, unknown>, type = 'Completed') {
  const conditions = (resource.conditions ?? []) as Record<string, string>[];
  return conditions.find((one) => one.type === type);
}
