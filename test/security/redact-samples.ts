/** Characters without a pattern, as many as wanted, the same each time. */
const drawn = (alphabet: string, length: number, seed = 7): string => {
  let state = seed * 2_654_435_761;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return alphabet[(state >>> 16) % alphabet.length] ?? '';
  }).join('');
};

const DIGITS = '0123456789';
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
export const hex = (length: number, seed?: number): string => drawn('0123456789abcdef', length, seed);
/** Letters and digits, a digit among the first. */
export const word = (length: number, seed?: number): string =>
  `7${drawn(DIGITS + LOWER + LOWER.toUpperCase(), length - 1, seed)}`;
export const upper = (length: number): string => drawn(DIGITS + LOWER.toUpperCase(), length);
const digits = (length: number): string => `1${drawn(DIGITS, length - 1)}`;
const base64 = (text: string): string => Buffer.from(text).toString('base64url');

/** A text, the secret within it, and what the secret is called. */
export type Sample = readonly [name: string, secret: string, around?: readonly [before: string, after: string]];

/** Put together here, so that no file holds what looks like a token. */
export const TOKEN_SAMPLES: readonly Sample[] = [
  ['anthropic key', `sk-ant-api03-${word(93)}AA`],
  ['anthropic key', `sk-ant-oat01-${word(80)}`],
  ['openai key', `sk-proj-${word(48)}_${word(60)}`],
  ['openai key', `sk-svcacct-${word(60)}`],
  ['openai key', `sk-admin-${word(60)}`],
  ['openrouter key', `sk-or-v1-${hex(64)}`],
  ['api key', `sk-${word(20)}T3BlbkFJ${word(20)}`],
  ['api key', `sk-${hex(32)}`],
  ['groq key', `gsk_${word(52)}`],
  ['xai key', `xai-${word(80)}`],
  ['perplexity key', `pplx-${word(48)}`],
  ['hugging face token', `hf_${word(34)}`],
  ['hugging face token', `api_org_${word(34)}`],
  ['tavily key', `tvly-dev-${word(32)}`],
  ['github token', `ghp_${word(36)}`],
  ['github token', `gho_${word(36)}`],
  ['github token', `ghu_${word(36)}`],
  ['github token', `ghs_${word(36)}`],
  ['github token', `ghr_${word(76)}`],
  ['github token', `github_pat_${word(22)}_${word(59)}`],
  ['gitlab token', `glpat-${word(20)}`],
  ['gitlab token', `glrt-${word(20)}.${word(9)}`],
  ['npm token', `npm_${word(36)}`],
  ['pypi token', `pypi-AgEIcHlwaS5vcmc${word(60)}`],
  ['docker token', `dckr_pat_${word(27)}`],
  ['atlassian token', `ATATT3${word(180)}`],
  ['linear key', `lin_api_${word(40)}`],
  ['sentry token', `sntrys_${word(80)}`],
  ['sentry token', `sntryu_${hex(64)}`],
  ['grafana token', `glsa_${word(32)}_${hex(8)}`],
  ['slack token', `xoxb-${digits(12)}-${digits(13)}-${word(24)}`],
  ['slack token', `xoxp-${digits(12)}-${digits(12)}-${digits(12)}-${hex(32)}`],
  ['slack token', `xoxe.xoxp-1-${word(120)}`],
  ['slack session', `xoxc-${word(64)}`],
  ['slack app token', `xapp-1-A${upper(10)}-${digits(13)}-${hex(64)}`],
  ['slack webhook', `hooks.slack.com/services/T${upper(8)}/B${upper(8)}/${word(24)}`],
  ['discord webhook', `discord.com/api/webhooks/${digits(18)}/${word(68)}`],
  ['discord token', `${base64(digits(18))}.${word(6)}.${word(38)}`],
  ['sendgrid key', `SG.${word(22)}.${word(43)}`],
  ['twilio key', `SK${hex(32)}`],
  ['aws key id', `AKIA${upper(16)}`],
  ['aws key id', `ASIA${upper(16)}`],
  ['google key', `AIza${word(35)}`],
  ['google client secret', `GOCSPX-${word(28)}`],
  ['google access token', `ya29.${word(100)}`],
  ['google refresh token', `1//0${word(100)}`],
  ['digitalocean token', `dop_v1_${hex(64)}`],
  ['supabase key', `sbp_${hex(40)}`],
  ['vault token', `hvs.${word(90)}`],
  ['1password token', `ops_eyJ${word(250)}`],
  ['stripe key', `sk_live_${word(24)}`],
  ['stripe key', `rk_live_${word(99)}`],
  ['webhook secret', `whsec_${word(32)}`],
  ['shopify token', `shpat_${hex(32)}`],
  ['notion token', `ntn_${word(46)}`],
  ['notion token', `secret_${word(43)}`],
  ['figma token', `figd_${word(40)}`],
  ['airtable token', `pat${word(14)}.${hex(64)}`],
  ['dropbox token', `sl.u.${word(130)}`],
  ['jwt', `eyJ${base64('"alg":"HS256"}')}.eyJ${base64('"sub":"1234567890","name":"J"}')}.${word(43)}`],
  ['age key', `AGE-SECRET-KEY-1${upper(58)}`],
  ['telegram token', `${digits(10)}:AA${word(33)}`],
  ['telegram token', `${digits(10)}:AA${word(33)}`, ['https://api.telegram.org/bot', '/getMe']],
  ['azure client secret', `${word(3)}8Q~${word(34)}`],
];

