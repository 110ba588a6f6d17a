import { shapesOf, WORD_START, type ShapeRow, type Shapes } from './shapes.ts';

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
const HEADERS =
  'x-api-key|x-auth-token|x-access-token|x-goog-api-key|x-vault-token|x-subscription-token|x-gitlab-token|' +
  'x-amz-security-token|x-functions-key|xi-api-key|api-key|private-token|circle-token|ocp-apim-subscription-key';
const SETTINGS = 'API_?KEY|SECRET|SECRET_KEY|TOKEN|PASSWORD|PASSWD|ACCESS_KEY|PRIVATE_KEY|AUTH_KEY';
const FIELDS =
  'api_?key|client_?secret|(?:aws_?)?secret_?key|access_?token|refresh_?token|auth_?token|bot_?token|webhook_?secret';

/** Names before a colon or an equals sign, in upper or lower case. */
const ROWS: readonly ShapeRow[] = [
  [
    'authorization',
    r`authorization${IS}(?:basic|token|apikey|api-key|key|bot|digest|negotiate|sso-key)\s{1,3}`,
    `${VALUE}{8,}`,
  ],
  ['authorization', `authorization${IS}`, `${WITH_DIGIT}${VALUE}{20,}`],
  ['key in a header', `(?:${HEADERS})${IS}`, `${WITH_DIGIT}${NOT_CODE}${VALUE}{16,}`],
  ['cookie', r`set-cookie${IS}[\w.%-]{1,64}=`, r`(?=[^\s;"'\\]{0,100}[0-9])[^\s;"'\\]{16,}`],
  [
    'cookie',
    r`(?<!-)cookie${QUOTE}:\s{0,3}${QUOTE}`,
    r`(?=(?:${PAIR}{0,8}; ?){0,10}${PAIR}{9,})(?:${PAIR}{0,4096}; ?){0,50}${PAIR}{0,4096}`,
  ],
  ['password', r`(?<=;\s?)(?:password|pwd)=`, PASSWORD],
  ['password', r`password=(?<=[a-z]=[^\s;"'\\=]{1,64}\s{1,2}password=)`, PASSWORD],
  ['azure key', '(?:AccountKey|SharedAccessKey)=', '[A-Za-z0-9+/]{40,}={0,2}'],
  ['azure signature', '(?<=[?&;])sig=', '[A-Za-z0-9%/+]{43,}={0,2}'],
  ['aws secret key', `(?:secret_?access_?key|aws_?secret(?:_?key)?)${IS}`, '[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])'],
  ['registry login', '_(?:auth(?:Token)?|password)=', `${WITH_DIGIT}${NOT_CODE}${VALUE}{12,}`],
  ['secret setting', `(?:${FIELDS})${IS}`, `${WITH_DIGIT}${WITH_LETTER}${NOT_CODE}${VALUE}{20,}`],
];
/** Where one name ends like another, the longer one comes first. */
const NAMES =
  `authorization|${HEADERS}|(?:set-)?cookie|_?password|pwd|AccountKey|SharedAccessKey|sig|` +
  `secret_?access_?key|aws_?secret|_auth(?:Token)?|${FIELDS}`;

/** Names in which the case of letters counts. `user:password` has at least 12 characters in base64. */
const CASED_ROWS: readonly ShapeRow[] = [
  [
    'registry login',
    r`"auth\\{0,3}"\s{0,3}:\s{0,3}\\{0,3}"`,
    '(?=[A-Za-z0-9+/]{0,40}[0-9A-Z])[A-Za-z0-9+/]{12,}={0,2}',
  ],
  ['secret setting', `_(?:${SETTINGS})${IS}`, `${WITH_DIGIT}${WITH_LETTER}${NOT_CODE}${VALUE}{16,}`],
];

/** Values after something else. */
const OTHER_ROWS: readonly ShapeRow[] = [
  ['bearer token', r`${WORD_START}bearer(?:\s|%20){1,4}`, r`${WITH_DIGIT}[\w.~+/-]{16,}={0,2}`],
  ['password in an address', r`://[^\s/:@"'<>\\[\]]{0,128}:`, r`[^\s/@"'<>\\[\]]{1,256}(?=@)`],
  ['key in an address', '://', r`(?=[A-Za-z_-]{0,128}[0-9])[\w-]{20,128}(?=@)`],
  ['password', r`machine\s{1,3}\S{1,128}\s{1,9}login\s{1,3}\S{1,128}\s{1,9}password\s{1,3}`, r`[^\s"'\\[]{3,128}`],
];

const assigned = (names: string): string => r`[:=](?<=((?:${names})${QUOTE}\s{0,3}[:=]))`;

/** Secrets that are known by what stands before them, anywhere in a text. */
export const NAMED: readonly Shapes[] = [
  shapesOf(ROWS, { hint: assigned(NAMES), anyCase: true }),
  shapesOf(CASED_ROWS, { hint: assigned(`"auth|_(?:${SETTINGS})`) }),
  shapesOf(OTHER_ROWS, { hint: 'bearer|://|machine', anyCase: true }),
];
