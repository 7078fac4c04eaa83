// E-mail addresses of Google service accounts, in all forms that the platform hands out.
import type { Broken } from '#shared/plan/fault.ts';

const NAME = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?';
const OWNER = `(?:${NAME}\\.iam|developer|appspot)`;
export const SERVICE_ACCOUNT = new RegExp(`^${NAME}@${OWNER}\\.gserviceaccount\\.com$`);

export const SERVICE_ACCOUNT_RULE: Broken = {
  rule: 'a service account is given by its full e-mail address',
  accepted: 'name@project.iam.gserviceaccount.com',
};

/** Whether this is the full e-mail address of a service account: nothing else runs a machine. */
export const isServiceAccount = (text: string) => SERVICE_ACCOUNT.test(text);
