// Publishing to Pub/Sub topics, through @google-cloud/pubsub over REST, loaded at the first message.
// A message is sent at once, alone, within its own deadline; a lost reply may publish it twice.
import {
  REPEAT_POLICY,
  repeatWhileRetriable,
  type TimingOptions,
  timingOf,
  withDeadline,
} from '#shared/cloud/deadline.ts';
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import { translateRpcError, unreadableReply } from '#shared/cloud/errors.ts';
import { rpcCallOptions, rpcClientOptions, withScheme } from '#shared/cloud/rpc-client.ts';
import { type Credentials, ensureToken } from '#shared/cloud/token.ts';

export interface Publisher {
  /** Publishes one message and gives its id; throws a CloudError when it was not accepted. */
  publish(
    topic: string,
    data: Uint8Array | string,
    attributes?: Readonly<Record<string, string>>,
  ): Promise<string>;
}

export interface PublisherOptions extends TimingOptions {
  readonly project: string;
  /** Base URL, or an emulator's `host:port`; null: Google's own. */
  readonly endpoint: string | null;
  /** `noCredentials()` against an emulator. */
  readonly credentials: Credentials;
}

const TIMEOUT_MS = 10_000;
const METHOD = 'pubsub.projects.topics.publish';

/** A topic is given by its short name or as `projects/P/topics/T`. */
export function createPublisher(options: PublisherOptions): Publisher {
  const endpoint = withScheme(options.endpoint ?? GOOGLE_ENDPOINTS.pubsub);
  const { credentials } = options;
  const timing = timingOf(options, TIMEOUT_MS);
  const { timeoutMs } = timing;
  let kept: ReturnType<typeof openClient> | null = null;
  const publishOnce = async (request: PublishRequest): Promise<string> => {
    kept ??= openClient(endpoint, credentials);
    const client = await kept;
    return withDeadline(METHOD, timeoutMs, async (signal) => {
      // First: the client would report a token endpoint's 404 as the topic's.
      await ensureToken(credentials, endpoint);
      try {
        const [reply] = await client.publish(request, rpcCallOptions(timeoutMs, signal));
        const id = reply.messageIds?.[0];
        if (!id) throw unreadableReply(METHOD, 200, 'no message id');
        return id;
      } catch (error) {
        throw translateRpcError(METHOD, error);
      }
    });
  };
  return {
    publish: (topic, data, attributes) => {
      const request = {
        topic: topic.startsWith('projects/')
          ? topic
          : `projects/${options.project}/topics/${topic}`,
        messages: [{ data: Buffer.from(data), attributes: { ...attributes } }],
      };
      return repeatWhileRetriable(timing, REPEAT_POLICY, () => publishOnce(request));
    },
  };
}

interface PublishRequest {
  readonly topic: string;
  readonly messages: { readonly data: Buffer; readonly attributes: Record<string, string> }[];
}

async function openClient(endpoint: string, credentials: Credentials) {
  const [{ v1 }, auth] = await Promise.all([import('@google-cloud/pubsub'), credentials.auth()]);
  return new v1.PublisherClient(rpcClientOptions(endpoint, auth));
}
