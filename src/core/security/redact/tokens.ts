import { shapesOf, WORD_START, type Found, type ShapeRow, type Shapes } from './shapes.ts';

const r = String.raw;

/** The well-known formats, as those who issue the tokens describe them. Each head ends with one of `HINGES`. */
const ROWS: readonly ShapeRow[] = [
  // Models and what they search with.
  ['anthropic key', 'sk-ant-', r`[a-z]{2,10}\d{2}-[\w-]{20,}`],
  ['openai key', 'sk-(?:proj|svcacct|admin|None)-', r`[\w-]{20,}`],
  ['openrouter key', 'sk-or-', r`v\d-[0-9a-f]{40,}`],
  ['api key', '(?<![-_])sk-', r`(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,}[\w-]*`],
  ['api key', '(?<![-_])sk-', r`(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Z])(?=[\w-]{0,60}[a-z])[A-Za-z0-9][\w-]{19,}`],
  ['groq key', 'gsk_', '[A-Za-z0-9]{40,}'],
  ['xai key', 'xai-', '[A-Za-z0-9]{60,}'],
  ['perplexity key', 'pplx-', '[A-Za-z0-9]{40,}'],
  ['hugging face token', '(?:hf|api_org)_', '[A-Za-z0-9]{30,}'],
  ['tavily key', 'tvly-', '(?:dev-|prod-)?[A-Za-z0-9-]{28,}'],

  // Code.
  ['github token', 'gh[oprsu]_', '[A-Za-z0-9]{36,}'],
  ['github token', 'github_pat_', r`\w{22,}`],
  ['gitlab token', 'gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-', r`[\w-]{20,}(?:\.[\w-]{2,})*`],
  ['npm token', 'npm_', '[A-Za-z0-9]{36,}'],
  ['pypi token', 'pypi-', r`AgE[\w-]{50,}`],
  ['docker token', 'dckr_[op]at_', r`[\w-]{20,}`],
  ['linear key', 'lin_(?:api|oauth)_', '[A-Za-z0-9]{32,}'],
  ['sentry token', 'sntry[su]_', r`[\w+/=-]{40,}`],
  ['grafana token', 'glsa_', '[A-Za-z0-9]{32}_[0-9a-f]{8}'],

  // Chats and mail.
  ['slack token', r`xoxe\.xox[bp]-`, r`\d-[A-Za-z0-9-]{20,}`],
  ['slack token', 'xox[abeoprs]-', r`\d[A-Za-z0-9-]{9,}`],
  ['slack session', 'xox[cd]-', r`[A-Za-z0-9%/+][\w%/+=-]{30,}`],
  ['slack app token', 'xapp-', r`\d-[A-Za-z0-9-]{10,}`],
  ['slack webhook', r`hooks\.slack\.com/`, r`(?:services|workflows|triggers)/T\w{6,}(?:/\w{2,}){2,4}`],
  ['discord webhook', r`discord(?:app)?\.com/`, r`api/(?:v\d{1,2}/)?webhooks/\d{17,20}/[\w-]{60,}`],
  ['sendgrid key', r`SG\.`, r`[\w-]{22}\.[\w-]{43}`],

  // Clouds.
  ['google client secret', 'GOCSPX-', r`[\w-]{20,}`],
  ['google access token', r`ya29\.`, r`[\w.-]{20,}`],
  ['google refresh token', '1(?://|%)', r`(?:2F%2F)?0[A-Za-z0-9][\w-]{39,}`],
  ['azure client secret', r`[\w~.]{3}\dQ~`, r`[\w~.-]{31,40}`],
  ['digitalocean token', 'do[opr]_', r`v\d_[0-9a-f]{64}`],
  ['supabase key', '(?:sbp|sb_secret)_', r`(?=[A-Za-z_-]{0,40}[0-9])[\w-]{30,}`],
  ['vault token', r`hv[brs]\.`, r`[\w-]{24,}`],
  ['1password token', 'ops_', '(?=eyJ)[A-Za-z0-9+/=_-]{60,}'],

  // Money and office.
  ['stripe key', '[rs]k_(?:live|test|org)_', '[A-Za-z0-9]{16,}'],
  ['webhook secret', 'whsec_', '[A-Za-z0-9+/]{24,}={0,2}'],
  ['shopify token', 'shp(?:at|ca|pa|ss|tka)_', '[0-9a-fA-F]{32,}'],
  ['notion token', 'ntn_', '[A-Za-z0-9]{40,}'],
  ['notion token', 'secret_', '[A-Za-z0-9]{43}(?![A-Za-z0-9])'],
  ['figma token', 'fig[dou]r?_', r`[\w-]{40,}`],
  ['airtable token', r`pat[A-Za-z0-9]{14}\.`, '[0-9a-f]{64}'],
  ['dropbox token', r`sl\.`, r`(?:u\.)?[\w-]{100,}`],
  ['age key', 'AGE-', 'SECRET-KEY-1[0-9A-Z]{40,}'],
];
const HINGES = '[-_./%~]';

