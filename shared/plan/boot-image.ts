// What a machine boots: Container-Optimized OS of a pinned long-term milestone (125, supported until
// 2027-09), the Arm variant for Arm, or what the request names. Why: docs/boot-images.md.
import type { Architecture } from '#shared/plan/model.ts';

const COS = 'projects/cos-cloud/global/images/family/cos-125-lts';
const COS_ARM64 = 'projects/cos-cloud/global/images/family/cos-arm64-125-lts';
const DEEP_LEARNING =
  'projects/deeplearning-platform-release/global/images/family/common-cu129-ubuntu-2204-nvidia-580';
/** Driver included too, and there for Arm. */
const ACCELERATOR_ARM64 =
  'projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accelerator-2204-arm64-with-nvidia-580';

/** How the machine gets docker and drivers: COS has docker; what has apt may have to install it. */
export type BootImageKind = 'cos' | 'apt';

/** The image path of `cos`, `deep-learning`, a full path, or nothing asked for. */
export function bootImagePath(asked: string | null, architecture: Architecture): string {
  if (asked === 'deep-learning') {
    return architecture === 'arm64' ? ACCELERATOR_ARM64 : DEEP_LEARNING;
  }
  if (asked !== null && asked !== 'cos') return asked;
  return architecture === 'arm64' ? COS_ARM64 : COS;
}

/** By the path: Google's own COS project, or an image that somebody built from it and named so. */
export function bootImageKind(asked: string | null): BootImageKind {
  return asked === null || /(?:^|\/)cos(?:-|$)/.test(asked) ? 'cos' : 'apt';
}
