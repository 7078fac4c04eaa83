// What a task knows when it starts: the variables of its Job, its execution and the platform. Nothing
// else of the project reads an environment here.

export interface TaskEnvironment {
  readonly runId: string;
  readonly attempt: number;
  readonly nonce: string;
  /** Where the bootstrap object is, the nonce filled in. */
  readonly bootstrapUrl: string;
  readonly region: string;
  /** The execution's short name. */
  readonly execution: string;
  readonly task: number;
  readonly taskCount: number;
  /** From 0; the Jobs are made without retries, so a later one is a second life of a task. */
  readonly taskAttempt: number;
  readonly metadataHost: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws when a variable is missing or makes no sense, naming all that do. */
export function readTaskEnvironment(variables: Variables): TaskEnvironment {
  const wrong: string[] = [];
  const text = (name: string) => {
    const value = variables[name] ?? '';
    if (value === '') wrong.push(name);
    return value;
  };
  const number = (name: string, fallback: string | undefined, least: number) => {
    const value = variables[name] ?? fallback ?? '';
    if (!/^\d{1,9}$/.test(value) || Number(value) < least) wrong.push(name);
    return Number(value);
  };
  const nonce = text('MAYFLY_NONCE');
  if (nonce !== '' && !/^[0-9a-f]{32,64}$/.test(nonce)) wrong.push('MAYFLY_NONCE');
  const read: TaskEnvironment = {
    runId: text('MAYFLY_RUN_ID'),
    attempt: number('MAYFLY_ATTEMPT', undefined, 1),
    nonce,
    bootstrapUrl: text('MAYFLY_BOOTSTRAP_URL').replace('{nonce}', nonce),
    region: text('MAYFLY_REGION'),
    execution: text('CLOUD_RUN_EXECUTION'),
    task: number('CLOUD_RUN_TASK_INDEX', undefined, 0),
    taskCount: number('CLOUD_RUN_TASK_COUNT', undefined, 1),
    taskAttempt: number('CLOUD_RUN_TASK_ATTEMPT', '0', 0),
    metadataHost: variables.GCE_METADATA_HOST ?? 'metadata.google.internal',
  };
  if (wrong.length > 0) throw new Error(`missing or wrong: ${[...new Set(wrong)].join(', ')}`);
  return read;
}

/** What the command inherits: the image's own variables, without those that are the supervisor's. */
export function inheritedVariables(variables: Variables): Record<string, string> {
  const kept = Object.entries(variables).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !entry[0].startsWith('MAYFLY_') && entry[0] !== 'GCE_METADATA_HOST',
  );
  return Object.fromEntries(kept);
}
