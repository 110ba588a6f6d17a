import type { ModelError } from '../../providers/provider.ts';
import { oneLine } from '../../util/text.ts';

/** Cap of a server's own error text, in characters. */
const LONGEST_DETAIL = 300;
const AGAIN = 'Send /retry to try again';

/**
 * The sentence to a person when a model call failed: what happened and the next step. `model` is `provider/model`. Repeats
 * the server's own text only for `bad-request`, where nothing else says what is wrong.
 */
export function failureSentence(error: ModelError, model: string): string {
  const provider = model.split('/', 1)[0] ?? model;
  switch (error.kind) {
    case 'auth':
      return error.status === 403
        ? `${provider} does not let this API key use ${model}: check what the key may do, or choose another model with /model.`
        : `${provider} refused the API key. ${correctedKey(error.setting ?? `providers.${provider}.apiKey`)}, then send /retry.`;
    case 'quota':
      return `The account at ${provider} has no credit left: top it up, or choose another model with /model, then send /retry.`;
    case 'rate-limit':
      return `${provider} takes no more requests for the moment. ${AGAIN} ${soon(error.retryAfterMs)}.`;
    case 'overloaded':
      return `${provider} is overloaded or out of order. ${AGAIN} ${soon(error.retryAfterMs)}, or choose another model with /model.`;
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
      return `${model} refused to answer because of its content rules. What was new in this message is left out of later requests, so the conversation can go on. Put it differently, or choose another model with /model.`;
    case 'unsupported-tool-choice':
      return `${model} cannot be told which tools to use: choose another model with /model.`;
    case 'malformed':
      return `${model} sent an answer that I could not read. ${AGAIN}.`;
    case 'aborted':
      return `The call to ${model} was stopped. ${AGAIN}.`;
    case 'bad-request':
      return oneLine(error.message, LONGEST_DETAIL);
  }
}

/** The next step for a refused key. A changed setting is taken up at once; an environment variable only at a new start. */
function correctedKey(setting: string): string {
  return /^[A-Z_0-9]+$/u.test(setting)
    ? `Set the environment variable \`${setting}\` to a valid key and start me again with it`
    : `Correct \`${setting}\``;
}

function soon(retryAfterMs: number | undefined): string {
  if (retryAfterMs === undefined) return 'in a while';
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return seconds < 120 ? `in ${seconds} s` : `in ${Math.ceil(seconds / 60)} minutes`;
}
