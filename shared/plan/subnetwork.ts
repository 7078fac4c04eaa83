// Subnetworks as people write them, and the one partial path that all of them mean.
import type { Broken } from '#shared/plan/fault.ts';

const NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const URL_START = /^https:\/\/(?:www\.googleapis\.com|compute\.googleapis\.com)\/compute\/v1\//;
const PATH = /^(?:projects\/([a-z0-9.:-]+)\/)?regions\/([a-z0-9-]+)\/subnetworks\/([a-z0-9-]+)$/;

export type Subnetwork =
  | { readonly kind: 'path'; readonly path: string }
  | ({ readonly kind: 'broken' } & Broken);

/**
 * `projects/P/regions/R/subnetworks/S` of a bare name, a partial path or a full URL. A bare name is
 * one of `project` and `region`; a path of another region is refused.
 */
export function subnetworkPath(text: string, region: string, project: string): Subnetwork {
  const full = `projects/${project}/regions/${region}/subnetworks`;
  if (NAME.test(text)) return { kind: 'path', path: `${full}/${text}` };
  const accepted = `${full}/NAME`;
  const parts = PATH.exec(text.replace(URL_START, ''));
  if (parts === null) {
    const rule = 'a subnetwork is a name, a partial path, or the URL of one';
    return { kind: 'broken', rule, accepted };
  }
  const [, owner = project, of = '', name = ''] = parts;
  if (of !== region) {
    const rule = `the subnetwork of region ${region} lies in ${region}, not in ${of}`;
    return { kind: 'broken', rule, accepted };
  }
  if (!NAME.test(name)) {
    return { kind: 'broken', rule: 'this is no name of a subnetwork', accepted };
  }
  return { kind: 'path', path: `projects/${owner}/regions/${region}/subnetworks/${name}` };
}
