import { tokenShape, WORD_START, type Shape, type ShapeRow } from './shape.ts';

const r = String.raw;

/** One row for each kind; those who issue them say what they look like. */
const ROWS: readonly ShapeRow[] = [
  // Models.
  { name: 'anthropic key', starts: ['sk-ant-'], body: r`[a-z]{2,10}\d{2}-[\w-]{20,}` },
  { name: 'openai key', starts: ['sk-proj-', 'sk-svcacct-', 'sk-admin-', 'sk-None-'], body: r`[\w-]{20,}` },
  { name: 'openrouter key', starts: ['sk-or-'], body: r`v\d-[0-9a-f]{40,}` },
  { name: 'langfuse key', starts: ['sk-lf-'], body: '[0-9a-f]{8}-[0-9a-f-]{27}' },
  { name: 'api key', starts: ['sk-'], body: r`(?<![-_]sk-)(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,}[\w-]*` },
  {
    name: 'api key',
    starts: ['sk-'],
    body: r`(?<![-_]sk-)(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Z])(?=[\w-]{0,60}[a-z])[A-Za-z0-9][\w-]{19,}`,
  },
  { name: 'groq key', starts: ['gsk_'], body: '[A-Za-z0-9]{40,}' },
  { name: 'xai key', starts: ['xai-'], body: '[A-Za-z0-9]{60,}' },
  { name: 'perplexity key', starts: ['pplx-'], body: '[A-Za-z0-9]{40,}' },
  { name: 'hugging face token', starts: ['hf_', 'api_org_'], body: '[A-Za-z0-9]{30,}' },
  { name: 'replicate token', starts: ['r8_'], body: '[A-Za-z0-9]{37,}' },
  { name: 'fireworks key', starts: ['fw_'], body: '(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{22,}' },
  { name: 'together key', starts: ['tgp_v'], body: r`\d_[\w-]{40,}` },
  { name: 'cerebras key', starts: ['csk-'], body: '[a-z0-9]{40,}' },
  { name: 'nvidia key', starts: ['nvapi-'], body: r`[\w-]{60,}` },
  { name: 'langsmith key', starts: ['lsv2_pt_', 'lsv2_sk_'], body: '[0-9a-f]{32}_[0-9a-f]{10}' },
  { name: 'elevenlabs key', starts: ['sk_'], body: '[0-9a-f]{48}(?![0-9A-Za-z])' },
  { name: 'tavily key', starts: ['tvly-'], body: '(?:dev-|prod-)?[A-Za-z0-9-]{28,}' },
  { name: 'jina key', starts: ['jina_'], body: r`[0-9a-f]{32}[\w-]{20,}` },
  { name: 'firecrawl key', starts: ['fc-'], body: '[0-9a-f]{32}(?![0-9A-Za-z])' },

  // Code.
  { name: 'github token', starts: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], body: '[A-Za-z0-9]{36,}' },
  { name: 'github token', starts: ['github_pat_'], body: r`\w{22,}` },
  {
    name: 'gitlab token',
    starts: 'pat oas dt rt rtr cbt ptt ft imt agent wt soat ffct'.split(' ').map((kind) => `gl${kind}-`),
    body: r`[\w-]{20,}(?:\.[\w-]{2,})*`,
  },
  { name: 'npm token', starts: ['npm_'], body: '[A-Za-z0-9]{36,}' },
  { name: 'pypi token', starts: ['pypi-AgE'], body: r`[\w-]{50,}` },
  { name: 'rubygems key', starts: ['rubygems_'], body: '[0-9a-f]{40,}' },
  { name: 'crates.io token', starts: ['cio'], body: '[A-Za-z0-9]{32}(?![A-Za-z0-9])' },
  { name: 'docker token', starts: ['dckr_pat_', 'dckr_oat_'], body: r`[\w-]{20,}` },
  { name: 'atlassian token', starts: ['ATATT3', 'ATCTT3', 'ATSTT3'], body: r`[\w-]{40,}` },
  { name: 'bitbucket password', starts: ['ATBB'], body: '[A-Za-z0-9]{32}(?![A-Za-z0-9])' },
  { name: 'linear key', starts: ['lin_api_', 'lin_oauth_'], body: '[A-Za-z0-9]{32,}' },
  { name: 'postman key', starts: ['PMAK-'], body: '[0-9a-f]{24}-[0-9a-f]{34}' },
  { name: 'sourcegraph token', starts: ['sgp_'], body: '(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}' },
  { name: 'sentry token', starts: ['sntrys_', 'sntryu_'], body: r`[\w+/=-]{40,}` },
  { name: 'new relic key', starts: ['NRAK-'], body: '[A-Z0-9]{27}' },
  { name: 'grafana token', starts: ['glsa_'], body: '[A-Za-z0-9]{32}_[0-9a-f]{8}' },
  { name: 'grafana token', starts: ['glc_eyJ'], body: '[A-Za-z0-9+/=]{40,}' },
  { name: 'buildkite token', starts: ['bkua_'], body: '[0-9a-f]{40}' },
  { name: 'circleci token', starts: ['CCIPAT_'], body: '[A-Za-z0-9]{22}_[0-9a-f]{40}' },
  { name: 'posthog key', starts: ['phx_'], body: '[A-Za-z0-9]{40,}' },
  { name: 'jfrog key', starts: ['AKCp'], body: '[A-Za-z0-9]{60,}' },

  // Chats and mail.
  {
    name: 'slack token',
    starts: ['xoxa-', 'xoxb-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-'],
    body: r`\d[A-Za-z0-9-]{9,}`,
  },
  { name: 'slack token', starts: ['xoxe.xoxb-', 'xoxe.xoxp-'], body: r`\d-[A-Za-z0-9-]{20,}` },
  { name: 'slack session', starts: ['xoxc-', 'xoxd-'], body: r`[A-Za-z0-9%/+][\w%/+=-]{30,}` },
  { name: 'slack app token', starts: ['xapp-'], body: r`\d-[A-Za-z0-9-]{10,}` },
  {
    name: 'slack webhook',
    starts: ['services', 'workflows', 'triggers'].map((kind) => `hooks.slack.com/${kind}/`),
    body: r`T\w{6,}(?:/\w{2,}){2,4}`,
  },
  {
    name: 'discord webhook',
    starts: ['discord.com/api/', 'discordapp.com/api/'],
    body: r`(?:v\d{1,2}/)?webhooks/\d{17,20}/[\w-]{60,}`,
  },
  // Begins with the id of a bot, decimal digits in base64.
  { name: 'discord token', starts: pairs('MNO', 'DTjz', 'AEIMQUYcgk'), body: r`[\w-]{21,26}\.[\w-]{6}\.[\w-]{27,}` },
  {
    name: 'teams webhook',
    starts: ['webhook.office.com/webhookb2/'],
    body: r`[0-9a-f][0-9a-f@-]{70,}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36}`,
  },
  { name: 'matrix token', starts: ['syt_'], body: r`[A-Za-z0-9]+_[A-Za-z]{20}_\w{6}` },
  { name: 'sendgrid key', starts: ['SG.'], body: r`[\w-]{22}\.[\w-]{43}` },
  { name: 'mailgun key', starts: ['key-'], body: '[0-9a-f]{32}(?![0-9A-Za-z])' },
  { name: 'brevo key', starts: ['xkeysib-'], body: '[0-9a-f]{64}-[A-Za-z0-9]{16}' },
  { name: 'resend key', starts: ['re_'], body: '[A-Za-z0-9]{8}_[A-Za-z0-9]{24}' },
  { name: 'twilio key', starts: pairs('S', 'K', '0123456789abcdef'), body: '[0-9a-f]{31}(?![0-9A-Za-z])' },

  // Clouds.
  { name: 'aws key id', starts: ['AKIA', 'ASIA', 'ABIA', 'ACCA'], body: '[A-Z0-9]{16}(?![A-Za-z0-9])' },
  { name: 'aws bedrock key', starts: ['ABSK'], body: '[A-Za-z0-9+/]{100,}={0,2}' },
  { name: 'google key', starts: ['AIza'], body: r`[\w-]{35}(?![\w-])` },
  { name: 'google key', starts: ['AQ.Ab8'], body: r`[\w-]{40,}` },
  { name: 'google client secret', starts: ['GOCSPX-'], body: r`[\w-]{20,}` },
  { name: 'google access token', starts: ['ya29.'], body: r`[\w.-]{20,}` },
  { name: 'google refresh token', starts: ['1//0', '1%2F%2F0'], body: r`[A-Za-z0-9][\w-]{39,}` },
  { name: 'alibaba key id', starts: ['LTAI'], body: '[A-Za-z0-9]{16,24}(?![A-Za-z0-9])' },
  { name: 'digitalocean token', starts: ['doo_v', 'dop_v', 'dor_v'], body: r`\d_[0-9a-f]{64}` },
  { name: 'cloudflare token', starts: ['cfut_', 'cfat_'], body: '[A-Za-z0-9]{40,}' },
  { name: 'cloudflare origin key', starts: ['v1.0-'], body: '[0-9a-f]{24}-[0-9a-f]{100,}' },
  { name: 'heroku key', starts: ['HRKU-'], body: r`[\w-]{36,}` },
  { name: 'fly.io token', starts: ['fm1_', 'fm2_', 'fm1r_', 'fm2r_'], body: '[A-Za-z0-9+/]{60,}={0,2}' },
  { name: 'vercel token', starts: ['vca_', 'vcc_', 'vci_', 'vck_', 'vcp_', 'vcr_'], body: '[A-Za-z0-9]{24,}' },
  { name: 'netlify token', starts: ['nfp_', 'nfc_', 'nfo_', 'nfu_', 'nfb_'], body: '[A-Za-z0-9]{36,}' },
  { name: 'supabase key', starts: ['sbp_', 'sb_secret_'], body: r`(?=[A-Za-z_-]{0,40}[0-9])[\w-]{30,}` },
  { name: 'planetscale token', starts: ['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'], body: r`[\w.-]{32,}` },
  { name: 'databricks token', starts: ['dapi'], body: '[0-9a-f]{32}(?:-[0-9])?(?![0-9A-Za-z])' },
  {
    name: 'tailscale key',
    starts: ['auth', 'api', 'client', 'scim', 'webhook'].map((kind) => `tskey-${kind}-`),
    body: '[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,}',
  },
  { name: 'pulumi token', starts: ['pul-'], body: '[0-9a-f]{40}(?![0-9A-Za-z])' },
  { name: 'vault token', starts: ['hvs.', 'hvb.', 'hvr.'], body: r`[\w-]{24,}` },
  {
    name: 'doppler token',
    starts: ['pt', 'st', 'ct', 'sa', 'scim', 'audit'].map((kind) => `dp.${kind}.`),
    body: r`(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}`,
  },
  { name: '1password token', starts: ['ops_eyJ'], body: '[A-Za-z0-9+/=_-]{60,}' },
  { name: 'openshift token', starts: ['sha256~'], body: r`[\w-]{43}(?![\w-])` },
  { name: 'dynatrace token', starts: ['dt0c01.', 'dt0s01.', 'dt0s16.'], body: r`[A-Z0-9]{8,24}\.[A-Z0-9]{64}` },
  { name: 'prefect key', starts: ['pnu_', 'pnb_'], body: '[A-Za-z0-9]{36}(?![A-Za-z0-9])' },

  // Money and office.
  {
    name: 'stripe key',
    starts: ['sk', 'rk'].flatMap((kind) => ['live', 'test', 'org'].map((mode) => `${kind}_${mode}_`)),
    body: '[A-Za-z0-9]{16,}',
  },
  { name: 'webhook secret', starts: ['whsec_'], body: '[A-Za-z0-9+/]{24,}={0,2}' },
  { name: 'shopify token', starts: ['shpat_', 'shpca_', 'shppa_', 'shpss_', 'shptka_'], body: '[0-9a-fA-F]{32,}' },
  { name: 'square token', starts: ['sq0atp-', 'sq0csp-', 'sq0idp-'], body: r`[\w-]{22,}` },
  { name: 'square token', starts: ['EAAA'], body: r`(?=[A-Za-z_-]{0,59}[0-9])[\w-]{60}(?![\w-])` },
  { name: 'notion token', starts: ['ntn_'], body: '[A-Za-z0-9]{40,}' },
  { name: 'notion token', starts: ['secret_'], body: '[A-Za-z0-9]{43}(?![A-Za-z0-9])' },
  { name: 'figma token', starts: ['figd_', 'figo_', 'figu_', 'figdr_', 'figor_', 'figur_'], body: r`[\w-]{40,}` },
  { name: 'airtable token', starts: ['pat'], body: r`[A-Za-z0-9]{14}\.[0-9a-f]{64}` },
  { name: 'hubspot token', starts: ['pat-na', 'pat-eu', 'pat-ap'], body: r`\d-[0-9a-f]{8}-[0-9a-f-]{27}` },
  { name: 'clickup token', starts: ['pk_'], body: r`\d{4,10}_[A-Z0-9]{32}` },
  { name: 'dropbox token', starts: ['sl.'], body: r`(?:u\.)?[\w-]{100,}` },
  { name: 'mapbox token', starts: ['sk.eyJ'], body: r`[\w-]{20,}\.[\w-]{20,}` },
  {
    name: 'plaid token',
    starts: ['sandbox', 'development', 'production'].map((mode) => `access-${mode}-`),
    body: '[0-9a-f]{8}-[0-9a-f-]{27}',
  },

  // Standards.
  {
    name: 'jwt',
    starts: ['eyJ'],
    head: r`${WORD_START}(?<![-_])eyJ`,
    body: r`[\w-]{8,}\.(?:eyJ)?[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]{8,}){0,2}`,
  },
  { name: 'age key', starts: ['AGE-SECRET-KEY-1'], body: '[0-9A-Z]{40,}' },
  { name: 'nostr key', starts: ['nsec1'], body: '[02-9ac-hj-np-z]{50,}' },
  { name: 'wallet key', starts: ['xprv', 'yprv', 'zprv'], body: '[1-9A-HJ-NP-Za-km-z]{100,}' },
];

