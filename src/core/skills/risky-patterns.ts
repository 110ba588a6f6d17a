export type RiskKind =
  | 'pipe to a shell'
  | 'base64'
  | 'eval'
  | 'invisible characters'
  | 'secret path'
  | 'program file'
  | 'long line'
  | 'paste site'
  | 'hidden instruction'
  | 'hidden code'
  | 'remote control'
  | 'archive with a password';

interface RiskyPattern {
  readonly kind: RiskKind;
  /** Many honest skills hold it, so it is told only beside another kind of finding in the same file. @default false */
  readonly weak?: boolean;
  /** Bounded in what it looks at: the text may be made to keep it busy. */
  readonly pattern: RegExp;
}

const SHELL = String.raw`(?:sudo\s+(?:-\w+\s+)*)?(?:\/[\w/.-]{1,40}\/)?(?:env\s+)?(?:(?:ba|z|k|da|fi|tc|c)?sh|python[\d.]*|node|perl|ruby|php|pwsh|powershell|iex|osascript)`;
const DOWNLOAD = String.raw`\b(?:curl|wget|fetch|aria2c|iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\b`;
/** Takes what is piped into it as data: the program itself stands on the line and runs nothing else. */
const DATA = String.raw`(?!\s+(?:-\w+\s+){0,3}-(?:c|e|p|n|ne|pe|lne|nle|rjson|rjson -e|m\s+json\.tool)\b(?![^\n]{0,600}\b(?:exec|eval|compile|system|popen|subprocess|__import__|child_process|Function|spawn)\b))`;
/** Opens a file to take what is in it. */
const READS = [
  String.raw`\b(?:cat|less|head|tail|tar|zip|scp|rsync|base64|xxd|strings|jq|grep|awk|sed|dd|Get-Content)\s[^\n|;]{0,100}?`,
  String.raw`\b(?:readFile(?:Sync)?|open|read_text|read_bytes|slurp|Path|join)\s*\([^\n;]{0,100}?`,
  String.raw`\b(?:cp|mv)\s+(?:-\w+\s+)*(?:"[^"\n]{0,100}?|'[^'\n]{0,100}?|\S{0,60}?)`,
  String.raw`(?:-d\s*|--data(?:-binary)?[ =]|-F\s*\S{0,20}=?)@["']?\S{0,60}?|(?:-T|--upload-file)\s+\S{0,60}?|<\s*\S{0,60}?`,
  String.raw`\b(?:upload|send|post|read|print|show|copy|include|dump|exfiltrate|steal)(?:\s+(?:the|all|of|contents?|files?|your|from|in|its|whole|a|output)){0,6}\s+[\x60"'~$/\w{}]{0,40}?`,
].join('|');
const END = String.raw`(?=\s*(?:$|[;&)"'\x60#-])|\s+-)`;

