import type { Usage } from '../../util/token-usage.ts';
import type { ModelEvent, ModelRequest, Provider } from '../provider.ts';
import { laterUsage } from '../read-usage.ts';
import { tokensOfFrame, tokensOfMessage, tokensOfText } from '../token-estimate.ts';

/** Failures after which a request costs money all the same, because the server had begun to work on it. */
const PAID: ReadonlySet<string> = new Set(['aborted', 'timeout']);
/** Failures of an answer that had begun. What servers refuse in a stream costs nothing. */
const PAID_IF_BEGUN: ReadonlySet<string> = new Set(['network', 'malformed']);

/**
 * Gives every call that costs money a usage: exactly one `usage` event before its `end` or `error`. What the server didn't
 * count, because the call failed midway, was stopped, or the server never counts, is estimated and marked so.
 */
export function withUsage(provider: Provider): Provider {
  return { ...provider, chat: (request, options) => counted(provider.chat(request, options), request) };
}

async function* counted(events: AsyncIterable<ModelEvent>, request: ModelRequest): AsyncGenerator<ModelEvent> {
  let told: Usage | null = null;
  let written = '';
  let sent = false;
  for await (const event of events) {
    switch (event.type) {
      case 'usage':
        told = laterUsage(told, event.usage);
        continue;
      case 'request':
        sent = event.body !== null;
        break;
      case 'text-delta':
      case 'reasoning-delta':
        written += event.text;
        break;
      case 'tool-call-delta':
        written += event.argumentsDelta;
        break;
      case 'error': {
        const isPaid = (sent && PAID.has(event.kind)) || (event.begun === true && PAID_IF_BEGUN.has(event.kind));
        if (told !== null || written !== '' || isPaid) {
          yield { type: 'usage', usage: estimated(told, request, tokensOfText(written)) };
        }
        break;
      }
      case 'end': {
        if (event.response.scripted === true) break;
        const content = partsOf(event.response);
        const output = content.length === 0 ? 0 : tokensOfMessage({ role: 'assistant', content });
        const usage = completed(laterUsage(told, event.response.usage), request, output);
        yield { type: 'usage', usage };
        yield { ...event, response: { ...event.response, usage } };
        return;
      }
      case 'tool-call':
      case 'restart':
    }
    yield event;
  }
}

function partsOf({ content }: Extract<ModelEvent, { type: 'end' }>['response']) {
  return content.map((part) =>
    part.type === 'tool-call' ? { ...part, callId: part.id, providerCallId: part.id } : part,
  );
}

/** The usage of a whole answer. Zeros are what servers send that don't count. */
function completed(told: Usage | null, request: ModelRequest, output: number): Usage {
  return told !== null && told.input > 0 && (told.output > 0 || output === 0) ? told : estimated(told, request, output);
}

/** What was counted, and an estimate of the rest. What was written is a lower bound: the count came before its end. */
function estimated(told: Usage | null, { system, tools, messages }: ModelRequest, output: number): Usage {
  const prompt = (): number =>
    tokensOfFrame(system, tools) + messages.reduce((sum, message) => sum + tokensOfMessage(message), 0);
  return {
    ...(told ?? { cached: 0, cacheWrite: 0, reasoning: 0 }),
    input: told !== null && told.input > 0 ? told.input : prompt(),
    output: Math.max(told?.output ?? 0, output),
    estimated: true,
  };
}
