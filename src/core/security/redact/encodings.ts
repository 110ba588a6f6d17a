/** Shorter secrets would take ordinary words with them. */
const SHORTEST_SECRET = 8;

/** How the configured secrets may stand in a text, the longest first: a form may begin with a shorter one. */
interface SecretForms {
  /** Every form. */
  readonly all: readonly string[];
  /** Base64 and hex, which programs break into lines anywhere. */
  readonly coded: readonly string[];
}

/** Secrets under 8 characters are left out; of `Bearer …` and `Basic …` the part behind the word counts as well. */
export function formsOf(secrets: readonly string[]): SecretForms {
  const whole = secrets.flatMap((secret) => [secret, ...schemeless(secret)]);
  const long = whole.filter((secret) => secret.length >= SHORTEST_SECRET);
  const coded = longestFirst(long.flatMap(codedForms));
  return { all: longestFirst([...long.flatMap(plainForms), ...coded]), coded };
}

function schemeless(secret: string): readonly string[] {
  const value = /^(?:bearer|basic|token|bot)\s+(\S+)$/i.exec(secret)?.[1];
  return value === undefined ? [] : [value];
}

function longestFirst(forms: readonly string[]): readonly string[] {
  return [...new Set(forms)].filter((form) => form.length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length);
}

/** As it is, and as addresses, forms, JSON and HTML write it. */
function plainForms(secret: string): readonly string[] {
  const url = encodeURIComponent(secret.toWellFormed());
  const strict = url.replaceAll(/[!'()*]/g, (character) => `%${hexOf(character, 2).toUpperCase()}`);
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replaceAll(/[^ -~]/g, (character) => `\\u${hexOf(character, 4)}`);
  const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const urls = [url, strict, url.replaceAll('%2F', '/'), strict.replaceAll('%2F', '/')].flatMap((text) => [
    text,
    text.replaceAll('%20', '+'),
  ]);
  return [
    secret,
    ...urls,
    ...urls.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    json,
    ascii,
    json.replaceAll('/', String.raw`\/`),
    ascii.replaceAll('/', String.raw`\/`),
    json.replaceAll(/[<>&'+]/g, (character) => `\\u${hexOf(character, 4)}`),
    JSON.stringify(json).slice(1, -1),
    JSON.stringify(ascii).slice(1, -1),
    html,
    html.replaceAll('"', '&quot;'),
    html.replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
    html.replaceAll('"', '&#34;').replaceAll("'", '&#39;'),
    html.replaceAll('"', '&quot;').replaceAll("'", '&#x27;'),
    html.replaceAll('"', '&quot;').replaceAll("'", '&apos;'),
  ];
}

function codedForms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].map((offset) => base64Core(bytes, offset));
  return [hex, hex.toUpperCase(), ...base64, ...base64.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** The characters that do not depend on what stands before and after when the secret begins at `offset` modulo 3. */
function base64Core(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  return encoded.slice(first, last);
}

function hexOf(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, '0');
}
