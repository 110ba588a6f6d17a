const MARK = '[redacted]';
/** Shorter secrets would take ordinary words with them. */
const SHORTEST_SECRET = 8;
const LONGEST_KEY_BLOCK = 20_000;

/** Tokens that are known by their shape. Each alternative starts with fixed characters, so a scan stays linear. */
const TOKENS = new RegExp(
  [
    String.raw`(?<![\w-])sk-(?=[\w-]{0,200}\d)[A-Za-z0-9][\w-]{19,300}`,
    String.raw`(?<!\w)gh[pousr]_[A-Za-z0-9]{36,255}`,
    String.raw`(?<!\w)github_pat_\w{22,255}`,
    String.raw`(?<!\w)xox[abeoprs]-[A-Za-z0-9-]{10,255}`,
    String.raw`(?<!\w)xapp-\d-[A-Za-z0-9-]{10,255}`,
    String.raw`(?<![\d.])\d{8,10}:[\w-]{35}(?![\w-])`,
    String.raw`(?<!\w)(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)`,
  ].join('|'),
  'g',
);
const BEARER = /(?<!\w)(bearer\s{1,4})(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{16,4000}={0,2}/gi;
const KEY_MARKER = /-----(BEGIN|END) [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_BODY = /(?:\s|\\[rn]|[A-Za-z0-9+/=]{16,}|[A-Za-z-]{1,30}: [^\n]{0,200}\n)*/y;

/**
 * Returns a function that takes the given secrets out of a text: as they are and URL-, base64-, hex- and JSON-encoded,
 * together with tokens that are known by their shape. Secrets under 8 characters are left alone.
 */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    for (const form of encodings(secret)) if (form.length >= SHORTEST_SECRET) forms.add(form);
  }
  // The longest first: an encoded form may begin with a shorter one.
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  const known = longestFirst.length === 0 ? undefined : new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g');
  return (text) => {
    const clean = known === undefined ? text : text.replace(known, MARK);
    return redactKeyBlocks(clean.replace(BEARER, `$1${MARK}`).replace(TOKENS, MARK));
  };
}

function encodings(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const url = encodeURIComponent(secret.toWellFormed());
  const json = JSON.stringify(secret).slice(1, -1);
  const hex = bytes.toString('hex');
  const all = [
    secret,
    url,
    url.replaceAll('%20', '+'),
    url.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    json,
    json.replaceAll('/', String.raw`\/`),
    JSON.stringify(json).slice(1, -1),
    hex,
    hex.toUpperCase(),
  ];
  for (const offset of [0, 1, 2]) {
    const core = base64Core(bytes, offset);
    all.push(core, core.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return all;
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

/** Private keys, also when the end was cut off. */
function redactKeyBlocks(text: string): string {
  if (!text.includes('PRIVATE KEY')) return text;
  const markers = [...text.matchAll(KEY_MARKER)];
  let clean = '';
  let at = 0;
  for (const [i, marker] of markers.entries()) {
    if (marker[1] !== 'BEGIN' || marker.index < at) continue;
    clean += text.slice(at, marker.index) + MARK;
    at = keyBlockEnd(text, marker.index + marker[0].length, markers[i + 1]);
  }
  return clean + text.slice(at);
}

function keyBlockEnd(text: string, body: number, next: RegExpExecArray | undefined): number {
  if (next?.[1] === 'END' && next.index - body <= LONGEST_KEY_BLOCK) return next.index + next[0].length;
  KEY_BODY.lastIndex = body;
  return body + (KEY_BODY.exec(text)?.[0].length ?? 0);
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}