/** Formats that begin with capital letters, or with `{"` in base64. */
const CAPITAL_ROWS: readonly ShapeRow[] = [
  ['aws key id', 'A(?:KI|SI|BI|CC)A', '[A-Z0-9]{16}(?![A-Za-z0-9])'],
  ['google key', 'AIza', r`[\w-]{35}(?![\w-])`],
  ['atlassian token', 'AT[ACS]TT3', r`[\w-]{40,}`],
  ['twilio key', 'SK[0-9a-f]{4}', '[0-9a-f]{28}(?![0-9A-Za-z])'],
  // Begins with the id of a bot, decimal digits in base64.
  ['discord token', '[MNO][DTjz][AEIMQUYcgk]', r`[\w-]{21,26}\.[\w-]{6}\.[\w-]{27,}`],
  ['jwt', '(?<![-_])eyJ', r`[\w-]{8,}\.(?:eyJ)?[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]{8,}){0,2}`],
];

/** Letters may stand before it, as in `https://api.telegram.org/bot…`. */
const TELEGRAM_ROWS: readonly ShapeRow[] = [
  ['telegram token', r`(?<![\d.])\d{8,10}[:%]`, r`(?:(?<=%)3[Aa])?[\w-]{35}(?![\w-])`],
];

const headsOf = (rows: readonly ShapeRow[]): string => [...new Set(rows.map(([, head]) => head))].join('|');

/** Secrets that are known by how they look. */
export const TOKENS: readonly Shapes[] = [
  shapesOf(ROWS, { hint: `${HINGES}(?<=${WORD_START}(${headsOf(ROWS)}))` }),
  shapesOf(CAPITAL_ROWS, { hint: headsOf(CAPITAL_ROWS), before: WORD_START }),
  shapesOf(TELEGRAM_ROWS, { hint: `[:%](?<=(${headsOf(TELEGRAM_ROWS)}))` }),
];

const KEY = 'private key';
const marker = (what: 'BEGIN' | 'END'): string => `-----${what} [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----`;
/** Shorter lines of base64 could be words. */
const LINE = '[A-Za-z0-9+/=]{16,}';
const LAST_LINE = '[A-Za-z0-9+/=]{0,80}';
/** Between the lines of a key, also in JSON, programs, mails and listings. */
const BETWEEN = String.raw`(?:\s|\\[rn]|["',]|[>|+-](?!-)|\d{1,6}[:|\t-])`;
const HEADER = String.raw`[A-Za-z-]{1,30}: [^\r\n"\\]{0,200}(?=[\r\n\\])`;

const BEGUN = new RegExp(
  `${marker('BEGIN')}((?:${BETWEEN}|${LINE}|${HEADER})*)(${LAST_LINE}${BETWEEN}*${marker('END')})?`,
  'g',
);
const ENDED = new RegExp(
  `${marker('END')}(?<=((?:${LINE}${BETWEEN}+){1,400}${LAST_LINE}${BETWEEN}*${marker('END')}))`,
  'g',
);
const UP_TO_LAST_LINE = new RegExp(`^.*${LINE}`, 's');
const UNFINISHED_LINE = /[A-Za-z0-9+/=]*$/y;

/**
 * Private keys in text form, also those whose beginning or end was cut off; markers without a key between them are
 * none. With `partial`, more may follow: an unfinished block extends to the end of the text.
 */
export function keyBlocks(text: string, partial: boolean): readonly Found[] {
  if (!text.includes('PRIVATE KEY')) return [];
  const found: Found[] = [];
  for (const { 0: block, 1: body = '', 2: end, index: start } of text.matchAll(BEGUN)) {
    const after = start + block.length;
    UNFINISHED_LINE.lastIndex = after;
    if (partial && end === undefined && UNFINISHED_LINE.test(text)) found.push({ start, end: text.length, name: KEY });
    const [lines] = UP_TO_LAST_LINE.exec(body) ?? [];
    if (lines === undefined) continue;
    found.push({ start, end: end === undefined ? after - body.length + lines.length : after, name: KEY });
  }
  for (const { 0: last, 1: block = last, index } of text.matchAll(ENDED)) {
    const end = index + last.length;
    found.push({ start: end - block.length, end, name: KEY });
  }
  return found;
}
