// What a machine boots: Container-Optimized OS of a pinned long-term milestone (125, supported until
// 2027-09), the Arm variant for Arm, or what the request names.
import type { Architecture } from '#shared/plan/model.ts';

const COS = 'projects/cos-cloud/global/images/family/cos-125-lts';
const COS_ARM64 = 'projects/cos-cloud/global/images/family/cos-arm64-125-lts';
const DEEP_LEARNING =
  'projects/deeplearning-platform-release/global/images/family/common-cu129-ubuntu-2204-nvidia-580';

/** The image path of `cos`, `deep-learning`, a full path, or nothing asked for. */
export function bootImagePath(asked: string | null, architecture: Architecture): string {
  if (asked === 'deep-learning') return DEEP_LEARNING;
  if (asked !== null && asked !== 'cos') return asked;
  return architecture === 'arm64' ? COS_ARM64 : COS;
}
