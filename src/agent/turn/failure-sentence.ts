import type { ModelError } from '../../providers/provider.ts';
import { literal, oneLine, timeText } from '../../util/text.ts';
import { OWN_LEFT_OUT } from './refusal-words.ts';
import { localTime } from '../../util/time-zone.ts';

/** Cap of the sentence of a `bad-request`, in characters; the server's words in it are shorter. */
const LONGEST_SENTENCE = 900;
const AGAIN = 'Send /retry to try again';
/** A wait beyond this is told as a time of day too. */
const SHORT_WAIT_MS = 120_000;

export interface FailureContext {
  /** `provider/model`. */
  readonly model: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The person's, or null for the machine's. */
  readonly timezone: string | null;
}

/**
 * The sentence to a person when a model call failed: what happened, the server's own words where they say more, and the
 * next step. The words are a code span, so nothing in them is a link or formatting.
 */
export function failureSentence(error: ModelError, context: FailureContext): string {
  const { model } = context;
  const provider = model.split('/', 1)[0] ?? model;
  const said = error.said === undefined ? '.' : `: ${literal(error.said.replace(/\.$/u, ''))}.`;
  switch (error.kind) {
    case 'auth':
      return error.setting === undefined
        ? `${provider} does not let this API key use ${model}${said} Check what the key may do, or choose another model with /model.`
        : `${provider} refused the API key. ${correctedKey(error.setting)}, then send /retry.`;
    case 'quota':
      return `The account at ${provider} has no credit left${said} Top it up, or choose another model with /model, then send /retry.`;
    case 'rate-limit':
      return `${provider} is rate-limiting us right now${said} ${AGAIN} ${soon(error.retryAfterMs, context)}, or choose another model with /model.`;
    case 'overloaded':
      return `${provider} is overloaded or down right now${said} ${AGAIN} ${soon(error.retryAfterMs, context)}, or choose another model with /model.`;
    case 'timeout':
      return `${model} did not answer in time. ${AGAIN}; if this happens often, raise \`providers.${provider}.timeouts\`.`;
    case 'network':
      return error.setting === undefined
        ? `I could not reach ${provider}, or the connection broke off. Check the network, then send /retry.`
        : `I could not reach ${provider}, or the connection broke off. Check the network, then send /retry; if \`${error.setting}\` is wrong, correct it before.`;
    case 'context-overflow':
    case 'request-too-large':
      return `This conversation has become too long for ${model}: start a new one with /new, or send less at once.`;
    case 'refusal':
      return `${model} refused to answer because of its content rules. ${OWN_LEFT_OUT} Or rephrase it, or choose another model with /model.`;
    case 'unsupported-tool-choice':
      return `${model} cannot be told which tools to use: choose another model with /model.`;
    case 'malformed':
      return `${model} sent an answer that I could not read${said} ${AGAIN}.`;
    case 'aborted':
      return `The call to ${model} was stopped. ${AGAIN}.`;
    case 'bad-request':
      return oneLine(error.message, LONGEST_SENTENCE);
  }
}

/** The next step for a refused key. A changed setting is taken up at once; an environment variable only at a new start. */
function correctedKey(setting: string): string {
  return /^[A-Z_0-9]+$/u.test(setting)
    ? `Set the environment variable \`${setting}\` to a valid key and start me again with it`
    : `Correct \`${setting}\``;
}

/** When it is worth a try, in the person's time zone. */
function soon(retryAfterMs: number | undefined, { now, timezone }: FailureContext): string {
  if (retryAfterMs === undefined) return 'in a while';
  if (retryAfterMs < SHORT_WAIT_MS) return `in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s`;
  // The next full minute, because what is tried before the time is refused again.
  const then = localTime(now + retryAfterMs + 59_999, timezone);
  const day = then.date === localTime(now, timezone).date ? '' : ` on ${then.weekday} ${then.date}`;
  return `after ${then.time}${day} (in ${timeText(retryAfterMs)})`;
}
