import { DeadlineError } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';
import { timeText, withWords } from '../util/text.ts';
import { isContentRefusal } from './content-refusals.ts';
import { readFacts, type ErrorFacts } from './error-facts.ts';
import type { ErrorHints } from './vendor.ts';
import type { ModelError, ModelErrorKind, ToolChoice } from './provider.ts';

/** Facts about a failed call, from which its error message and advice are made. */
export interface ErrorContext {
  /** The key in `config.providers`. */
  readonly provider: string;
  /** Host of a configured address; null for the API's own address. */
  readonly host: string | null;
  readonly model: string;
  readonly toolChoice: ToolChoice;
  /** The server's own commands, which the message names. @default none */
  readonly hints?: ErrorHints;
  /** Environment variable that the API key was read from; null: the key is in the configuration, or there is no key. */
  readonly keyVariable: string | null;
  /** Texts that must not appear in a message, such as the API key. */
  readonly secrets: readonly string[];
  /** Milliseconds since 1970; a `Retry-After` date is measured from it. */
  readonly now: number;
}

const PHRASES = {
  contextOverflow: new RegExp(
    [
      /context_length_exceeded|exceed_context_size|context_?window_?exceeded|max_prompt_tokens|max_model_len/u,
      /context (?:length|window|size|limit|is too long)|maximum (?:context|model length|prompt length|number of tokens)/u,
      /(?:prompt|input)(?: is)? too long|too long[;,] exceeded|input token length too long|length of tokens .{0,40}too long/u,
      /too many (?:input )?tokens(?!.{0,20}(?:wait|per ))|too many total text bytes|input tokens? (?:count|exceed)|prompt token count/u,
      /longer than the maximum|exceeds? (?:the )?max(?:imum)?(?: allowed)? (?:input |prompt )?length|prompt exceeds max|input length .{0,40}exceed/u,
      /exceeded model token limit|token limit exceeded|conversation length exceeded|range of input length|request contains .{0,20}tokens.{0,20}exceed/u,
      /reduce (?:the length of (?:the|your) (?:messages|prompt|input)|your message size|the number of messages)/u,
      /inputs.{0,3} (?:must have less than|tokens \+ .?max_new_tokens)|n_keep.{0,20}n_ctx|kv size|invalid .?(?:messages|input)[^ ]* string too long/u,
      /max_seq_len\b/u,
      /code (?:1261|1039)\b|prompt ?超长|输入长度超|上下文长度|超出上下文|超过最大长度|长度超限/u,
    ]
      .map(({ source }) => source)
      .join('|'),
    'u',
  ),
  quota:
    /insufficient_quota|exceeded_current_quota|billing_\w+|credit balance|exceeded your current quota|insufficient (?:account )?(?:balance|credit|funds)|out of credits|used all available credits|spending limit|arrearage|check your (?:plan and )?billing|specified api usage limits|budget_exceeded|budget has been exceeded|past due|余额不足|欠费/u,
  /** A limit that opens again, so not one on the size of a request. */
  rate: /rate.?limit|too many requests|per.?(?:second|min|minute|hour|day)|\b[rt]p[smdh]\b|throttl|concurren|usage limit|limit (?:will )?reset|quota|(?:try again|retry) (?:in|after)|resource_exhausted|daily|weekly|monthly|for today/u,
  /** Of these, one that stays closed for hours. */
  longLimit: /per[ _-]?day|daily|weekly|monthly|for today|usage limit|\((?:rpd|tpd)\)/u,
  /** The same in words that nothing else is said with, whatever the status. */
  spentLimit:
    /(?:daily|weekly|monthly|api usage) (?:\w+ ){0,3}limit|(?:limit|maximum|quota) .{0,40}(?:per[ _-]?day|for today)/u,
  /** What the model wrote couldn't be used by its own server. It will write something else. */
  blunder:
    /tool_use_failed|failed to call a function|tool call validation failed|json_validate_failed|output_parse_failed|error parsing tool call|(?:model (?:generated|produced) output|generated output).{0,80}(?:not match|could not be parsed|couldn't be parsed)/u,
  /** What servers say of a request, whatever their status. */
  request:
    /invalid_request|badrequest|bad request|invalidparameter|invalid_argument|validation error|extra inputs|jinja|chat ?template|template error|roles? (?:must|should) alternate|only .{0,60}roles? (?:are|is) supported|system role not supported|only supports single tool-calls|tool call ids should|failed to parse (?:tool call arguments|messages|tools|grammar)|unable to generate parser|unmarshal|tools? param requires|invalid (?:role|parameter|argument|schema|tool)|unsupported (?:parameter|value|role|content|param)|unknown (?:parameter|field|role|argument)|(?:not|n't) support (?:tool|function|thinking|image|the|this|param)|too large to process/u,
  /** Of these, what another model may accept. */
  template:
    /jinja|chat ?template|template error|(?:must|should) alternate|roles? (?:are|is) supported|role not supported|tool-calls at once|tool call ids should|unable to generate parser|tools? param requires|(?:not|n't) support (?:tool|function|thinking)|support tool use/u,
  badKey:
    /(?:invalid|incorrect|missing)[ _]api[ _]key|api key (?:is |has )?(?:not valid|invalid|missing|expired)|no api key/u,
  /** The account is blocked, so every request fails. */
  denied:
    /(?:organization|account) (?:has been|is|must be|not) (?:disabled|deactivated|suspended|not active|not verified|verified)|region (?:is )?not (?:enabled|supported)|location is not supported|conditional access/u,
  /** What passes by itself, whatever the status. */
  passing:
    /overloaded|over capacity|has crashed|at this time|temporarily unavailable|try again later|filter.{0,20}(?:timed? ?out|internal error)/u,
  /** A firewall in front of the server, which may mean the content. */
  firewall: /cloudflare|firewall|\bwaf\b/u,
  toolChoice: /tool[ _]?choice/u,
  forcedTool: /does not support|should be \["none", ?"auto"\]|thinking/u,
  unknownModel:
    /model_not_found|model .{0,120}(?:not found|does not exist|not exist|unknown)|unknown model(?! state)|not a valid model|no such model|invalid model(?: name)?\b|no endpoints found for|no models? (?:is |are )?loaded/u,
  noImages:
    /(?:image|vision|multimodal)[^.]{0,60}(?:not (?:supported|allowed|available|enabled)|unsupported)|(?:not|n't|that) support[^.]{0,40}(?:image|vision|multimodal)|unknown variant .?image|not a multimodal|mmproj|at most 0 image|content.{0,4} must be a string/u,
  image: /\bimages?\b|image_url/u,
  /** What local servers say when a model does not fit into the machine. */
  outOfMemory:
    /out of memory|more system memory|insufficient (?:system )?(?:memory|resources)|(?:unable|failed) to allocate|cudamalloc/u,
  /** What they say of a model that they can't load. */
  notLoadable:
    /(?<!\w)(?:error|fail(?:ed|ure)|unable|could ?n[o']t|can ?n[o']t)(?: while)? (?:to load|loading) (?:the )?model/u,
  /** A local server that reads its model from the disk, which takes minutes for a large one. */
  loading: /loading (?:the )?model|model (?:\S+ )?is (?:still |currently )?(?:being )?load(?:ing|ed)\b/u,
  certificate: /cert|self.signed|unable_to_verify|err_tls/u,
};

/** Turns an error of an SDK, `fetch` or the watchdog into the error event of a call. */
export function classifyError(thrown: unknown, context: ErrorContext): ModelError {
  const aborted = someCause(thrown, (error) => isNamed(error, 'AbortError', 'APIUserAbortError'));
  if (aborted) return abortedError(context);
  const facts = readFacts(thrown, context.now);
  return facts.effectiveStatus === undefined && !isServerError(thrown)
    ? classifyTransport(thrown, context)
    : classifyAnswer(facts, context);
}

export function abortedError(context: ErrorContext): ModelError {
  return { type: 'error', kind: 'aborted', retryable: false, message: `The call to ${who(context)} was stopped.` };
}

/** The error of a stream that ended without an error of the connection, but before the answer was complete. */
export function brokenStream(context: ErrorContext): ModelError {
  return {
    type: 'error',
    kind: 'network',
    retryable: true,
    message: `The stream broke off: ${who(context)} stopped in the middle of its answer.`,
  };
}

export function malformedAnswer(context: ErrorContext, what: string): ModelError {
  return {
    type: 'error',
    kind: 'malformed',
    retryable: true,
    message: `${who(context)} sent an answer that could not be read: ${what}.`,
  };
}

function classifyTransport(thrown: unknown, context: ErrorContext): ModelError {
  const name = who(context);
  const make = (kind: ModelErrorKind, message: string, retryable = true): ModelError => {
    const setting = kind === 'network' ? addressSetting(context) : undefined;
    const about = setting === undefined ? {} : { setting };
    return { type: 'error', kind, retryable, ...about, message: withoutSecrets(message, context) };
  };
  const late = findCause(thrown, (error) => error instanceof DeadlineError);
  if (late !== undefined) {
    const advice = `Try again, or raise providers.${context.provider}.timeouts.`;
    return make('timeout', `${name} was too slow: ${late.message}. ${advice}`);
  }
  const code = errorCode(thrown) ?? '';
  if (/timedout|_timeout$/iu.test(code) || someCause(thrown, (error) => isNamed(error, 'APIConnectionTimeoutError'))) {
    return make(
      'timeout',
      `${name} did not answer in time. Try again, or raise providers.${context.provider}.timeouts.`,
    );
  }
  if (findCause(thrown, (error) => error instanceof SyntaxError) !== undefined) {
    return malformedAnswer(context, 'a piece of the stream is not JSON');
  }
  const setting = addressSetting(context);
  const address = setting === undefined ? 'Check the network' : `Check ${setting} and the network`;
  switch (code) {
    case 'ECONNREFUSED':
      return make('network', `${name} refused the connection: is the server running? ${startHint(context)}${address}.`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return make('network', `The host of ${name} could not be found. ${address}.`);
    case 'ERR_INVALID_URL':
      return make('bad-request', `The address of ${name} is not valid. ${address}.`, false);
  }
  if (PHRASES.certificate.test(code.toLowerCase())) {
    return make('network', `The certificate of ${name} could not be trusted (${code}). ${address}.`, false);
  }
  const suffix = code === '' ? '' : ` (${code})`;
  return make('network', `The connection to ${name} broke off${suffix}. Check the network, then try again.`);
}

function classifyAnswer(facts: ErrorFacts, context: ErrorContext): ModelError {
  const images = imageTrouble(facts);
  const kind = images === 'images' ? 'bad-request' : kindOf(facts, context);
  const isLoading = kind === 'overloaded' && PHRASES.loading.test(facts.haystack);
  const about = isLoading ? 'loading' : (images ?? (isOfModel(facts) ? 'model' : undefined));
  const { status } = facts;
  return {
    type: 'error',
    kind,
    retryable: kind === 'malformed' || (PASSING.has(kind) && !isClosed(kind, facts)),
    ...(facts.retryAfterMs === undefined ? {} : { retryAfterMs: facts.retryAfterMs }),
    ...(status === undefined ? {} : { status }),
    ...(kind === 'auth' && isRefusedKey(facts) ? { setting: keySetting(context) } : {}),
    ...(about !== undefined && (isLoading || ABOUT_REQUEST.has(kind)) ? { about } : {}),
    ...(isMissing(kind, facts) ? { missing: { pull: context.hints?.pull(context.model) ?? null } } : {}),
    ...(kind === 'context-overflow' && facts.window !== undefined ? { window: facts.window } : {}),
    ...(facts.detail === '' ? {} : { said: withoutSecrets(facts.detail, context) }),
    message: withoutSecrets(describe(kind, facts, context), context),
  };
}

const PASSING: ReadonlySet<ModelErrorKind> = new Set(['rate-limit', 'overloaded', 'timeout']);
const ABOUT_REQUEST: ReadonlySet<ModelErrorKind> = new Set(['bad-request', 'refusal']);

/** Whether a limit stays closed for hours, so that nothing is gained by asking again soon. */
function isClosed(kind: ModelErrorKind, { haystack, retryAfterMs }: ErrorFacts): boolean {
  return kind === 'rate-limit' && retryAfterMs === undefined && PHRASES.longLimit.test(haystack);
}

/** Whether it is the key that is refused, and not what its account may do. */
function isRefusedKey({ effectiveStatus, haystack }: ErrorFacts): boolean {
  return effectiveStatus === 401 || PHRASES.badKey.test(haystack);
}

/**
 * Whether an error is about images: `images` when the model takes none, `image` when one image is at fault. Does not
 * rely on the status, because some servers answer 500 or 404 when a model takes no images.
 */
function imageTrouble({ effectiveStatus, haystack }: ErrorFacts): 'images' | 'image' | undefined {
  if (effectiveStatus === 401 || effectiveStatus === 403 || effectiveStatus === 429) return undefined;
  if (PHRASES.noImages.test(haystack)) return 'images';
  return PHRASES.image.test(haystack) ? 'image' : undefined;
}

/** Whether it is the model that can't answer, so that another one may. */
function isOfModel(facts: ErrorFacts): boolean {
  const { template, outOfMemory, notLoadable } = PHRASES;
  return isUnknownModel(facts) || [template, outOfMemory, notLoadable].some((phrase) => phrase.test(facts.haystack));
}

/** Whether the provider doesn't have the model; whether it could be loaded is another question. */
function isMissing(kind: ModelErrorKind, facts: ErrorFacts): boolean {
  const isUnloaded = PHRASES.outOfMemory.test(facts.haystack) || PHRASES.notLoadable.test(facts.haystack);
  return kind === 'bad-request' && !isUnloaded && isUnknownModel(facts);
}

function isUnknownModel({ effectiveStatus, haystack }: ErrorFacts): boolean {
  if (PHRASES.unknownModel.test(haystack)) return true;
  return effectiveStatus === 404 && !PHRASES.template.test(haystack) && !PHRASES.image.test(haystack);
}

/**
 * Whether the refusal may be of one field or role, which the request can do without. Errors of keys, credit, limits and
 * content are not, nor is a forced tool that is refused in other words: its caller asks in another way.
 */
export function mayBeQuirk(
  { effectiveStatus, haystack }: ErrorFacts,
  { toolChoice }: ErrorContext,
  { hasImages }: { readonly hasImages: boolean },
): boolean {
  switch (effectiveStatus) {
    case 401:
    case 402:
    case 403:
      return false;
    case 429:
      return !PHRASES.rate.test(haystack);
    default:
      return (
        !(hasImages && PHRASES.noImages.test(haystack)) &&
        !isContentRefusal(haystack) &&
        (PHRASES.toolChoice.test(haystack) || !refusesToolChoice(haystack, toolChoice))
      );
  }
}

/**
 * The kind of an answer that is an error. What a server says of the request counts before its status, because local
 * servers and gateways answer 500, 503 or 429 to what they can't read.
 */
function kindOf(facts: ErrorFacts, context: ErrorContext): ModelErrorKind {
  const { effectiveStatus: status = 500, haystack, retryAfterMs } = facts;
  const isLimit = PHRASES.rate.test(haystack);
  const isRequestFault = status !== 401 && status !== 403 && (status !== 429 || !isLimit);
  const isQuota = PHRASES.quota.test(haystack) && (retryAfterMs === undefined || /limit: 0\b/u.test(haystack));
  if (status === 402 || isQuota) return 'quota';
  if (status === 401 || (isRequestFault && (PHRASES.badKey.test(haystack) || PHRASES.denied.test(haystack))))
    return 'auth';
  if (isLargerThanLimit(haystack)) return 'context-overflow';
  if (PHRASES.blunder.test(haystack)) return 'malformed';
  const isSpent = PHRASES.spentLimit.test(haystack);
  if (haystack.includes('rate_limit') || (status === 429 && isLimit) || isSpent) return 'rate-limit';
  if (isRequestFault && !isLimit && PHRASES.contextOverflow.test(haystack)) return 'context-overflow';
  if (status === 413) return 'request-too-large';
  if ((isRequestFault || status === 403) && isContentRefusal(haystack, status)) return 'refusal';
  if (isRequestFault && refusesToolChoice(haystack, context.toolChoice)) return 'unsupported-tool-choice';
  const isRefused = PHRASES.request.test(haystack) || isOfModel(facts);
  if (isRequestFault && isRefused) return 'bad-request';
  switch (status) {
    case 403:
      return PHRASES.firewall.test(haystack) ? 'bad-request' : 'auth';
    case 408:
    case 504:
      return 'timeout';
    case 429:
      return 'rate-limit';
    default:
      return status >= 500 || PHRASES.passing.test(haystack) ? 'overloaded' : 'bad-request';
  }
}

/** A request that is larger than all that a minute allows never gets through, however long one waits. */
function isLargerThanLimit(haystack: string): boolean {
  if (!/tokens? per (?:min|minute|day)|\btp[md]\b/u.test(haystack)) return false;
  const { limit = '', requested = '' } =
    /limit:? (?<limit>[\d,]+).{0,60}requested:? (?<requested>[\d,]+)/u.exec(haystack)?.groups ?? {};
  return limit !== '' && Number(requested.replaceAll(',', '')) > Number(limit.replaceAll(',', ''));
}

function refusesToolChoice(haystack: string, choice: ToolChoice): boolean {
  if (choice === 'auto') return false;
  return PHRASES.toolChoice.test(haystack) || (choice !== 'none' && PHRASES.forcedTool.test(haystack));
}

/** One sentence with the server's words, for the log, commands and status; people in a chat read `failureSentence`. */
function describe(kind: ModelErrorKind, facts: ErrorFacts, context: ErrorContext): string {
  const name = who(context);
  const { model } = context;
  const status = facts.status === undefined ? '' : ` (${facts.status})`;
  const said = withWords(facts.detail);
  switch (kind) {
    case 'auth':
      return isRefusedKey(facts)
        ? `${name} refused the API key${status}. Check ${keySetting(context)}.`
        : `${name} denied access to the model "${model}"${status}${said} Check what the key in ${keySetting(context)} may do.`;
    case 'quota':
      return `${name} says that the account has no credit left${status}${said} Check its billing, or choose another model.`;
    case 'rate-limit':
      return `${name} is rate-limiting us right now${status}${waitFor(facts.retryAfterMs)}${said} Try again later.`;
    case 'overloaded':
      return `${name} is overloaded or down${status}${waitFor(facts.retryAfterMs)}${said} Try again later.`;
    case 'timeout':
      return `${name} gave up on the request${status}${said} Try again.`;
    case 'malformed':
      return `${name} could not use what the model "${model}" wrote${status}${said} Try again.`;
    case 'context-overflow':
      return `The conversation is too long for the model "${model}" of ${name}${status}${said} Start a new one with /new.`;
    case 'request-too-large':
      return `The request for the model "${model}" is too large for ${name}${status}${said} Start a new conversation with /new.`;
    case 'refusal':
      return `${name} refused to answer because of its content rules${status}. Rephrase it.`;
    case 'unsupported-tool-choice':
      return `The model "${model}" of ${name} does not support this choice of tool${status}${said}`;
    default:
      if (PHRASES.outOfMemory.test(facts.haystack)) return outOfMemory(context, `${status}${said}`);
      if (PHRASES.notLoadable.test(facts.haystack))
        return `${name} could not load the model "${model}"${status}${said}`;
      return isUnknownModel(facts)
        ? unknownModel(context, `${status}${said}`)
        : notAccepted(facts, context, `${status}${said}`);
  }
}

function notAccepted({ haystack }: ErrorFacts, context: ErrorContext, said: string): string {
  const advice = /requires? --jinja/u.test(haystack) ? ' Start llama-server with --jinja.' : '';
  return `${who(context)} did not accept the request for the model "${context.model}"${said}${advice}`;
}

function unknownModel(context: ErrorContext, said: string): string {
  const begin = `${who(context)} does not know the model "${context.model}"${said}`;
  if (context.hints !== undefined) return `${begin} Get it with: ${context.hints.pull(context.model)}`;
  const setting = addressSetting(context);
  const address = setting === undefined ? '' : ` If the address is wrong, correct ${setting}.`;
  return `${begin} Choose another with /model, or correct agent.model.${address}`;
}

function startHint({ hints }: ErrorContext): string {
  return hints === undefined ? '' : `Start it on that machine with: ${hints.start}. `;
}

function outOfMemory(context: ErrorContext, said: string): string {
  const { provider, model, hints } = context;
  const fewer = hints?.lessMemory(`${provider}/${model}`) ?? 'Load it with a shorter context';
  return `The machine of ${who(context)} has too little memory for the model "${model}"${said} ${fewer}, or choose a smaller model.`;
}

/** Name of the setting or environment variable that holds the API key. */
function keySetting({ provider, keyVariable }: ErrorContext): string {
  return keyVariable ?? `providers.${provider}.apiKey`;
}

/** Name of the setting with the server's address; undefined when the API's own address is used. */
function addressSetting({ provider, host }: ErrorContext): string | undefined {
  return host === null ? undefined : `providers.${provider}.baseUrl`;
}

function waitFor(retryAfterMs: number | undefined): string {
  return retryAfterMs === undefined ? '' : ` and asks to wait ${timeText(retryAfterMs)}`;
}

function who({ provider, host }: ErrorContext): string {
  return host === null ? provider : `${provider} (${host})`;
}

const HIDDEN = '[hidden]';

/**
 * Replaces the known secrets, and everything that looks like an API key, because servers quote keys in their errors.
 */
function withoutSecrets(text: string, context: ErrorContext): string {
  let clean = text;
  for (const secret of context.secrets) if (secret !== '') clean = clean.replaceAll(secret, HIDDEN);
  return clean.replaceAll(/\b(?:sk|gsk|xai)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|\bBearer \S+/gu, HIDDEN);
}

/**
 * Whether a server sent the error inside a stream, without a status. SDKs then throw an APIError with its body in
 * `error`.
 */
function isServerError(thrown: unknown): boolean {
  return thrown instanceof Error && 'error' in thrown && thrown.error !== undefined && thrown.error !== null;
}

/** Compares names, so that no SDK has to be loaded; `nameErrors` gives them to the SDKs' classes. */
function isNamed(error: Error, ...names: readonly string[]): boolean {
  return names.includes(error.name);
}

function someCause(thrown: unknown, test: (error: Error) => boolean): boolean {
  return findCause(thrown, test) !== undefined;
}

function findCause(thrown: unknown, test: (error: Error) => boolean): Error | undefined {
  for (let at = thrown, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if (test(at)) return at;
  }
  return undefined;
}
