import type {
  ModelError,
  ModelErrorKind,
  ModelEvent,
  ModelRequest,
  Provider,
} from '../../src/core/providers/provider.ts';

/** What one call gives: an answer's text, or events before an error. */
export type Play = string | { readonly said?: string; readonly fails: ModelError } | { readonly hangs: true };

export interface ScriptedProvider extends Provider {
  readonly requests: ModelRequest[];
}

/** Plays one step to each call; the last one again when they run out. */
export function scripted(name: string, plays: readonly Play[], more: Partial<Provider> = {}): ScriptedProvider {
  const requests: ModelRequest[] = [];
  return {
    name,
    requests,
    ...more,
    async *chat(request, { signal }): AsyncGenerator<ModelEvent> {
      const play = plays[Math.min(requests.length, plays.length - 1)] ?? 'ok';
      requests.push(request);
      await Promise.resolve();
      if (signal.aborted) {
        yield failure('aborted');
      } else if (typeof play === 'string') {
        yield { type: 'text-delta', text: play };
        const content = [{ type: 'text' as const, text: play }];
        yield { type: 'end', stopReason: 'stop', response: { content, model: request.model, usage: null } };
      } else if ('hangs' in play) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        yield failure('aborted');
      } else {
        if (play.said !== undefined) yield { type: 'text-delta', text: play.said };
        yield play.fails;
      }
    },
  };
}

const PASSING: ReadonlySet<ModelErrorKind> = new Set(['rate-limit', 'overloaded', 'timeout', 'network', 'malformed']);

export function failure(kind: ModelErrorKind, more: Partial<ModelError> = {}): ModelError {
  return { type: 'error', kind, retryable: PASSING.has(kind), message: `It failed: ${kind}.`, ...more };
}

export function failing(kind: ModelErrorKind, more: Partial<ModelError> = {}): Play {
  return { fails: failure(kind, more) };
}

/** What somebody sees who forgets at each restart, as `restart` asks. */
export function shownText(events: readonly ModelEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'restart') text = '';
    if (event.type === 'text-delta') text += event.text;
  }
  return text;
}
