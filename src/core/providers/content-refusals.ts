import type { ModelError } from './provider.ts';

/** What servers say when they refuse a request because of its content, in lower case. */
const PHRASES: readonly RegExp[] = [
  // OpenAI, Azure, Anthropic, and servers that copy their codes.
  /content[ _-]?filter|content[ _-]?(?:policy|moderation|management polic)|responsibleaipolicy|safety system/u,
  /invalid_prompt|policy_violation|moderation_blocked|prohibited[ _]content|violat\w+ (?:our|the|its|\w+'s)? ?\w* ?(?:usage|content|safety|acceptable use) (?:polic|guideline)/u,
  /flagged (?:for|as|by)|(?:blocked|rejected|refused|filtered) (?:by|due to|because of|for) (?:\w+ ){0,3}(?:content|safety|moderation|polic|guardrail)/u,
  /usage guidelines|guardrail_intervened|blocked by (?:a )?guardrail|prompt shield|jailbreak/u,
  /(?:disallowed|harmful|prohibited|unsafe) content|content .{0,40}(?:is|was|been) (?:blocked|rejected)|违规/u,
  // DashScope, Zhipu, MiniMax, Doubao, DeepSeek, Moonshot, Baidu.
  /data_?inspection_?failed|inappropriate content|sensitive_?(?:content|information)|new_sensitive|不安全|(?<!大小写)敏感/u,
  /content exists risk|considered high risk|content_?risk|content (?:may be|is) unsafe|unsafe content/u,
  // Gateways.
  /\bmoderat(?:ed|ion)\b(?! (?:endpoint|model|api))|(?:prompt|response|input|output) (?:was |is |has been )?(?:blocked|rejected|flagged)/u,
  // Files that a server cannot read.
  /(?:unsupported|invalid|corrupt\w*|could not (?:process|read|parse)|unable to (?:process|read|parse)) (?:the |this |input )?(?:document|pdf|file)\b(?! (?:magic|id|name|type))/u,
];

/** Filters that fail, firewalls, and what is said of accounts: none of it means the content, or at least not surely. */
const OTHER_CAUSES =
  /unavailable|tim(?:ed|e) ?out|internal error|try again later|conditional access|cloudflare|firewall|\b(?:account|organi[sz]ation|workspace|project|region|subscription|fraud)\b/u;

/** What is said of keys and what they may do. */
const ACCESS =
  /\bkeys?\b|credential|permissions? (?:to|for|on)\b|(?:no|not have|lacks?|missing|without) (?:\w+ )?(?:access|permissions?|scopes?)|not (?:permitted|allowed|authori[sz]ed|enabled|entitled)/u;

/**
 * Whether a server's error says that it refuses the content of the request. `haystack`: as in `ErrorFacts`. Status 403
 * mostly means the key.
 */
export function isContentRefusal(haystack: string, status?: number): boolean {
  if (status === 403 && ACCESS.test(haystack)) return false;
  return !OTHER_CAUSES.test(haystack) && PHRASES.some((phrase) => phrase.test(haystack));
}

/** Statuses of a refusal in words that nobody knows. */
const UNEXPLAINED = new Set([400, 403, 406, 421, 422, 451]);

export type RefusesContent = 'surely' | 'perhaps' | 'no';

/** Whether an error is about the content of the request: `surely` if the server says so, `perhaps` if nothing explains it. */
export function refusesContent({ kind, about, status }: ModelError): RefusesContent {
  if (kind === 'refusal' || about === 'image') return 'surely';
  const isUnexplained = kind === 'bad-request' && about === undefined && status !== undefined;
  return isUnexplained && UNEXPLAINED.has(status) ? 'perhaps' : 'no';
}

/** In a finish reason in lower case, whatever stands around it. */
const REASON =
  /refus|filter|moderat|safety|unsafe|sensitive|block|prohibit|recitation|spii|model_?armor|guard_?rail|polic(?:y|ies)|violat|\brisk|_risk|harm|inappropriate|censor|flagged|disallowed|toxic/u;

/** Whether a finish, stop or incomplete reason stands for a refusal, in any provider's words. */
export function isRefusalReason(reason: string | null | undefined): boolean {
  return REASON.test((reason ?? '').toLowerCase());
}