/** Words that are meant to overrule others. */
const HIDDEN_INSTRUCTIONS: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|these|of|every|each)\s+){0,3}(?:previous|prior|above|earlier|preceding|former|other|system|safety)\s+(?:\w+\s+){0,2}(?:instructions?|prompts?|rules?|messages?|directives?|guidelines?|context)\b/iu,
  /\b(?:do\s+not|don['’]?t|never|without)\s+(?:ever\s+)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|alert(?:ing)?|notify(?:ing)?|ask(?:ing)?|show(?:ing)?|reveal(?:ing)?)\s+(?:this\s+|it\s+|that\s+|anything\s+)?(?:to\s+)?(?:the\s+)?(?:user|owner|human|person|anyone|anybody)\b/iu,
  /\byou\s+are\s+now\s+(?:in\s+)?(?:an?\s+)?(?:developer|debug|god|jailbroken|unrestricted|DAN)\b|\b(?:reveal|print|output|send|leak|repeat)\s+(?:me\s+)?(?:your|the)\s+system\s+prompt\b/iu,
  /<\|(?:im_start|im_end|system|endoftext)\|>|\[\/?INST\]|<\/?system(?:-reminder)?>/iu,
];

/** A place of secrets: on a line that reads or copies it, a finding; mentioned, a weak one. */
function secretPaths(place: string): readonly RiskyPattern[] {
  return [
    { kind: 'secret path', pattern: new RegExp(`(?:${READS})(?:${place})`, 'iu') },
    { kind: 'secret path', weak: true, pattern: new RegExp(place, 'iu') },
  ];
}

/** What is looked for in each line. */
export const RISKY_PATTERNS: readonly RiskyPattern[] = [
  { kind: 'pipe to a shell', pattern: new RegExp(String.raw`${DOWNLOAD}[^\n]{0,400}?\|\s*${SHELL}\b${DATA}`, 'iu') },
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
  { kind: 'base64', weak: true, pattern: /(?<![A-Za-z0-9+/_-]|base64,)[A-Za-z0-9+/_-]{160}/u },
  {
    kind: 'base64',
    weak: true,
    pattern: /\bbase64\s+(?:-d|-D|--decode)\b|\batob\s*\(|\bb64decode\b|,\s*['"]base64['"]\s*\)/u,
  },
  { kind: 'base64', weak: true, pattern: /(?:\\x[0-9a-f]{2}){24}|(?:\\u[0-9a-f]{4}){16}/iu },
  {
    kind: 'eval',
    pattern:
      /\b(?:eval|exec|Function|system|Invoke-Expression|iex)\b\s*\(?[^\n]{0,80}(?:\batob\b|b64decode|\bbase64\b|fromCharCode|unhexlify|decompress|\brot13\b|\burlopen\b|requests\.get|\bfetch\s*\(|DownloadString|marshal\.loads|\bcurl\b|\bwget\b)/iu,
  },
  {
    kind: 'eval',
    weak: true,
    pattern: /\beval\s*(?:\(|["'$`])|\bnew\s+Function\s*\(|(?<![.\w])exec\s*\(|\b__import__\s*\(/u,
  },
  {
    kind: 'eval',
    weak: true,
    pattern: /\bInvoke-Expression\b|\bos\.system\s*\(|\bmarshal\.loads\b|\bpickle\.loads?\b/u,
  },
  ...secretPaths(
    String.raw`\.ssh\/(?!config\b|known_hosts\b)(?!\S*\.pub\b)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)|\.aws\/credentials|\.gnupg\b|\.netrc\b|\.npmrc\b|\.pypirc\b|\.git-credentials\b|\.kube\/config|\.docker\/config\.json|\.config\/(?:gcloud|gh)\b|\.password-store\b`,
  ),
  ...secretPaths(
    String.raw`\/etc\/(?:shadow|sudoers)\b|\/proc\/(?:self|\d+)\/environ|login\.keychain|\bLogin Data\b|\bcookies\.sqlite\b|\bwallet\.dat\b`,
  ),
  ...secretPaths(
    String.raw`\.(?:assistant|openclaw|clawdbot|moltbot|nanobot|claude|codex)\/(?:[\w.-]+\/)?(?:config|openclaw|clawdbot|credentials|auth|settings)[\w.-]*|\bgateway\.token\b|\bASSISTANT_HOME\b`,
  ),
  ...secretPaths(String.raw`(?<![\w.*)\]])\.env(?:\.(?!example|sample|template|dist|schema)\w+)?(?![\w.=(-])`),
  { kind: 'secret path', weak: true, pattern: /\.ssh\b|\.aws\b(?:\/|\s|$)|find-generic-password/iu },
  {
    kind: 'paste site',
    pattern:
      /\b(?:pastebin\.com|paste\.ee|pastes?\.io|hastebin\.com|dpaste\.(?:com|org)|termbin\.com|ghostbin\.\w+|rentry\.(?:co|org)|ix\.io|0x0\.st|transfer\.sh|file\.io|anonfiles\.com|gist\.githubusercontent\.com|gist\.github\.com\/\S{1,100}\/raw|glot\.io)\b/iu,
  },
  {
    kind: 'paste site',
    pattern:
      /\b(?:webhook\.site|requestbin\.\w+|requestcatcher\.com|hookbin\.com|beeceptor\.com|pipedream\.net|burpcollaborator\.net|oastify\.com|oast\.(?:pro|live|site|online|fun|me)|interact(?:sh)?\.(?:sh|com)|dnslog\.cn|ceye\.io|discord(?:app)?\.com\/api\/webhooks\/\d{6}|api\.telegram\.org\/bot\d{6,}:)/iu,
  },
  { kind: 'paste site', weak: true, pattern: /\bngrok(?:-free)?\.\w+\b/iu },
  {
    kind: 'paste site',
    pattern:
      /\bhttps?:\/\/(?!127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/u,
  },
  {
    kind: 'hidden instruction',
    pattern:
      /\b(?:send|upload|post|forward|transmit|report|sync|submit|append|attach|deliver)\b[^\n.]{0,100}\b(?:conversations?|chat\s+(?:history|logs?)|environment\s+variables|credentials|api\s+keys|private\s+keys?|secrets|passwords|seed\s+phrases?|browser\s+cookies|memory\s+files?|system\s+information|(?:the\s+)?(?:user|owner)['’]s\s+(?:messages?|files|data|keys?|tokens?|passwords?|history|email))\b[^\n]{0,100}\b(?:to|at|via|with|in)\b[^\n]{0,60}(?:https?:\/\/|\b[\w-]+\.(?:com|net|io|xyz|top|ru|cn|site|dev|app|org)\b|\bour\b|\bthe\s+(?:endpoint|server|address|parameter|query))/iu,
  },
  {
    kind: 'hidden instruction',
    pattern:
      /\b(?:silently|secretly|quietly|covertly|without\s+(?:mentioning|disclosing|prompting|confirmation|(?:the\s+)?(?:user|owner)(?:['’]s)?\s+(?:knowing|knowledge|consent)))\b[^\n.]{0,80}\b(?:send|upload|post|forward|transmit|collect|copy|exfiltrate|download|install|execute|run)\b|\b(?:send|upload|post|forward|transmit|collect|copy|exfiltrate|download|install|execute|run)\b[^\n.]{0,80}\b(?:silently|secretly|covertly|without\s+(?:mentioning|disclosing|(?:the\s+)?(?:user|owner)(?:['’]s)?\s+(?:knowing|knowledge|consent)))\b/iu,
  },
  {
    kind: 'hidden instruction',
    pattern:
      /\b(?:pretend|act|role-?play\w*|imagine|behave|respond|answer|play|you\s+are)\b[^\n]{0,120}\b(?:no|without(?:\s+any)?|free\s+(?:of|from)|un(?:bound|restricted|filtered|censored)(?:\s+by)?|not\s+bound\s+by|ignor\w+)\s+(?:any\s+|all\s+|its\s+|your\s+)?(?:\w+\s+)?(?:restrictions?|rules?|limits?|limitations?|guidelines|filters?|safety|safeguards|polic(?:y|ies)|ethics|morals|censorship)\b|\bstay\s+in\s+character\s+(?:no\s+matter|whatever|even\s+if)/iu,
  },
  {
    kind: 'remote control',
    pattern:
      /\/dev\/(?:tcp|udp)\/|\b(?:nc|ncat|netcat)\b[^\n|]{0,80}\s-(?:\w*e|c)\s*\S*(?:sh|bash|cmd)\b|\bbash\s+-i\s*>&|\bos\.dup2\s*\(|\bpty\.spawn\s*\(|(?:>>|tee\s+-a)\s*\S{0,60}authorized_keys\b|\bsocat\b[^\n]{0,120}\bexec:/iu,
  },
  {
    kind: 'archive with a password',
    pattern:
      /\bunzip\b[^\n|;]{0,60}\s-P\s*\S|\b7z[az]?\s+[xe]\b[^\n|;]{0,120}\s-p\S|\bunrar\s+[xe]\b[^\n|;]{0,80}\s-p\S|\b(?:archive|zip|rar|7z|extract\w*|unpack\w*|unzip)\b[^\n]{0,80}\b(?:pass(?:word|wd|phrase|code)?|pwd)\b[*_\s]*(?:is\b|[:=]|[`"'“]\w)|\b(?:pass(?:word|wd|phrase|code)?|pwd)\b[*_\s]*(?:is\b|[:=])[^\n]{0,40}\b(?:to\s+)?(?:extract|unpack|unzip|archive|zip)\b/iu,
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
