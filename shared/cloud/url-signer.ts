// Signed access to single objects (V4), for tasks whose account may read nothing but their bootstrap.
import type { Form, FormRequest, SignedAddress, SignedUrlRequest } from '#shared/plan/bootstrap.ts';

/** A form (POST policy document, V4) by which any object under a prefix may be uploaded. */
export interface UploadForm extends Form {
  /** What every `key` field begins with. */
  readonly prefix: string;
  readonly bucket: string;
}

/** Throws a CloudError when the signature cannot be had. */
export interface UrlSigner {
  signUrl(request: SignedUrlRequest): Promise<SignedAddress>;
  signForm(request: FormRequest): Promise<UploadForm>;
}