/** Values that are known by what stands before them, which stays. */
export const NAMED_SAMPLES: readonly Sample[] = [
  ['bearer token', `${word(20)}.${word(10)}`, ['Authorization: Bearer ', '']],
  ['authorization', Buffer.from(`user:${word(12)}`).toString('base64'), ['Authorization: Basic ', '']],
  ['authorization', word(32), ['authorization: ', '']],
  ['key in a header', word(32), ['X-API-Key: ', '']],
  ['key in a header', word(32), ["curl -H 'private-token: ", "' https://gitlab.example/api"]],
  ['cookie', word(40), ['Set-Cookie: sid=', '; Path=/; HttpOnly']],
  ['cookie', `session=${word(32)}`, ['Cookie: ', '']],
  ['password in an address', 'hunter2-Horse', ['postgres://app:', '@db.internal:5432/app']],
  ['password in an address', `x${word(20)}`, ['redis://:', '@cache:6379/0']],
  ['password in an address', word(40), ['git clone https://me:', '@github.com/me/it.git']],
  ['key in an address', hex(32), ['https://', '@o1.ingest.example/42']],
  ['password', 'Corr3ct-horse', ['Server=db;User Id=sa;Password=', ';Encrypt=true']],
  ['password', 'Corr3ct-horse', ['host=db user=app password=', ' dbname=app']],
  ['password', 'Corr3ct-horse', ['machine api.example.org login me password ', '']],
  ['azure key', `${word(86)}==`, ['AccountName=files;AccountKey=', ';EndpointSuffix=core']],
  ['azure key', `${word(43)}=`, ['SharedAccessKeyName=Root;SharedAccessKey=', '']],
  ['azure signature', `${word(43)}%3D`, ['https://files.example/a.txt?sv=2024&sig=', '&sp=r']],
  ['aws secret key', word(40), ['aws_secret_access_key = ', '']],
  ['aws secret key', word(40), ['"SecretAccessKey": "', '"']],
  ['registry login', Buffer.from(`me:${word(12)}`).toString('base64'), ['{"auths":{"r.example":{"auth":"', '"}}}']],
  ['registry login', word(30), ['//registry.example/:_authToken=', '']],
  ['secret setting', word(24), ['export TWILIO_AUTH_TOKEN=', '']],
  ['secret setting', word(40), ['CLOUDFLARE_API_TOKEN="', '"']],
  ['secret setting', word(32), ['{"client_secret": "', '"}']],
  ['secret setting', word(32), ['apiKey: "', '",']],
];
