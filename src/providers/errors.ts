import { DeadlineError } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';
import { readFacts, type ErrorFacts } from './error-facts.ts';
import type { ModelError, ModelErrorKind, ToolChoice } from './provider.ts';

/** What a failed call was, so that its message can say what to do. */
export interface ErrorContext {
  /** The key in `config.providers`. */
  readonly provider: string;
  /** Null for the API's own address. */
  readonly host: string | null;
  readonly model: string;
  readonly toolChoice: ToolChoice;
  /** The variable that the key was read from; null: it stands in the configuration, or there is none. */
  readonly keyVariable: string | null;
  /** Never shown. */
  readonly secrets: readonly string[];
  /** Milliseconds since 1970; a `Retry-After` date is measured from it. */
  readonly now: number;
}

const PHRASES = {
  contextOverflow:
    /context_length_exceeded|exceed_context_size|context (?:length|window|size|limit)|maximum context|prompt (?:is )?too long|input (?:is )?too long|too many (?:input )?tokens|input token count|maximum (?:model length|number of tokens)|max_model_len|longer than the maximum/u,
  quota:
    /insufficient_quota|billing_\w+|credit balance|exceeded your current quota|insufficient (?:balance|credit|funds)|out of credits/u,
  badKey: /(?:invalid|incorrect|missing)[ _]api[ _]key|api key (?:is )?(?:not valid|invalid|missing)|no api key/u,
  refusal: /content_filter|content[ _]policy|content filtering|responsibleaipolicy|safety system/u,
  toolChoice: /tool[ _]?choice/u,
  forcedTool: /does not support|should be \["none", ?"auto"\]|thinking/u,
  unknownModel: /model_not_found|model .{0,120}(?:not found|does not exist|not exist|unknown)|unknown model/u,
  noImages:
    /(?:image|vision|multimodal)[^.]{0,60}(?:not (?:supported|allowed|available|enabled)|unsupported)|(?:not|n't|that) support[^.]{0,40}(?:image|vision|multimodal)|unknown variant .?image|not a multimodal|mmproj|at most 0 image|content.{0,4} must be a string/u,
  image: /\bimages?\b|image_url/u,
  certificate: /cert|self.signed|unable_to_verify|err_tls/u,
};

/** Turns whatever an SDK, `fetch` or the watchdog threw into the one error event of a call. */
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

/** The connection ended properly, the answer did not. */
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
    message: `${who(context)} sent an answer that makes no sense: ${what}.`,
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
      return make('network', `${name} refused the connection: is the server running? ${address}.`);
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
  const about = imageTrouble(facts);
  const kind = about === 'images' ? 'bad-request' : kindOf(facts, context);
  const { status } = facts;
  return {
    type: 'error',
    kind,
    retryable: kind === 'rate-limit' || kind === 'overloaded' || kind === 'timeout',
    ...(facts.retryAfterMs === undefined ? {} : { retryAfterMs: facts.retryAfterMs }),
    ...(status === undefined ? {} : { status }),
    ...(kind === 'auth' ? { setting: keySetting(context) } : {}),
    ...(about !== undefined && ABOUT_REQUEST.has(kind) ? { about } : {}),
    message: withoutSecrets(describe(kind, facts, context), context),
  };
}

const ABOUT_REQUEST: ReadonlySet<ModelErrorKind> = new Set(['bad-request', 'refusal']);

/** Some servers call it their own failure (500) when a model takes no images, or say that there is no such model. */
function imageTrouble({ effectiveStatus, haystack }: ErrorFacts): ModelError['about'] {
  if (effectiveStatus === 401 || effectiveStatus === 403 || effectiveStatus === 429) return undefined;
  if (PHRASES.noImages.test(haystack)) return 'images';
  return PHRASES.image.test(haystack) ? 'image' : undefined;
}

function kindOf({ effectiveStatus: status = 500, haystack }: ErrorFacts, context: ErrorContext): ModelErrorKind {
  const isRequestFault = status !== 429 && status !== 401 && status !== 403;
  if (status === 402 || PHRASES.quota.test(haystack)) return 'quota';
  if (status === 401 || (isRequestFault && PHRASES.badKey.test(haystack))) return 'auth';
  if (haystack.includes('rate_limit')) return 'rate-limit';
  if (isRequestFault && PHRASES.contextOverflow.test(haystack)) return 'context-overflow';
  if (status === 413) return 'request-too-large';
  if (isRequestFault && PHRASES.refusal.test(haystack)) return 'refusal';
  if (isRequestFault && refusesToolChoice(haystack, context.toolChoice)) return 'unsupported-tool-choice';
  switch (status) {
    case 403:
      return 'auth';
    case 408:
    case 504:
      return 'timeout';
    case 429:
      return 'rate-limit';
    default:
      return status >= 500 ? 'overloaded' : 'bad-request';
  }
}

