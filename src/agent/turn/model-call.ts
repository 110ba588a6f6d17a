import type {
  AssistantPart,
  ModelError,
  ModelRequest,
  ModelResponse,
  Provider,
  StopReason,
} from '../../providers/provider.ts';
import type { Redact } from '../../security/redact/redact.ts';
import type { Live } from './live.ts';
import type { CallAttempts } from './call-record.ts';
import { stripReasoning } from './strip-reasoning.ts';

export type ModelOutcome =
  | { readonly type: 'end'; readonly stopReason: StopReason; readonly response: ModelResponse }
  /** `shown`: what was shown of an answer before it failed, without the text that it continues. */
  | (ModelError & { readonly shown: string });

export interface ModelCall {
  readonly provider: Provider;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly live: Live;
  readonly redact: Redact;
  /** Told of each attempt. */
  readonly attempts?: CallAttempts;
  /** The text that this call continues; shown before what comes. @default '' */
  readonly before?: string;
}

/**
 * Asks the model once, showing text as it comes: what may be the beginning of a secret, and the newest word, when it is
 * over. Never throws; a stream that ends without an end is an error.
 */
export async function askModel({
  provider,
  request,
  signal,
  live,
  redact,
  attempts,
  before = '',
}: ModelCall): Promise<ModelOutcome> {
  let text = before;
  let shown = before;
  let reasoning = '';
  const seen = { text: '', reasoning: '' };
  const show = (type: 'text' | 'reasoning', clean: string): void => {
    if (clean === seen[type]) return;
    seen[type] = clean;
    live({ type, text: clean });
  };
  const shownOf = (): string => (seen.text.startsWith(before) ? seen.text.slice(before.length) : seen.text);
  for await (const event of provider.chat(request, { signal })) {
    switch (event.type) {
      case 'request':
        attempts?.began(event);
        break;
      case 'text-delta':
        text += event.text;
        // An answer that begins anew is shown from where it says more, or something else, than was shown before.
        if (shown.startsWith(text)) break;
        shown = text;
        show('text', redact(stripReasoning(text, { streaming: true }), { partial: true }));
        break;
      case 'reasoning-delta':
        reasoning += event.text;
        show('reasoning', redact(stripReasoning(reasoning, { streaming: true }), { partial: true }));
        break;
      case 'restart':
        attempts?.failed({ kind: event.reason, reason: redact(event.message) });
        text = before;
        reasoning = '';
        live({ type: 'status', text: redact(event.message) });
        break;
      case 'tool-call-delta':
      case 'tool-call':
      case 'usage':
        break;
      case 'end':
        if (shown === text) show('text', redact(stripReasoning(text)));
        return event;
      case 'error':
        attempts?.failed({ ...event, reason: redact(event.message) });
        return { ...event, shown: shownOf() };
    }
  }
  return {
    type: 'error',
    kind: 'malformed',
    retryable: true,
    message: `${provider.name} ended its answer without saying so.`,
    shown: shownOf(),
  };
}

/**
 * The response as the tape keeps it: reasoning that leaked into the text, secrets, and reasoning with secrets in it
 * removed, our own ids for calls, counted on from `callsBefore`. `before` is the text that it continues.
 */
export function assistantContent(
  response: ModelResponse,
  options: {
    readonly turnId: string;
    readonly callsBefore: number;
    readonly redact: Redact;
    readonly before: string;
    /** Calls were forbidden; what a model calls nevertheless is left out. */
    readonly withoutCalls: boolean;
  },
): readonly AssistantPart[] {
  let count = options.callsBefore;
  let { before } = options;
  return response.content.flatMap((part): AssistantPart[] => {
    switch (part.type) {
      case 'text': {
        const text = options.redact(shown(before, part.text));
        before = '';
        return text === '' ? [] : [{ type: 'text', text }];
      }
      case 'reasoning': {
        // It is replayed as it was or not at all: what its server signed must not be changed.
        const whole = JSON.stringify([part.text, part.data]);
        return options.redact(whole, { knownBy: 'shape' }) === whole ? [part] : [];
      }
      case 'tool-call':
        if (options.withoutCalls) return [];
        count += 1;
        return [
          {
            type: 'tool-call',
            callId: `${options.turnId}.${count}`,
            providerCallId: part.id,
            name: part.name,
            arguments: options.redact(part.arguments, { knownBy: 'shape' }),
          },
        ];
    }
  });
}

/** What is visible of a continuation, read together with what it continues: that may end in the middle of code. */
function shown(before: string, text: string): string {
  const whole = stripReasoning(before + text);
  return whole.startsWith(before) ? whole.slice(before.length) : stripReasoning(text);
}
