// Entries of Cloud Logging that match a filter, oldest first, page by page (entries.list of its REST API).
import * as z from 'zod';
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import { unreadableReply } from '#shared/cloud/errors.ts';
import type { Transport } from '#shared/cloud/http.ts';
import { createRest } from '#shared/cloud/rest.ts';

export interface LogEntry {
  /** Names the entry across readings. */
  readonly key: string;
  readonly at: string;
  readonly text: string;
}

/** Every entry that matches, a page at a time. Throws a CloudError. */
export type LogReader = (filter: string) => AsyncGenerator<readonly LogEntry[]>;

const PAGE_ENTRIES = 1000;
const METHOD = 'logging.entries.list';

const pageShape = z.looseObject({
  entries: z
    .array(
      z.looseObject({
        insertId: z.string().default(''),
        timestamp: z.string(),
        textPayload: z.string().optional(),
        jsonPayload: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .default([]),
  nextPageToken: z.string().default(''),
});

export function openLogReader(options: {
  readonly project: string;
  readonly endpoint: string | null;
  readonly transport: Transport;
}): LogReader {
  const rest = createRest(options.endpoint ?? GOOGLE_ENDPOINTS.logging, options);
  return async function* read(filter) {
    let pageToken = '';
    do {
      const body = {
        ...{ resourceNames: [`projects/${options.project}`], filter },
        ...{ orderBy: 'timestamp asc', pageSize: PAGE_ENTRIES },
        ...(pageToken === '' ? {} : { pageToken }),
      };
      const call = { path: ['v2', 'entries'], verb: 'list', body };
      const page = pageShape.safeParse(await rest.read(METHOD, call, 'POST'));
      if (!page.success) throw unreadableReply(METHOD, 200, page.error.message);
      yield page.data.entries.map(({ insertId, timestamp, textPayload, jsonPayload }) => ({
        key: `${timestamp} ${insertId}`,
        at: timestamp,
        text: (textPayload ?? textOf(jsonPayload)).replace(/\n$/, ''),
      }));
      pageToken = page.data.nextPageToken;
    } while (pageToken !== '');
  };
}

function textOf(payload: Readonly<Record<string, unknown>> | undefined): string {
  if (payload === undefined) return '';
  return typeof payload.message === 'string' ? payload.message : JSON.stringify(payload);
}
