export type RiskKind =
  | 'pipe to a shell'
  | 'base64'
  | 'eval'
  | 'invisible characters'
  | 'secret path'
  | 'program file'
  | 'long line'
  | 'paste site'
  | 'hidden instruction';

interface RiskyPattern {
  readonly kind: RiskKind;
  /** Bounded in what it looks at: the text may be made to keep it busy. */
  readonly pattern: RegExp;
}

const SHELL = String.raw`(?:sudo\s+(?:-\w+\s+)*)?(?:\/[\w/.-]{1,40}\/)?(?:env\s+)?(?:(?:ba|z|k|da|fi|tc|c)?sh|python[\d.]*|node|perl|ruby|php|pwsh|powershell|iex|osascript)`;
const DOWNLOAD = String.raw`\b(?:curl|wget|fetch|aria2c|iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\b`;
const END = String.raw`(?=\s*(?:$|[;&)"'\x60#-])|\s+-)`;

/** Words that are meant to overrule others. */
export const HIDDEN_INSTRUCTIONS: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|these|of|every|each)\s+){0,3}(?:previous|prior|above|earlier|preceding|former|other|system|safety)\s+(?:\w+\s+){0,2}(?:instructions?|prompts?|rules?|messages?|directives?|guidelines?|context)\b/iu,
  /\b(?:do\s+not|don['’]?t|never|without)\s+(?:ever\s+)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|alert(?:ing)?|notify(?:ing)?|ask(?:ing)?|show(?:ing)?|reveal(?:ing)?)\s+(?:this\s+|it\s+|that\s+|anything\s+)?(?:to\s+)?(?:the\s+)?(?:user|owner|human|person|anyone|anybody)\b/iu,
  /\byou\s+are\s+now\s+(?:in\s+)?(?:an?\s+)?(?:developer|debug|god|jailbroken|unrestricted|DAN)\b|\b(?:reveal|print|output|send|leak|repeat)\s+(?:me\s+)?(?:your|the)\s+system\s+prompt\b/iu,
  /<\|(?:im_start|im_end|system|endoftext)\|>|\[\/?INST\]|<\/?system(?:-reminder)?>/iu,
];

/** What is looked for in each line. */
export const RISKY_PATTERNS: readonly RiskyPattern[] = [
  { kind: 'pipe to a shell', pattern: new RegExp(String.raw`${DOWNLOAD}[^\n]{0,400}?\|\s*${SHELL}\b`, 'iu') },
  {
    kind: 'pipe to a shell',
    pattern: new RegExp(
      String.raw`(?:\b(?:(?:ba|z|k|da)?sh|eval|source|python[\d.]*|node|perl|ruby)\s+(?:-\w{1,20}\s+){0,3}|(?:^|[\s;&])\.\s+)["']?(?:\$\(|<\(|\x60)\s*${DOWNLOAD}`,
      'iu',
    ),
  },
  {
    kind: 'pipe to a shell',
    pattern: new RegExp(
      String.raw`\b(?:base64|xxd|openssl|gunzip|zcat|printf|echo|rev)\b[^|\n]{1,400}\|\s*${SHELL}${END}`,
      'iu',
    ),
  },
  { kind: 'pipe to a shell', pattern: new RegExp(String.raw`\|\s*base64\s+(?:-d|-D|--decode)\b[^|\n]{0,80}\|`, 'u') },
  { kind: 'base64', pattern: /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{160}/u },
  { kind: 'base64', pattern: /\bbase64\s+(?:-d|-D|--decode)\b|\batob\s*\(|\bb64decode\b|,\s*['"]base64['"]\s*\)/u },
  { kind: 'base64', pattern: /(?:\\x[0-9a-f]{2}){24}|(?:\\u[0-9a-f]{4}){16}/iu },
  { kind: 'eval', pattern: /\beval\s*(?:\(|["'$`])|\bnew\s+Function\s*\(|(?<![.\w])exec\s*\(|\b__import__\s*\(/u },
  { kind: 'eval', pattern: /\bInvoke-Expression\b|\bos\.system\s*\(|\bmarshal\.loads\b|\bpickle\.loads?\b/u },
  {
    kind: 'secret path',
    pattern:
      /\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.aws\b(?:\/|\s|$)|\.gnupg\b|\.netrc\b|\.npmrc\b|\.pypirc\b|\.git-credentials\b|\.kube\/config|\.docker\/config\.json|\.config\/(?:gcloud|gh)\b|\.password-store\b/iu,
  },
  { kind: 'secret path', pattern: /(?<![\w.*)\]])\.env(?:\.(?!example|sample|template)\w+)?(?![\w.=(-])/u },
  {
    kind: 'secret path',
    pattern:
      /\/etc\/(?:shadow|sudoers)\b|\/proc\/(?:self|\d+)\/environ|login\.keychain|find-generic-password|\bLogin Data\b|\bcookies\.sqlite\b|\bwallet\.dat\b/iu,
  },
  {
    kind: 'secret path',
    pattern:
      /\.(?:assistant|openclaw|clawdbot|moltbot|nanobot|claude|codex)\/(?:[\w.-]+\/)?(?:config|openclaw|clawdbot|credentials|auth|settings)[\w.-]*|\bgateway\.token\b|\bASSISTANT_HOME\b/iu,
  },
  {
    kind: 'paste site',
    pattern:
      /\b(?:pastebin\.com|paste\.ee|pastes?\.io|hastebin\.com|dpaste\.(?:com|org)|termbin\.com|ghostbin\.\w+|rentry\.(?:co|org)|ix\.io|0x0\.st|transfer\.sh|file\.io|anonfiles\.com|gist\.githubusercontent\.com|gist\.github\.com\/\S{1,100}\/raw|webhook\.site|requestbin\.\w+|pipedream\.net|ngrok(?:-free)?\.\w+|glot\.io)\b/iu,
  },
  {
    kind: 'paste site',
    pattern:
      /\bhttps?:\/\/(?!127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/u,
  },
  ...HIDDEN_INSTRUCTIONS.map((pattern) => ({ kind: 'hidden instruction' as const, pattern })),
];

/** What holds programs, by its first bytes read as Latin-1. */
export const PROGRAMS: readonly { readonly magic: RegExp; readonly what: string }[] = [
  { magic: /^\x7FELF/u, what: 'a program (ELF)' },
  { magic: /^MZ[^\n]{0,64}\0/u, what: 'a program (Windows)' },
  {
    magic: /^(?:\u00FE\u00ED\u00FA[\u00CE\u00CF]|[\u00CE\u00CF]\u00FA\u00ED\u00FE|\u00CA\u00FE\u00BA\u00BE)/u,
    what: 'a program (macOS or Java)',
  },
  { magic: /^\0asm/u, what: 'a program (WebAssembly)' },
  { magic: /^!<arch>\n/u, what: 'a program library' },
  {
    magic: /^(?:PK\x03\x04|\x1F\u008B|BZh\d1AY|\u00FD7zXZ|7z\u00BC\u00AF|Rar!|(?:.|\n){257}ustar)/u,
    what: 'an archive, whose content is not looked at',
  },
];
