/** What servers say when they refuse a request because of its content, in lower case. */
const PHRASES: readonly RegExp[] = [
  // OpenAI, Azure, Anthropic, and servers that copy their codes.
  /content[ _-]?filter|content[ _-](?:policy|moderation|management polic)|responsibleaipolicy|safety system/u,
  /invalid_prompt|policy_violation|moderation_blocked|prohibited[ _]content|violat\w+ (?:our|the|its|\w+'s)? ?\w* ?(?:usage|content|safety|acceptable use) (?:polic|guideline)/u,
  /flagged (?:for|as|by)|(?:blocked|rejected|refused|filtered) (?:by|due to|because of|for) (?:\w+ ){0,3}(?:content|safety|moderation|polic|guardrail)/u,
  /usage guidelines|guardrail_intervened|blocked by (?:a )?guardrail/u,
  // DashScope, Zhipu, MiniMax, Doubao, DeepSeek, Moonshot, Baidu.
  /data_?inspection_?failed|inappropriate content|sensitive_?(?:content|information)|new_sensitive|不安全|(?<!大小写)敏感/u,
  /content exists risk|considered high risk|content_?risk|content (?:may be|is) unsafe|unsafe content/u,
  // Files that a server cannot read.
  /(?:unsupported|invalid|corrupt\w*|could not (?:process|read|parse)|unable to (?:process|read|parse)) (?:the |this |input )?(?:document|pdf|file)\b(?! magic)/u,
];

/** A filter that fails, firewalls, and policies on who may sign in: none of them says that the content is refused. */
const OTHER_CAUSES =
  /unavailable|tim(?:ed|e) ?out|internal error|try again later|conditional access|cloudflare|firewall/u;

/** Whether a server's error says that it refuses the content of the request. `haystack`: as in `ErrorFacts`. */
export function isContentRefusal(haystack: string): boolean {
  return !OTHER_CAUSES.test(haystack) && PHRASES.some((phrase) => phrase.test(haystack));
}

const REASONS: ReadonlySet<string> = new Set([
  'refusal',
  'refused',
  'content_filter',
  'content_filtered',
  'content-filter',
  'sensitive',
  'safety',
  'blocked',
  'blocklist',
  'prohibited_content',
  'recitation',
  'spii',
  'image_safety',
  'guardrail_intervened',
  'guardrails',
  'moderation',
  'policy_violation',
  'risk',
]);

/** Whether a finish, stop or incomplete reason stands for a refusal, in any provider's words. */
export function isRefusalReason(reason: string | null | undefined): boolean {
  return typeof reason === 'string' && REASONS.has(reason.toLowerCase());
}
