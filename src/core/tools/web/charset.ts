const DECLARED_WITHIN = 2_048;
const IN_META = /<meta[^>]{0,512}?charset\s*=\s*["']?\s*(?<label>[\w.:-]{1,40})/iu;
const IN_XML = /^\s{0,16}<\?xml[^>]{0,200}?encoding\s*=\s*["'](?<label>[\w.:-]{1,40})/iu;

/**
 * The text of an answer. In this order: a byte-order mark, what the server says, what the document says of itself,
 * UTF-8, windows-1252. A charset that is unknown, or UTF-8 that is not, counts as not said. Never fails.
 */
export function decodeBytes(bytes: Uint8Array, charset: string | null): string {
  const marked = byMark(bytes);
  if (marked !== undefined) return new TextDecoder(marked).decode(bytes);
  const start = Buffer.from(bytes.subarray(0, DECLARED_WITHIN)).toString('latin1');
  const declared = IN_META.exec(start)?.groups?.['label'] ?? IN_XML.exec(start)?.groups?.['label'];
  for (const label of [charset, withoutUtf16(declared), 'utf-8']) {
    const text = label === null ? undefined : decodeAs(bytes, label);
    if (text !== undefined) return text;
  }
  return new TextDecoder('windows-1252').decode(bytes);
}

function byMark(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined;
}

/** Who can read a declaration in ASCII is not looking at UTF-16. */
function withoutUtf16(label: string | undefined): string | null {
  return label === undefined ? null : /^utf-?16/iu.test(label) ? 'utf-8' : label;
}

function decodeAs(bytes: Uint8Array, label: string): string | undefined {
  try {
    const decoder = new TextDecoder(label, { fatal: label.toLowerCase().startsWith('utf') });
    // What was cut off in the middle of a character is still that charset: its last bytes are left out.
    return decoder.decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}
