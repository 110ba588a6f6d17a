import type { ModelError, ModelRequest, ModelResponse, Provider } from '../../core/api-providers.ts';

/** What a test prompt showed of the context window that a server really loads. */
export type WindowProof =
  /** A prompt of this many tokens was read whole. */
  | {
      readonly kind: 'proven';
      readonly tokens: number;
      /** The model repeated the word at its very beginning. */ readonly marker: boolean;
    }
  /** Only this many tokens of a longer prompt were read; the rest was dropped without a word. */
  | { readonly kind: 'cut'; readonly tokens: number }
  /** Nothing was found out. */
  | { readonly kind: 'unknown'; /** One sentence. */ readonly reason: string };

export interface ProofQuestion {
  /** Sends the call as each call of a conversation is sent. */
  readonly provider: Provider;
  readonly model: string;
  /** Tokens that are to be proven. */
  readonly window: number;
  /** A word that no model can guess. */
  readonly marker: string;
  /** Ends it; reading a long prompt takes minutes on a slow machine. */
  readonly signal: AbortSignal;
}

const LINE = 'The old ferry crosses the wide river twice a day, in the morning and in the evening.\n';
/** Lines of the two short prompts from which the tokens of a line are learned; together they fit into any window. */
const SHORT = [4, 24] as const;
const ANSWER_TOKENS = 64;
/** Of the window, left free for what a server adds. */
const MARGIN = 0.03;
/** Of the tokens that were sent, so many may be missing from the server's count. */
const TOLERANCE = 0.02;

/**
 * Proves how many tokens of context a model is really loaded with, by three calls: two short prompts show how many tokens the
 * server counts for a line, and a long one of many such lines fills the window. Where the server counts the long prompt in full,
 * it was read whole, from the marker at its beginning on: a server that drops a part of a prompt counts only what is
 * left. That holds for a model that does not do as it is told, too; whether it repeated the marker is told beside it. Never
 * rejects.
 */
export async function proveWindow({ provider, model, window, marker, signal }: ProofQuestion): Promise<WindowProof> {
  const ask = (lines: number): Promise<ModelResponse | ModelError> =>
    answerOf(provider, requestOf(model, promptOf(marker, lines)), signal);
  const counts: number[] = [];
  for (const lines of SHORT) {
    const short = await ask(lines);
    if ('kind' in short) return { kind: 'unknown', reason: short.message };
    if (short.usage === null || short.usage.estimated === true)
      return { kind: 'unknown', reason: `${provider.name} does not count the tokens of a prompt.` };
    counts.push(short.usage.input);
  }
  const [few = 0, more = 0] = counts;
  const perLine = (more - few) / (SHORT[1] - SHORT[0]);
  if (perLine < 1)
    return { kind: 'unknown', reason: `${provider.name} counts the tokens of a prompt in a way of its own.` };
  const frame = few - perLine * SHORT[0];
  const lines = Math.floor((window * (1 - MARGIN) - ANSWER_TOKENS - frame) / perLine);
  if (lines <= SHORT[1]) return { kind: 'proven', tokens: more, marker: false };
  const sent = frame + perLine * lines;
  const long = await ask(lines);
  if ('kind' in long) return { kind: 'unknown', reason: long.message };
  const read = long.usage?.input ?? 0;
  if (read < sent * (1 - TOLERANCE)) return { kind: 'cut', tokens: read };
  const text = long.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { kind: 'proven', tokens: read, marker: text.includes(marker) };
}

function promptOf(marker: string, lines: number): string {
  const question = 'Which word had to be remembered? Answer with that word alone.';
  return `The word to remember is ${marker}. Keep it in mind while you read on.\n${LINE.repeat(lines)}${question}`;
}

function requestOf(model: string, text: string): ModelRequest {
  return {
    model,
    system: [],
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    tools: [],
    toolChoice: 'auto',
    maxOutputTokens: ANSWER_TOKENS,
    temperature: 0,
  };
}

async function answerOf(
  provider: Provider,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelResponse | ModelError> {
  for await (const event of provider.chat(request, { signal })) {
    if (event.type === 'end') return event.response;
    if (event.type === 'error') return event;
  }
  const message = `${provider.name} ended its answer without saying so.`;
  return { type: 'error', kind: 'malformed', retryable: true, message };
}
