// A planned script as bash gets to see it: what is packed stands in its place.
import { gunzipSync } from 'node:zlib';

const PACKED = /^SCRIPT=.*\n([\s\S]*)\nPACKED\n[\s\S]*$/m;

export function unpackScript(script: string): string {
  return script.replace(PACKED, (_, lines: string) =>
    gunzipSync(Buffer.from(lines, 'base64')).toString(),
  );
}
