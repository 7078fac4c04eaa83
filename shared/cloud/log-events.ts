// Every event name that a log line of a function may have: metrics, alerts and people count on them, so a
// name is added here first and never changed. One table for code and documents.

export interface LogEventFacts {
  /** The gravest it is written with. */
  readonly severity: 'INFO' | 'NOTICE' | 'WARNING' | 'ERROR' | 'CRITICAL';
  readonly meaning: string;
  /** For the person who operates it. */
  readonly action: string;
}

const NOTHING = 'nothing';

export const LOG_EVENTS = {
  'cancel-sent': {
    severity: 'WARNING',
    meaning: 'An execution was told to stop; WARNING when the call failed.',
    action: 'nothing: the sweep sends it again',
  },
  'dead-letter': {
    severity: 'ERROR',
    meaning:
      'A message could not be read, or its deliveries were used up; it is kept under runs/dead/.',
    action: 'see "Dead letters"',
  },
  'delete-sent': {
    severity: 'WARNING',
    meaning: 'A machine was ordered to go; WARNING when the answer is not known.',
    action: 'nothing: the sweep sends it again',
  },
  'disk-deleted': {
    severity: 'NOTICE',
    meaning: 'A disk without its machine was deleted.',
    action: NOTHING,
  },
  'event-published': {
    severity: 'INFO',
    meaning: 'The CloudEvent of an end or of a rejection was published.',
    action: NOTHING,
  },
  'execution-cancelled': {
    severity: 'WARNING',
    meaning: 'An execution that no live attempt owns was told to stop.',
    action: 'look at its message when it comes more than once',
  },
  'execution-unread': {
    severity: 'WARNING',
    meaning: 'An execution could not be asked after.',
    action: 'nothing: the next pass asks again',
  },
  'insert-sent': {
    severity: 'INFO',
    meaning: 'A machine was ordered; the fields say where and what was answered.',
    action: NOTHING,
  },
  'leak-found': {
    severity: 'CRITICAL',
    meaning: 'A machine is still there five passes after it should have gone.',
    action: 'see "Leak found"',
  },
  'look-without-request': {
    severity: 'INFO',
    meaning: 'A look came for a run whose request is not stored.',
    action: NOTHING,
  },
  'machine-undeleted': {
    severity: 'ERROR',
    meaning: 'The delete of a machine was refused.',
    action: 'run the command in the message; give sweep compute.instances.delete',
  },
  'machine-unknown': {
    severity: 'WARNING',
    meaning: 'A machine could not be judged in this pass, so it was left alone.',
    action: 'look at the record of its run when it lasts an hour',
  },
  'marker-ignored': {
    severity: 'WARNING',
    meaning: 'A marker could not be read.',
    action: 'look for a foreign writer under runs/gce-status/',
  },
  'marker-read': {
    severity: 'INFO',
    meaning: 'A machine has told of its state.',
    action: NOTHING,
  },
  'offers-not-kept': {
    severity: 'INFO',
    meaning: 'Where a machine type is on offer was asked for and could not be stored.',
    action: NOTHING,
  },
  'push-foreign': {
    severity: 'WARNING',
    meaning: 'A push of a subscription that is not in the settings was refused.',
    action: 'see "Authentication failures"',
  },
  'push-keys-unavailable': {
    severity: 'WARNING',
    meaning: "Google's public keys could not be fetched, so tokens cannot be verified.",
    action: 'see "Authentication failures"',
  },
  'push-retry': {
    severity: 'NOTICE',
    meaning: 'A delivery was answered with 503; Pub/Sub sends it again.',
    action: 'see "Old requests" when it lasts',
  },
  'push-unreadable': {
    severity: 'ERROR',
    meaning: 'The body of a push is no Pub/Sub envelope.',
    action: 'look for a caller that is not Pub/Sub',
  },
  'quotas-read': {
    severity: 'INFO',
    meaning: 'Quotas were asked for before a walk over the candidates.',
    action: NOTHING,
  },
  'request-failed': {
    severity: 'ERROR',
    meaning: 'A request ended with a fault; Pub/Sub sends it again.',
    action: 'read the error; a missing permission or a wrong setting shows here first',
  },
  'request-refused': {
    severity: 'WARNING',
    meaning: 'A caller was refused by its headers: 401, 403, 405, 413, 415 or 503.',
    action: 'see "Authentication failures"',
  },
  'request-rejected': {
    severity: 'WARNING',
    meaning: 'A request broke a rule; the rejection stands under runs/rejected/.',
    action: 'tell its publisher: the message names field, value and rule',
  },
  'result-ignored': {
    severity: 'ERROR',
    meaning: 'A notification did not lead to a result; ERROR when the object is none.',
    action: "look for a foreign writer under runs/results/; else check the bucket's notifications",
  },
  'run-ended': {
    severity: 'NOTICE',
    meaning: 'A run has its result; the fields carry status, cause, seconds and cost.',
    action: 'see the cause below when it is not SUCCEEDED',
  },
  'run-sent': {
    severity: 'INFO',
    meaning: 'An execution was ordered.',
    action: NOTHING,
  },
  'run-throttled': {
    severity: 'ERROR',
    meaning: 'jobs.run answered 429; calls to this region pause.',
    action: 'see "Throttled"',
  },
  'run-unknown': {
    severity: 'WARNING',
    meaning: 'A run could not be looked at in this pass.',
    action: 'nothing: the next pass looks again; read the code when it lasts',
  },
  'server-drained': {
    severity: 'WARNING',
    meaning: 'The instance ends; WARNING when requests were cut.',
    action: NOTHING,
  },
  'server-not-started': {
    severity: 'CRITICAL',
    meaning: 'A function could not start: wrong or missing settings are named.',
    action: 'correct the settings and deploy again',
  },
  'server-started': {
    severity: 'INFO',
    meaning: 'An instance of a function listens.',
    action: NOTHING,
  },
  'signal-ignored': {
    severity: 'WARNING',
    meaning: 'A log entry was about no machine of a known run.',
    action: 'narrow the filter of the log sink when there are many',
  },
  'signal-read': {
    severity: 'INFO',
    meaning: 'Something has happened to a machine; its run was looked at.',
    action: NOTHING,
  },
  'status-ignored': {
    severity: 'WARNING',
    meaning: 'A marker did not speak for the current attempt of its run.',
    action: 'nothing, unless it comes for every run: then compare bucket and deployment',
  },
  'strays-kept': {
    severity: 'CRITICAL',
    meaning: 'More machines without a record than one pass may delete.',
    action: 'see "Leak found"',
  },
  'sweep-done': {
    severity: 'NOTICE',
    meaning: 'A pass has ended; the field report has its counts.',
    action: 'nothing; its absence is "Sweep silent"',
  },
  'task-event-refused': {
    severity: 'WARNING',
    meaning: 'A task event had no valid signature, or was about no known run.',
    action: 'see "Task event refused"',
  },
  unplannable: {
    severity: 'ERROR',
    meaning: 'An accepted request can no longer be planned; its run ends as refused.',
    action: 'compare the fields in the message with the settings and the inputs',
  },
} as const satisfies Readonly<Record<string, LogEventFacts>>;

export type LogEvent = keyof typeof LOG_EVENTS;
