/** The media type of an image that models can read, by its first bytes, never by its name; undefined for all else. */
export function imageType(bytes: Uint8Array): string | undefined {
  const starts = (signature: string, at = 0): boolean =>
    Buffer.from(bytes.subarray(at, at + signature.length)).toString('latin1') === signature;
  if (starts('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (starts('\xff\xd8\xff')) return 'image/jpeg';
  if (starts('GIF87a') || starts('GIF89a')) return 'image/gif';
  return starts('RIFF') && starts('WEBP', 8) ? 'image/webp' : undefined;
}

/** Bytes of an image that the model APIs take at most, before base64. */
export const MOST_IMAGE_BYTES = 3_700_000;
