/** What a list of a body was written as. Its entries are objects that do not change. */
interface Written {
  entries: readonly unknown[];
  /** Where each entry ends in `bytes`. */
  readonly ends: number[];
  bytes: Buffer;
}

/**
 * By the second entry of a list, which mostly begins as in the request before: the first may be a system prompt that many
 * conversations have. It goes with its conversation.
 */
const lists = new WeakMap<object, Written>();

/** From an entry with more characters on, such as one with an image, nothing is kept for the next request. */
const LARGEST_KEPT = 65_536;

/**
 * The bytes of `JSON.stringify(body)`. What is an object in a list of the body, such as a message or a tool, must not
 * change: it is written once, so that a request that extends the one before costs what is new in it.
 */
export function wireJson(body: object): Uint8Array {
  const parts: Uint8Array[] = [];
  const begun = new Set<object>();
  for (const [name, value] of Object.entries(body) as readonly (readonly [string, unknown])[]) {
    // What is kept of a list is in `parts` until they are joined, and must not be written over by another list.
    const isKept = isKeptList(value) && !begun.has(value[1]);
    if (isKept) begun.add(value[1]);
    const pieces = isKept ? listJson(value) : encoded(json(value));
    if (pieces.length === 0) continue;
    parts.push(Buffer.from(`${parts.length === 0 ? '{' : ','}${JSON.stringify(name)}:`), ...pieces);
  }
  return Buffer.concat([...parts, Buffer.from(parts.length === 0 ? '{}' : '}')]);
}

function isKeptList(value: unknown): value is readonly [unknown, object, ...unknown[]] {
  return Array.isArray(value) && typeof value[1] === 'object' && value[1] !== null;
}

function listJson(list: readonly [unknown, object, ...unknown[]]): readonly Uint8Array[] {
  const written = lists.get(list[1]) ?? { entries: [], ends: [], bytes: Buffer.alloc(0) };
  const { entries, ends } = written;
  let at = 0;
  while (at < ends.length && at < list.length && entries[at] === list[at]) at += 1;
  ends.length = at;
  const more: string[] = [];
  let isKept = true;
  for (const [index, entry] of list.slice(at).entries()) {
    const text = `${at + index === 0 ? '[' : ','}${json(entry) ?? 'null'}`;
    isKept &&= text.length <= LARGEST_KEPT;
    if (isKept) append(written, text);
    else more.push(text);
  }
  written.entries = list.slice(0, written.ends.length);
  lists.set(list[1], written);
  return [written.bytes.subarray(0, ends.at(-1) ?? 0), Buffer.from(`${more.join('')}]`)];
}

function append(written: Written, text: string): void {
  const from = written.ends.at(-1) ?? 0;
  const to = from + Buffer.byteLength(text);
  if (to > written.bytes.length) {
    const larger = Buffer.alloc(Math.ceil(to * 1.5));
    written.bytes.copy(larger, 0, 0, from);
    written.bytes = larger;
  }
  written.bytes.write(text, from);
  written.ends.push(to);
}

function encoded(text: string | undefined): readonly Uint8Array[] {
  return text === undefined ? [] : [Buffer.from(text)];
}

/** Undefined for what JSON leaves out, such as a function. */
function json(value: unknown): string | undefined {
  return JSON.stringify(value);
}

/** Remembers what is made of an object, which must not change. An entry goes with its object. */
export function perObject<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, { readonly value: Made }>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}
