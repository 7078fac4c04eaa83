// The last complete checkpoint of each task: the newest manifest that can be read. A manifest is written
// after all its files, so that one that was cut off never counts.
import * as z from 'zod';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { CHECKPOINT_FILES_MAX, type CheckpointManifest } from '#shared/plan/bootstrap.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';
import type { RunRequest } from '#shared/plan/model.ts';
import { mapBounded } from '#shared/runs/jobs/map-bounded.ts';

type Files = CheckpointManifest['files'];
type Checkpoints = Readonly<Record<string, Readonly<Record<string, Files>>>>;

const MANIFEST_NAME = /\/(\d{1,2})-(\d{10})\.json$/;

/** Folder → task → files; tasks without a checkpoint are left out. */
export async function lastCheckpoints(
  openBucket: (bucket: string) => ObjectStore,
  { checkpoint, tasks }: RunRequest,
): Promise<Checkpoints> {
  const folders = await mapBounded(Object.entries(checkpoint), async ([path, uri]) => {
    const { bucket, object } = requireGsUri(uri);
    const store = openBucket(bucket);
    const indexes = Array.from({ length: tasks }, (_, index) => index);
    const found = await mapBounded(indexes, async (index) => {
      const folder = tasks === 1 ? object : `${object}tasks/${index}/`;
      return [String(index), await lastOf(store, `${folder}checkpoints/`)] as const;
    });
    const known = found.flatMap(([index, files]) =>
      files === null ? [] : [[index, files] as const],
    );
    return [path, Object.fromEntries(known)] as const;
  });
  return Object.fromEntries(folders);
}

async function lastOf(store: ObjectStore, prefix: string): Promise<Files | null> {
  for (const name of await manifestsNewestFirst(store, prefix)) {
    const reply = await store.read(name);
    const files = reply.kind === 'found' ? readManifest(reply.bytes) : null;
    if (files !== null) return files;
  }
  return null;
}

async function manifestsNewestFirst(store: ObjectStore, prefix: string): Promise<string[]> {
  const names: string[] = [];
  let pageToken: string | null = null;
  do {
    const page = await store.list(prefix, pageToken);
    names.push(...page.objects.map(({ name }) => name).filter((name) => MANIFEST_NAME.test(name)));
    pageToken = page.nextPageToken;
  } while (pageToken !== null);
  const order = (name: string) => {
    const [, attempt = '', count = ''] = MANIFEST_NAME.exec(name) ?? [];
    return attempt.padStart(2, '0') + count;
  };
  return names.sort((a, b) => (order(a) < order(b) ? 1 : -1));
}

/** A task wrote it: only files of its own folder, named by their content. */
const manifestShape = z.object({
  schema: z.literal(1),
  files: z
    .array(
      z.object({
        path: z.string().refine((path) => {
          return !path.startsWith('/') && !path.split('/').some((part) => /^\.{0,2}$/.test(part));
        }),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
        bytes: z.number().int().nonnegative(),
      }),
    )
    .max(CHECKPOINT_FILES_MAX),
});

function readManifest(bytes: Uint8Array): Files | null {
  try {
    const read = manifestShape.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
    return read.success ? read.data.files : null;
  } catch {
    return null;
  }
}
