import { anyCase, contextShape, WORD_START, type Shape, type ShapeRow } from './shape.ts';

const r = String.raw;

/** A quote, perhaps one inside JSON inside JSON. */
const QUOTE = r`(?:\\{0,3}["'])?`;
/** Between the name of a thing and its value. */
const IS = r`${QUOTE}\s{0,3}[:=]\s{0,3}${QUOTE}`;
const VALUE = r`[\w.~+/=-]`;
const WITH_DIGIT = r`(?=${VALUE}{0,100}[0-9])`;
const WITH_LETTER = r`(?=${VALUE}{0,100}[A-Za-z])`;
/** An expression of a program, which will give the value later, or where a file lies. */
const NOT_CODE = r`(?!(?:process|os|env|import|config|self|this|settings|secrets|vars|data|var|local|props|args|req|res)\.)(?!${VALUE}{0,100}\()(?!${VALUE}{0,100}\.(?:pem|key|crt|json|ya?ml|toml|txt|[jt]sx?|py|md)(?!${VALUE}))(?!\.{0,2}/[A-Za-z]|~/)`;
const PASSWORD = r`(?![/.~$%*])(?![^\s;"'\\]{0,128}\()[^\s;"'\\<>(){}$\[\]&,]{3,128}`;
/** A cookie with its name, up to how long its value may be. */
const PAIR = r`[\w.%-]{1,64}=[^\s;"'\\]`;
const HEADERS = (
  'x-api-key x-auth-token x-access-token x-goog-api-key x-vault-token x-subscription-token x-gitlab-token ' +
  'x-amz-security-token x-functions-key xi-api-key api-key private-token circle-token ocp-apim-subscription-key'
).split(' ');
const SETTINGS = [
  'API_?KEY',
  'SECRET',
  'SECRET_KEY',
  'TOKEN',
  'PASSWORD',
  'PASSWD',
  'ACCESS_KEY',
  'PRIVATE_KEY',
  'AUTH_KEY',
];
const FIELDS =
  'api_?key client_?secret secret_?key access_?token refresh_?token auth_?token bot_?token webhook_?secret'.split(' ');
/** `user:password` in base64 begins with at least so much. */
const BASIC = r`(?=[A-Za-z0-9+/]{0,40}[0-9A-Z])[A-Za-z0-9+/]{12,}={0,2}`;

const ROWS: readonly ShapeRow[] = [
  {
    name: 'bearer token',
    starts: ['bearer'],
    head: r`${WORD_START}${anyCase(r`bearer`)}(?:\s|%20){1,4}`,
    body: r`${WITH_DIGIT}[\w.~+/-]{16,}={0,2}`,
  },
  {
    name: 'authorization',
    starts: ['authorization'],
    head: anyCase(r`authorization${IS}(?:basic|token|apikey|api-key|key|bot|digest|negotiate|sso-key)\s{1,3}`),
    body: r`${VALUE}{8,}`,
  },
  {
    name: 'authorization',
    starts: ['authorization'],
    head: anyCase(r`authorization${IS}`),
    body: r`${WITH_DIGIT}${VALUE}{20,}`,
  },
  {
    name: 'key in a header',
    starts: HEADERS,
    head: anyCase(r`(?:${HEADERS.join('|')})${IS}`),
    body: r`${WITH_DIGIT}${NOT_CODE}${VALUE}{16,}`,
  },
  {
    name: 'cookie',
    starts: ['set-cookie'],
    head: anyCase(r`set-cookie${IS}[\w.%-]{1,64}=`),
    body: r`(?=[^\s;"'\\]{0,100}[0-9])[^\s;"'\\]{16,}`,
  },
  {
    name: 'cookie',
    starts: ['cookie'],
    head: r`(?<!-)${anyCase(r`cookie`)}${QUOTE}:\s{0,3}${QUOTE}`,
    body: r`(?=(?:${PAIR}{0,8}; ?){0,10}${PAIR}{9,})(?:${PAIR}{0,4096}; ?){0,50}${PAIR}{0,4096}`,
    pairs: true,
  },
  {
    name: 'password in an address',
    starts: ['://'],
    head: r`://[^\s/:@"'<>\\[\]]{0,128}:`,
    body: r`[^\s/@"'<>\\[\]]{1,256}(?=@)`,
  },
  { name: 'key in an address', starts: ['://'], head: '://', body: r`(?=[A-Za-z_-]{0,128}[0-9])[\w-]{20,128}(?=@)` },
  {
    name: 'password',
    starts: [';password=', '; password=', ';pwd=', '; pwd='],
    head: r`;\s?${anyCase(r`password|pwd`)}=`,
    body: PASSWORD,
  },
  {
    name: 'password',
    starts: ['password='],
    head: r`${anyCase(r`password`)}=(?<=[a-z]=[^\s;"'\\=]{1,64}\s{1,2}${anyCase(r`password`)}=)`,
    body: PASSWORD,
  },
  {
    name: 'password',
    starts: ['machine '],
    head: r`machine\s{1,3}\S{1,128}\s{1,9}login\s{1,3}\S{1,128}\s{1,9}password\s{1,3}`,
    body: r`[^\s"'\\[]{3,128}`,
  },
  {
    name: 'azure storage key',
    starts: ['AccountKey='],
    head: r`${anyCase(r`AccountKey`)}=`,
    body: '[A-Za-z0-9+/]{40,}={0,2}',
  },
  {
    name: 'azure shared key',
    starts: ['SharedAccessKey='],
    head: r`${anyCase(r`SharedAccessKey`)}=`,
    body: '[A-Za-z0-9+/]{40,}={0,2}',
  },
  {
    name: 'azure signature',
    starts: ['?sig=', '&sig=', ';sig='],
    head: '[?&;]sig=',
    body: '[A-Za-z0-9%/+]{43,}={0,2}',
  },
  {
    name: 'aws secret key',
    starts: ['secret', 'aws'],
    head: r`${anyCase(r`secret_?access_?key|aws_?secret(?:_?key)?`)}${IS}`,
    body: '[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])',
  },
  { name: 'registry login', starts: ['"auth'], head: r`"auth\\{0,3}"\s{0,3}:\s{0,3}\\{0,3}"`, body: BASIC },
  {
    name: 'registry login',
    starts: ['_auth', '_password'],
    head: '_(?:auth(?:Token)?|password)=',
    body: r`${WITH_DIGIT}${NOT_CODE}${VALUE}{12,}`,
  },
  {
    name: 'secret setting',
    starts: ['_API', '_SECRET', '_TOKEN', '_PASS', '_ACCESS', '_PRIVATE', '_AUTH'],
    head: `_(?:${SETTINGS.join('|')})${IS}`,
    body: r`${WITH_DIGIT}${WITH_LETTER}${NOT_CODE}${VALUE}{16,}`,
  },
  {
    name: 'secret setting',
    starts: ['api', 'client', 'secret', 'access', 'refresh', 'auth', 'bot', 'webhook'],
    head: r`${anyCase(FIELDS.join('|'))}${IS}`,
    body: r`${WITH_DIGIT}${WITH_LETTER}${NOT_CODE}${VALUE}{20,}`,
  },
];

/** Secrets that are known by what stands before them, anywhere in a text. */
export const CONTEXTS: readonly Shape[] = ROWS.map(contextShape);