function refusesToolChoice(haystack: string, choice: ToolChoice): boolean {
  if (choice === 'auto') return false;
  return PHRASES.toolChoice.test(haystack) || (choice !== 'none' && PHRASES.forcedTool.test(haystack));
}

function describe(kind: ModelErrorKind, facts: ErrorFacts, context: ErrorContext): string {
  const name = who(context);
  const { model } = context;
  const status = facts.status === undefined ? '' : ` (${facts.status})`;
  const said = facts.detail === '' ? '.' : `: ${sentence(facts.detail)}`;
  switch (kind) {
    case 'auth':
      return facts.status === 403
        ? `${name} denied access to the model "${model}"${status}. Check what the key in ${keySetting(context)} may do.`
        : `${name} refused the API key${status}. Check ${keySetting(context)}.`;
    case 'quota':
      return `${name} says that the account has no credit left${status}. Check its billing, or choose another model.`;
    case 'rate-limit':
      return `${name} allows no more requests for now${status}${waitFor(facts.retryAfterMs)}. Try again later.`;
    case 'overloaded':
      return `${name} is overloaded or out of order${status}${waitFor(facts.retryAfterMs)}. Try again later.`;
    case 'timeout':
      return `${name} gave up on the request${status}. Try again.`;
    case 'context-overflow':
      return `The conversation is too long for the model "${model}" of ${name}${status}. Start a new one with /new.`;
    case 'request-too-large':
      return `The request for the model "${model}" is too large for ${name}${status}. Start a new conversation with /new.`;
    case 'refusal':
      return `${name} refused to answer because of its content rules${status}. Put it differently.`;
    case 'unsupported-tool-choice':
      return `The model "${model}" of ${name} does not take this choice of tool${status}${said}`;
    default:
      return (facts.status === 404 && imageTrouble(facts) === undefined) || PHRASES.unknownModel.test(facts.haystack)
        ? unknownModel(context, status)
        : `${name} did not accept the request for the model "${model}"${status}${said}`;
  }
}

function unknownModel(context: ErrorContext, status: string): string {
  const setting = addressSetting(context);
  const also = setting === undefined ? '' : `, or ${setting} if the address is wrong,`;
  return `${who(context)} does not know the model "${context.model}"${status}. Choose another with /model, or correct agent.model${also} and restart.`;
}

/** Where the key was taken from. */
function keySetting({ provider, keyVariable }: ErrorContext): string {
  return keyVariable ?? `providers.${provider}.apiKey`;
}

/** Undefined for the API's own address: there is none to correct. */
function addressSetting({ provider, host }: ErrorContext): string | undefined {
  return host === null ? undefined : `providers.${provider}.baseUrl`;
}

function waitFor(retryAfterMs: number | undefined): string {
  return retryAfterMs === undefined ? '' : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
}

function sentence(text: string): string {
  return /[.!?…]$/u.test(text) ? text : `${text}.`;
}

function who({ provider, host }: ErrorContext): string {
  return host === null ? provider : `${provider} (${host})`;
}

const HIDDEN = '[hidden]';

/** Takes out the key, and whatever else looks like one: servers quote keys, also other people's. */
function withoutSecrets(text: string, context: ErrorContext): string {
  let clean = text;
  for (const secret of context.secrets) if (secret !== '') clean = clean.replaceAll(secret, HIDDEN);
  return clean.replaceAll(/\b(?:sk|gsk|xai)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|\bBearer \S+/gu, HIDDEN);
}

/** An error that came in the stream, without a status: SDKs wrap it in their APIError with a body. */
function isServerError(thrown: unknown): boolean {
  return thrown instanceof Error && 'error' in thrown && thrown.error !== undefined && thrown.error !== null;
}

/** Classes are told by name, because loading an SDK to ask is what is avoided; OpenAI's leave `name` as it was. */
function isNamed(error: Error, ...names: readonly string[]): boolean {
  return names.includes(error.name) || names.includes(error.constructor.name);
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
