// Versions of secrets in Secret Manager, `projects/p/secrets/s/versions/3` or `…/latest`.
import type { Broken } from '#shared/plan/fault.ts';

export const SECRET_VERSION =
  /^projects\/[a-z0-9:.-]+\/secrets\/[A-Za-z0-9_-]{1,255}\/versions\/(?:[1-9]\d*|latest)$/;

export const brokenSecretVersion = (text: string): Broken | null =>
  SECRET_VERSION.test(text)
    ? null
    : {
        rule: 'a secret is given by a version of it in Secret Manager',
        accepted: 'projects/p/secrets/s/versions/3',
      };

/** `latest` can be another secret at the next attempt. */
export const isLatestVersion = (text: string) => text.endsWith('/versions/latest');
