// Packages are named by their content: `…-<sha256>.tar.gz`.

/** The sha256 that the name of a package ends in, or null. */
export const packageSha256 = (uri: string): string | null =>
  /[-/]([0-9a-f]{64})\.tar\.gz$/.exec(uri)?.[1] ?? null;
