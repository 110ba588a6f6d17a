import type { ModelError } from '../../providers/provider.ts';
import type { Role } from '../../bus/messages.ts';
import { countText, oneLine, timeText, withWords } from '../../util/text.ts';
import { OWN_LEFT_OUT } from './refusal-words.ts';
import { localTime } from '../../util/time-zone.ts';

/** Cap of an error's own sentence, in characters; the server's words in it are shorter. */
const LONGEST_SENTENCE = 900;
/** A wait beyond this is told as a time of day too. */
const SHORT_WAIT_MS = 120_000;

export interface FailureContext {
  /** `provider/model`. */
  readonly model: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The person's, or null for the machine's. */
  readonly timezone: string | null;
  /** Role of the person who asked; null: a job or the heartbeat did, so nobody waits who could try again. */
  readonly asker: Role | null;
}

/**
 * The sentence to a person when a model call failed: what happened, the server's own words where they say more, and the
 * next step. The words are a code span, so nothing in them is a link or formatting.
 */
export function failureSentence(error: ModelError, context: FailureContext): string {
  const { model, asker } = context;
  const provider = model.split('/', 1)[0] ?? model;
  const said = withWords(error.said ?? '');
  switch (error.kind) {
    case 'auth':
      return error.setting === undefined
        ? joined(
            `${provider} does not let this API key use ${model}${said}`,
            repair(`Check what the key may do, or ${ANOTHER_MODEL}`, { asker }),
          )
        : joined(
            `${provider} refused the API key.`,
            repair(correctedKey(error.setting), { asker, next: 'send /retry' }),
          );
    case 'quota':
      return joined(
        `The account at ${provider} has no credit left${said}`,
        repair(`Top it up, or ${ANOTHER_MODEL}`, { asker, next: 'send /retry' }),
      );
    case 'rate-limit':
      return joined(
        `${provider} is rate-limiting us right now${said}`,
        retry(asker, { when: soon(error.retryAfterMs, context), or: ANOTHER_MODEL }),
      );
    case 'overloaded':
      if (error.about === 'loading')
        return joined(
          `${provider} is still loading its model.`,
          retry(asker, { when: 'in a while', or: ANOTHER_MODEL }),
        );
      return joined(
        `${provider} is overloaded or down right now${said}`,
        retry(asker, { when: soon(error.retryAfterMs, context), or: ANOTHER_MODEL }),
      );
    case 'timeout':
      return joined(
        `${model} did not answer in time.`,
        retry(asker, { or: `raise \`providers.${provider}.timeouts\` if this happens often` }),
      );
    case 'network':
      // Names the address, which is not for everybody.
      if (asker === 'owner' || asker === null)
        return joined(oneLine(error.message, LONGEST_SENTENCE), asker === null ? '' : 'Then send /retry.');
      return joined(`I could not reach ${provider}, or the connection was lost.`, retry(asker));
    case 'context-overflow':
      // What else the conversation held was left out before.
      if (error.window !== undefined && error.window.tokens <= TOO_SMALL) return tooSmallWindow(error.window, context);
      return `This conversation has become too long for ${model}: start a new one with /new, or send less at once.`;
    case 'request-too-large':
      return `This conversation has become too long for ${model}: start a new one with /new, or send less at once.`;
    case 'refusal':
      return joined(
        `${model} refused to answer because of its content rules.`,
        asker === null ? '' : OWN_LEFT_OUT,
        asker === null ? '' : `Or put it in other words${asker === 'owner' ? `, or ${ANOTHER_MODEL}` : ''}.`,
      );
    case 'unsupported-tool-choice':
      return joined(
        `${model} cannot be told which tools to use.`,
        repair('Choose another model with /model', { asker }),
      );
    case 'malformed':
      return joined(`${model} sent an answer that I could not read${said}`, retry(asker));
    case 'aborted':
      return joined(`The call to ${model} was stopped.`, retry(asker));
    case 'bad-request':
      return joined(
        oneLine(error.message, LONGEST_SENTENCE),
        error.about === undefined ? retry(asker, { or: ANOTHER_MODEL }) : '',
      );
  }
}

/** A window of this size, tokens, may be too small for the prompt and the tools alone. */
const TOO_SMALL = 16_384;

function tooSmallWindow(
  { tokens, asked }: NonNullable<ModelError['window']>,
  { model, asker }: FailureContext,
): string {
  const takes = asked === undefined ? 'more' : countText(asked);
  return joined(
    `${model} reads only ${countText(tokens)} tokens at once, and your message with my instructions and tools takes ${takes}.`,
    repair(
      `Start its server with a larger window (llama-server -c 16384, vllm --max-model-len 16384, the context length in LM Studio), or ${ANOTHER_MODEL}`,
      { asker, next: 'send /retry' },
    ),
  );
}

const ANOTHER_MODEL = 'choose another model with /model';

function joined(...sentences: readonly string[]): string {
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

/** The next step when it may work by itself later. `or`: what the owner can do instead. */
function retry(asker: Role | null, { when = '', or }: { readonly when?: string; readonly or?: string } = {}): string {
  if (asker === null) return '';
  const instead = asker === 'owner' && or !== undefined ? `, or ${or}` : '';
  return `Send /retry to try again${when === '' ? '' : ` ${when}`}${instead}.`;
}

/** The next step when the owner has to do something first. */
function repair(what: string, { asker, next }: { readonly asker: Role | null; readonly next?: string }): string {
  const first = asker === 'owner' || asker === null ? what : 'Tell the owner of this assistant';
  return next === undefined || asker === null ? `${first}.` : `${first}, then ${next}.`;
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
