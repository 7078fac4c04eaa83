// Publishing to Pub/Sub topics, through @google-cloud/pubsub.

export interface Publisher {
  /** Publishes one message and gives its id; throws a CloudError when it was not accepted. */
  publish(
    topic: string,
    data: Uint8Array | string,
    attributes?: Readonly<Record<string, string>>,
  ): Promise<string>;
}
