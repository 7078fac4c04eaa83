// Base64 as senders really write it: either alphabet (RFC 4648 §4 and §5), with or without padding.
// Node's own decoder skips what it cannot read; this one says no.

/** The bytes, or null when the text is not base64 or mixes the two alphabets. */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.endsWith('=') && text.length % 4 !== 0) return null;
  const unpadded = text.replace(/={1,2}$/, '');
  if (!/^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)$/.test(unpadded)) return null;
  if (unpadded.length % 4 === 1) return null;
  return Buffer.from(unpadded, 'base64');
}
