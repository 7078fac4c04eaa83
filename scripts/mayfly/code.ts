// `submit --code DIR`: a folder becomes the request's package, stored once under the hash of its content.
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Cloud } from '#scripts/mayfly/cloud.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { packFolder } from '#scripts/mayfly/package.ts';
import type { RequestFields } from '#scripts/mayfly/request-file.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { CODE_PREFIX } from '#shared/plan/objects.ts';

export interface Code {
  /** Of the request. */
  readonly fields: RequestFields;
  /** Stores the package, unless it is there already. Throws a CloudError. */
  store(): Promise<void>;
}

export async function packCode(folder: string, cloud: Cloud, terminal: Terminal): Promise<Code> {
  const path = resolve(terminal.folder, folder);
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isDirectory()) {
    throw usageError(`--code ${JSON.stringify(folder)}: there is no folder ${path}`);
  }
  const { sha256, bytes, files } = await packFolder(path);
  if (files === 0)
    throw usageError(`--code ${JSON.stringify(folder)}: there is no file in ${path}`);
  const name = `${CODE_PREFIX}${slugOf(basename(path))}-${sha256}.tar.gz`;
  const uri = `gs://${cloud.target.bucket}/${name}`;
  return {
    fields: { package: { uri, sha256 } },
    async store() {
      const reply = await cloud.store.write(name, bytes, {
        ...{ ifGeneration: '0', contentType: 'application/gzip' },
      });
      // One that is there has these bytes: its name is their hash.
      const how = reply.kind === 'written' ? `${bytes.length} bytes stored` : 'stored already';
      const count = files === 1 ? '1 file' : `${files} files`;
      terminal.note(`package ${uri}: ${count}, ${how}`);
    },
  };
}

const slugOf = (text: string) => text.replaceAll(/[^A-Za-z0-9._]+/g, '-').slice(0, 40) || 'code';
