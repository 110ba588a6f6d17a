/** The JSON of what stood in a list of an earlier body. An entry goes with its object. */
const written = new WeakMap<object, string>();

/**
 * The bytes of `JSON.stringify(body)`. An object in a list of the body, such as a message or a tool, is written once: it
 * must not change afterwards. So a request that extends the one before costs what is new in it.
 */
export function wireJson(body: object): Uint8Array {
  const fields = Object.entries(body).flatMap(([name, value]: readonly [string, unknown]) => {
    const text = Array.isArray(value) ? `[${value.map(entryJson).join(',')}]` : json(value);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return Buffer.from(`{${fields.join(',')}}`);
}

function entryJson(entry: unknown): string {
  if (typeof entry !== 'object' || entry === null) return json(entry) ?? 'null';
  const known = written.get(entry) ?? json(entry) ?? 'null';
  written.set(entry, known);
  return known;
}

/** Undefined for what JSON leaves out, such as a function. */
function json(value: unknown): string | undefined {
  return JSON.stringify(value);
}

/** Remembers what is made of an object, which must not change. An entry goes with its object. */
export function perObject<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, { readonly value: Made }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}
