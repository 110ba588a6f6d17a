import type {
  AssistantPart,
  ModelError,
  ModelRequest,
  ModelResponse,
  Provider,
  StopReason,
} from '../../providers/provider.ts';
import type { Redact } from '../../security/redact/redact.ts';
import type { Usage } from '../../util/token-usage.ts';
import type { FailedAttempt } from '../context/call-bounds.ts';
import type { Live } from './live.ts';
import type { CallAttempts } from './call-record.ts';
import { stripReasoning } from './strip-reasoning.ts';

export type ModelOutcome =
  | { readonly type: 'end'; readonly stopReason: StopReason; readonly response: ModelResponse }
  /** `shown`: the part of the answer that people saw before the call failed, without `ModelCall.before`. */
  | (ModelError & { readonly shown: string });

export interface ModelCall {
  readonly provider: Provider;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly live: Live;
  readonly redact: Redact;
  /** Records each attempt of the call. @default not recorded */
  readonly attempts?: CallAttempts;
  /** Called for each attempt that failed but costs money. @default not counted */
  readonly failed?: (attempt: FailedAttempt) => void;
  /** The cut-off answer that this call continues; the preview shows it in front of the new text. @default '' */
  readonly before?: string;
}

/**
 * Asks the model once and shows its text as a live preview. The newest word, which may be the beginning of a secret, is shown
 * only when more text follows or the answer ends. Never rejects; a stream without an `end` event is an outcome `malformed`.
 */
export async function askModel({
  provider,
  request,
  signal,
  live,
  redact,
  attempts,
  failed,
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
  let by = { provider: provider.name, model: request.model };
  let usage: Usage | null = null;
  const fail = (): void => {
    if (usage !== null) failed?.({ by, usage });
    usage = null;
  };
  const words = ({ said }: Pick<ModelError, 'said'>) => (said === undefined ? {} : { said: redact(said) });
  const shownOf = (): string => (seen.text.startsWith(before) ? seen.text.slice(before.length) : seen.text);
  for await (const event of provider.chat(request, { signal })) {
    switch (event.type) {
      case 'request':
        attempts?.began(event);
        by = { provider: event.provider, model: event.model };
        break;
      case 'text-delta':
        text += event.text;
        // After a restart, the preview keeps the old text until the new text is longer or differs.
        if (shown.startsWith(text)) break;
        shown = text;
        show('text', redact(stripReasoning(text, { streaming: true }), { partial: true }));
        break;
      case 'reasoning-delta':
        reasoning += event.text;
        show('reasoning', redact(stripReasoning(reasoning, { streaming: true }), { partial: true }));
        break;
      case 'restart':
        fail();
        attempts?.failed({ kind: event.reason, reason: redact(event.message), waitMs: event.waitMs, ...words(event) });
        text = before;
        reasoning = '';
        live({ type: 'status', text: event.message, ...(event.about === 'loading' ? { isLong: true } : {}) });
        break;
      case 'tool-call-delta':
      case 'tool-call':
        break;
      case 'usage':
        usage = event.usage;
        break;
      case 'end':
        if (reasoning !== '') show('reasoning', redact(stripReasoning(reasoning)));
        if (shown === text) show('text', redact(stripReasoning(text)));
        return event;
      case 'error':
        fail();
        attempts?.failed({ ...event, reason: redact(event.message), ...words(event) });
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
 * The response as the tape keeps it. Removes secrets, reasoning inside the text, and reasoning parts that hold a secret.
 * Calls get the ids `<turnId>.<n>`, with `n` from `callsBefore` + 1. `before` is the cut-off text that the response continues.
 */
export function assistantContent(
  response: ModelResponse,
  options: {
    readonly turnId: string;
    readonly callsBefore: number;
    readonly redact: Redact;
    readonly before: string;
    /** The request forbade tool calls; those that the model made all the same are removed. */
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
        // The server signed the reasoning, so it is kept unchanged or not at all.
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

/** The visible text of a continuation. Both texts are read together, because the first may end in the middle of a code block. */
function shown(before: string, text: string): string {
  const whole = stripReasoning(before + text);
  return whole.startsWith(before) ? whole.slice(before.length) : stripReasoning(text);
}
