// A process host with two small servers in place of the local cloud: every request that a machine's
// script makes is an event that a test can wait for, so that no test sleeps.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { HostedMachine } from '#scripts/local-cloud/host/machine-host.ts';
import { whyNoNamespace } from '#scripts/local-cloud/host/namespace.ts';
import {
  type ProcessHostOptions,
  ProcessMachineHost,
} from '#scripts/local-cloud/host/process-host.ts';
import { findProcesses } from '#scripts/local-cloud/sandbox/processes.ts';
import { isRequired } from '#test/required.ts';

/** Null, or why machines cannot have namespaces here. Fails where the caller demands them. */
export function namespacesMissing(): string | null {
  const reason = whyNoNamespace();
  if (reason !== null && isRequired('namespaces'))
    throw new Error(`namespaces are required here: ${reason}`);
  return reason;
}

export class HostFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'mayfly-host-'));
  readonly poweredOff: string[] = [];
  readonly failures: unknown[] = [];
  readonly host: ProcessMachineHost;
  readonly #cloud: RecordingServer;
  readonly #metadata: RecordingServer;
  #disposed = false;

  private constructor(
    servers: readonly [RecordingServer, RecordingServer],
    options: Partial<ProcessHostOptions>,
  ) {
    [this.#cloud, this.#metadata] = servers;
    this.host = new ProcessMachineHost(
      {
        folder: this.folder,
        cloudPort: () => this.#cloud.port,
        failed: (_machine, error) => this.failures.push(error),
        env: { PATH: process.env.PATH },
        engine: null,
        ...options,
      },
      (id) => this.poweredOff.push(id),
    );
  }

  static async open(options: Partial<ProcessHostOptions>): Promise<HostFixture> {
    const servers = [new RecordingServer(), new RecordingServer()] as const;
    for (const server of servers) await server.listen();
    const fixture = new HostFixture(servers, options);
    // Also for a test that runs out of time, and so never leaves its block.
    onTestFinished(() => fixture[Symbol.asyncDispose]());
    return fixture;
  }

  /** A machine whose scripts begin with what a test's script needs: `tell PATH` posts stdin. */
  machine(startup: string, fields: Partial<HostedMachine> & { shutdown?: string } = {}) {
    const { shutdown, ...rest } = fields;
    const tell = `tell() { curl --silent --data-binary @- http://127.0.0.1:${this.#cloud.port}/$1; }\n`;
    return {
      ...{ id: '1234567890123456789', name: 'machine-1', zone: 'us-central1-a', project: 'p' },
      ...{ boot: 1, principal: null, metadataHost: `127.0.0.1:${this.#metadata.port}` },
      metadata: {
        'startup-script': tell + startup,
        ...(shutdown === undefined ? {} : { 'shutdown-script': tell + shutdown }),
      },
      ...rest,
    };
  }

  /** The body of the next request to the cloud on that path. */
  told(path: string): Promise<string> {
    return this.#cloud.next(`/${path}`);
  }

  /** The headers of the next request to the metadata server on that path. */
  askedMetadata(path: string): Promise<string> {
    return this.#metadata.next(path);
  }

  processes(): number[] {
    return findProcesses({ marks: [this.host.mark], groups: [] });
  }

  machineFolders(): string[] {
    return readdirSync(this.folder).filter((name) => name !== 'compile-cache');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await this.host[Symbol.asyncDispose]();
    await this.#cloud.close();
    await this.#metadata.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Looks again until the claim holds; the test's own time limit is the bound. */
export async function eventually(claim: () => boolean): Promise<void> {
  while (!claim()) await pause(10);
}

class RecordingServer {
  readonly #server: Server;
  readonly #waiting = new Map<string, ((body: string) => void)[]>();
  readonly #arrived = new Map<string, string[]>();

  constructor() {
    this.#server = createServer(async (request, response) => {
      const body = await bodyOf(request);
      response.setHeader('Metadata-Flavor', 'Google');
      response.end(`reply to ${request.url}`);
      this.#take(request.url ?? '', body);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  next(path: string): Promise<string> {
    const body = this.#arrived.get(path)?.shift();
    if (body !== undefined) return Promise.resolve(body);
    return new Promise((resolve) => {
      this.#waiting.set(path, [...(this.#waiting.get(path) ?? []), resolve]);
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(path: string, body: string): void {
    const resolve = this.#waiting.get(path)?.shift();
    if (resolve !== undefined) resolve(body);
    else this.#arrived.set(path, [...(this.#arrived.get(path) ?? []), body]);
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const body = await text(request);
  return request.method === 'GET' ? JSON.stringify(request.headers) : body;
}