export const TOKENS: readonly Shape[] = ROWS.map(tokenShape);

/** A token that has nothing fixed at its beginning. */
interface LooseToken {
  readonly name: string;
  /** Without it there is no token in a text. */
  readonly needs: string;
  /** Global; the whole match is taken out, and its group `before`. Takes a fixed number of steps at most from a place. */
  readonly pattern: RegExp;
}

const LOOSE_ROWS: readonly (readonly [name: string, needs: string, pattern: string])[] = [
  // Letters may stand before it, as in `https://api.telegram.org/bot…`.
  ['telegram token', ':', r`(?<![\d.])\d{8,10}:[\w-]{35}(?![\w-])`],
  ['telegram token', '%3', r`(?<![\d.])\d{8,10}%3[Aa][\w-]{35}(?![\w-])`],
  ['firebase key', ':APA91b', r`${WORD_START}[\w-]{11,30}:APA91b[\w-]{120,200}`],
  ['mailchimp key', '-us', r`(?<=${WORD_START}(?<before>[0-9a-f]{32}))-us[0-9]{1,2}(?![0-9A-Za-z])`],
  ['azure key', 'JQQJ99', r`${WORD_START}[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,40}`],
  ['azure client secret', 'Q~', r`${WORD_START}[\w~.]{3}\dQ~[\w~.-]{31,40}`],
  ['azure devops token', 'AZDO', r`${WORD_START}[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}`],
  ['terraform token', '.atlasv1.', r`${WORD_START}[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,100}`],
];

export const LOOSE_TOKENS: readonly LooseToken[] = LOOSE_ROWS.map(([name, needs, pattern]) => ({
  name,
  needs,
  pattern: new RegExp(pattern, 'g'),
}));

/** Every text of three characters, one of each of the given ones. */
function pairs(first: string, second: string, third: string): readonly string[] {
  return Array.from(first).flatMap((a) => Array.from(second).flatMap((b) => Array.from(third, (c) => a + b + c)));
}
