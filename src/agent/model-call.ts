import type {
  AssistantPart,
  ModelError,
  ModelRequest,
  ModelResponse,
  Provider,
  StopReason,
} from '../providers/provider.ts';
import type { Live } from './live.ts';

export type ModelOutcome =
  | { readonly type: 'end'; readonly stopReason: StopReason; readonly response: ModelResponse }
  | ModelError;

export interface ModelCall {
  readonly provider: Provider;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly live: Live;
  readonly redact: (text: string) => string;
}

/** Asks the model once, showing text as it comes. Never throws; a stream that ends without an end is an error. */
export async function askModel({ provider, request, signal, live, redact }: ModelCall): Promise<ModelOutcome> {
  let text = '';
  let reasoning = '';
  for await (const event of provider.chat(request, { signal })) {
    switch (event.type) {
      case 'text-delta':
        text += event.text;
        live({ type: 'text', text: redact(text) });
        break;
      case 'reasoning-delta':
        reasoning += event.text;
        live({ type: 'reasoning', text: redact(reasoning) });
        break;
      case 'tool-call-delta':
      case 'tool-call':
      case 'usage':
        break;
      case 'end':
      case 'error':
        return event;
    }
  }
  return {
    type: 'error',
    kind: 'malformed',
    retryable: true,
    message: `${provider.name} ended its answer without saying so.`,
  };
}

/** The response as the tape keeps it: secrets removed, our own ids for calls, counted on from `callsBefore`. */
export function assistantContent(
  response: ModelResponse,
  options: { turnId: string; callsBefore: number; redact: (text: string) => string },
): readonly AssistantPart[] {
  let count = options.callsBefore;
  return response.content.map((part): AssistantPart => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: options.redact(part.text) };
      case 'reasoning':
        return part;
      case 'tool-call':
        count += 1;
        return {
          type: 'tool-call',
          callId: `${options.turnId}.${count}`,
          providerCallId: part.id,
          name: part.name,
          arguments: options.redact(part.arguments),
        };
    }
  });
}
