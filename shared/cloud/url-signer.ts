// Signed access to single objects (V4), for tasks whose account may read nothing but their bootstrap.

/** `GET`: one generation. `PUT`: create-only, refused with 412 when the object is there. */
export interface SignedUrlRequest {
  readonly method: 'GET' | 'PUT';
  readonly bucket: string;
  readonly object: string;
  /** Of a `GET`; absent: the live one. */
  readonly generation?: string;
  readonly contentType?: string;
}

export interface SignedUrl {
  readonly url: string;
  /** Exactly these headers are to be sent. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A form (POST policy document, V4) by which any object under a prefix may be uploaded. */
export interface UploadForm {
  readonly url: string;
  readonly fields: Readonly<Record<string, string>>;
  /** What every `key` field begins with. */
  readonly prefix: string;
  readonly bucket: string;
}

/** Throws a CloudError when the signature cannot be had. */
export interface UrlSigner {
  signUrl(request: SignedUrlRequest): Promise<SignedUrl>;
  signForm(request: { readonly bucket: string; readonly prefix: string }): Promise<UploadForm>;
}
