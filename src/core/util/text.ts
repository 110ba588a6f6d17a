/** Cuts at `limit` UTF-16 units without splitting a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const code = text.charCodeAt(limit - 1);
  const splitsPair = code >= 0xd800 && code <= 0xdbff;
  return text.slice(0, splitsPair ? limit - 1 : limit);
}

/** The last `limit` UTF-16 units without splitting a surrogate pair. */
export function cutStart(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const code = text.charCodeAt(text.length - limit);
  const splitsPair = code >= 0xdc00 && code <= 0xdfff;
  return text.slice(text.length - limit + (splitsPair ? 1 : 0));
}

/** At most `limit` units on one line, with an ellipsis where something was cut; for titles and log lines. */
export function oneLine(text: string, limit: number): string {
  const flat = text.replace(/\s+/gu, ' ').trim();
  return flat.length <= limit ? flat : `${cut(flat, limit - 1)}…`;
}

/** Joins parts to sentences, each with a capital letter in front and one full stop at its end; empty ones are left out. */
export function sentences(...parts: readonly string[]): string {
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => (/[!?…]$/u.test(part) ? part : `${part.replace(/[.\s]+$/u, '')}.`))
    .map((part) => part.replace(/^[a-z](?=[a-z]* )/u, (letter) => letter.toUpperCase()))
    .join(' ');
}

/** A text from outside as a Markdown code span: nothing in it is a link, a mention or formatting. */
export function literal(text: string): string {
  const flat = text.replace(/\s+/gu, ' ').trim();
  const longest = Math.max(0, ...[...flat.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = longest > 0 ? ' ' : '';
  return `${fence}${pad}${flat}${pad}${fence}`;
}

/** Closes a sentence with what a server said, as `literal`; only with a full stop if there is nothing to read in it. */
export function withWords(said: string): string {
  const words = said.replace(/[\s.,;:]+$/u, '');
  return /[\p{L}\p{N}]/u.test(words) ? `: ${literal(words)}.` : '.';
}

/** `1 file`, `2 files`. */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

/** How long, for people: `90 s`, `5 min`, `30 h`, `3 days`; negative: `0 s`. */
export function timeText(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1_000));
  if (total < 120) return `${total} s`;
  const minutes = Math.floor(total / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

/** The candidate closest to `name` by edit distance, if it is close enough to be a typing mistake; else undefined. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substitution));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** `12.3 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Bytes as `12.3 kB` or `4.5 MB`. */
export function sizeText(bytes: number): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : megabytes(bytes);
}

/** US dollars as `$12.30`, below one dollar as `$0.0123`. */
export function dollars(amount: number): string {
  return `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}

/** An integer with commas, as `12,345`. */
export function countText(count: number): string {
  return count.toLocaleString('en');
}

/** What model calls cost, as `$12.30`, `price unknown` or `$12.30 and 2 calls of unknown price`. */
export function costText({ calls, costUsd, unpriced }: Record<'calls' | 'costUsd' | 'unpriced', number>): string {
  if (unpriced === 0) return dollars(costUsd);
  if (unpriced === calls) return 'price unknown';
  return `${dollars(costUsd)} and ${plural(unpriced, 'call')} of unknown price`;
}

/** The text without the code fence around it, trimmed. */
export function withoutFence(text: string): string {
  const trimmed = text.trim();
  return (
    /^(?<fence>`{3,}|~{3,})[^\n]*\n(?<body>[\s\S]*?)\n?\k<fence>$/u.exec(trimmed)?.groups?.['body'] ?? trimmed
  ).trim();
}

/** A text as one word for a POSIX shell, quoted if needed. */
export function shellWord(text: string): string {
  return /^[\w./@+:,=-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Prefixes each line. */
export function indented(text: string, prefix: string): string {
  return text
    .split('\n')
    .map((line) => prefix + line)
    .join('\n');
}

/** In a code block whose fence is longer than any run of backticks in it. */
export function fenced(detail: string): string {
  const longest = Math.max(2, ...Array.from(detail.matchAll(/`+/gu), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${detail}\n${fence}`;
}

/** Reads a switch as people write it: `true`, "true", "yes", "on", 1 and their opposites. Undefined for anything else. */
export function asFlag(value: unknown): boolean | undefined {
  const said = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if ([true, 1, 'true', 'yes', 'on', '1'].some((on) => on === said)) return true;
  if ([false, 0, 'false', 'no', 'off', '0'].some((off) => off === said)) return false;
  return undefined;
}

/** Why nothing of an extension is there: a sentence without a full stop. */
export function switchedOff(extension: string): string {
  return `${extension} is switched off (extensions.${extension} in the configuration)`;
}

/** Whether one of the patterns matches the whole name; `*` matches any text. */
export function matchesName(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`, 'u').test(name);
  });
}
