import { DeadlineError } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';
import { isContentRefusal } from './content-refusals.ts';
import { readFacts, type ErrorFacts } from './error-facts.ts';
import type { ModelError, ModelErrorKind, ToolChoice } from './provider.ts';

/** Facts about a failed call, from which its error message and advice are made. */
export interface ErrorContext {
  /** The key in `config.providers`. */
  readonly provider: string;
  /** Host of a configured address; null for the API's own address. */
  readonly host: string | null;
  readonly model: string;
  readonly toolChoice: ToolChoice;
  /** The server is an Ollama, so that the message names its commands. @default false */
  readonly ollama?: boolean;
  /** Environment variable that the API key was read from; null: the key is in the configuration, or there is no key. */
  readonly keyVariable: string | null;
  /** Texts that must not appear in a message, such as the API key. */
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
  toolChoice: /tool[ _]?choice/u,
  forcedTool: /does not support|should be \["none", ?"auto"\]|thinking/u,
  unknownModel: /model_not_found|model .{0,120}(?:not found|does not exist|not exist|unknown)|unknown model/u,
  noImages:
    /(?:image|vision|multimodal)[^.]{0,60}(?:not (?:supported|allowed|available|enabled)|unsupported)|(?:not|n't|that) support[^.]{0,40}(?:image|vision|multimodal)|unknown variant .?image|not a multimodal|mmproj|at most 0 image|content.{0,4} must be a string/u,
  image: /\bimages?\b|image_url/u,
  /** What Ollama says when a model does not fit into the machine with the context that was asked for. */
  outOfMemory: /out of memory|more system memory|(?:unable|failed) to allocate|cudamalloc/u,
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
  const about = imageTrouble(facts);
  const kind = about === 'images' ? 'bad-request' : kindOf(facts, context);
  const { status } = facts;
  const isFull = isOutOfMemory(facts, context);
  return {
    type: 'error',
    kind,
    retryable: !isFull && (kind === 'rate-limit' || kind === 'overloaded' || kind === 'timeout'),
    ...(facts.retryAfterMs === undefined ? {} : { retryAfterMs: facts.retryAfterMs }),
    ...(status === undefined ? {} : { status }),
    ...(kind === 'auth' ? { setting: keySetting(context) } : {}),
    ...(about !== undefined && ABOUT_REQUEST.has(kind) ? { about } : {}),
    message: withoutSecrets(describe(kind, facts, context), context),
  };
}

const ABOUT_REQUEST: ReadonlySet<ModelErrorKind> = new Set(['bad-request', 'refusal']);

/**
 * Whether an error is about images: `images` when the model takes none, `image` when one image is at fault. Does not
 * rely on the status, because some servers answer 500 or 404 when a model takes no images.
 */
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
  if ((isRequestFault || status === 403) && isContentRefusal(haystack)) return 'refusal';
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
      if (isOutOfMemory(facts, context)) return outOfMemory(context, `${status}${said}`);
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
      return `The model "${model}" of ${name} does not support this choice of tool${status}${said}`;
    default:
      return (facts.status === 404 && imageTrouble(facts) === undefined) || PHRASES.unknownModel.test(facts.haystack)
        ? unknownModel(context, status)
        : `${name} did not accept the request for the model "${model}"${status}${said}`;
  }
}

function unknownModel(context: ErrorContext, status: string): string {
  const setting = addressSetting(context);
  const also = setting === undefined ? '' : `, or ${setting} if the address is wrong,`;
  const begin = `${who(context)} does not know the model "${context.model}"${status}.`;
  if (context.ollama === true) return `${begin} Get it with: ollama pull ${context.model}`;
  return `${begin} Choose another with /model, or correct agent.model${also}.`;
}

function startHint({ ollama = false }: ErrorContext): string {
  return ollama ? 'Start it on that machine with: ollama serve. ' : '';
}

/** Whether a model does not fit into the machine of an Ollama: the same request will fail again. */
function isOutOfMemory({ haystack }: ErrorFacts, { ollama = false }: ErrorContext): boolean {
  return ollama && PHRASES.outOfMemory.test(haystack);
}

function outOfMemory(context: ErrorContext, said: string): string {
  const { provider, model } = context;
  const setting = `models."${provider}/${model}".contextWindow`;
  return `The machine of ${who(context)} has too little memory for the model "${model}"${said} Set ${setting} to fewer tokens, or choose a smaller model.`;
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
  return retryAfterMs === undefined ? '' : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
}

function sentence(text: string): string {
  return /[.!?…]$/u.test(text) ? text : `${text}.`;
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
