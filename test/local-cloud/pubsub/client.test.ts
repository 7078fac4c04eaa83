// The real @google-cloud/pubsub client, in its REST mode: no gRPC, so that it speaks to the server's one
// port. The endpoint is `host:port` without a scheme; `protocol` says that it is plain HTTP.
import { PubSub } from '@google-cloud/pubsub';
import { PassThroughClient } from 'google-auth-library';
import { expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';

function openClient(port: number): PubSub {
  const options = {
    projectId: 'local-project',
    apiEndpoint: `127.0.0.1:${port}`,
    fallback: true,
    protocol: 'http',
    authClient: new PassThroughClient(),
  };
  return new PubSub(options);
}

test('the client publishes over REST and is told when there is no such topic', async () => {
  await using cloud = await startLocalCloud();
  cloud.call('pubsub.topics.create', { project: 'local-project', topic: 'run-requests' });
  cloud.call(
    'pubsub.subscriptions.create',
    { project: 'local-project', subscription: 'sub' },
    { topic: 'projects/local-project/topics/run-requests' },
  );
  const client = openClient(cloud.port);
  const topic = client.topic('run-requests', { batching: { maxMessages: 1 } });
  const id = await topic.publishMessage({ data: Buffer.from('αβ'), attributes: { a: 'b' } });
  const params = { project: 'local-project', subscription: 'sub' };
  const pulled = cloud.call('pubsub.subscriptions.pull', params, { maxMessages: 10 });
  expect(pulled.body).toMatchObject({
    receivedMessages: [
      {
        message: {
          messageId: id,
          data: Buffer.from('αβ').toString('base64'),
          attributes: { a: 'b' },
        },
      },
    ],
  });
  const missing = client.topic('nowhere', { batching: { maxMessages: 1 } });
  await expect(missing.publishMessage({ data: Buffer.from('x') })).rejects.toMatchObject({
    code: 5,
  });
  await client.close();
});
