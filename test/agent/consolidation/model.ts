import type { ModelErrorKind, ModelEvent, ModelRequest } from '../../../src/core/providers/provider.ts';
import { noUsage } from '../../../src/core/util/token-usage.ts';

/** What the model double says to one question. */
export type Reply =
  | { readonly saves: { readonly history_entry: string; readonly memory_update?: string } }
  | { readonly text: string }
  | { readonly error: ModelErrorKind; readonly message?: string };

export type Answering = (request: ModelRequest) => Reply | Promise<Reply>;

/** What a provider yields for it. */
export function* eventsOf(request: ModelRequest, reply: Reply): Generator<ModelEvent> {
  if ('error' in reply) {
    yield {
      type: 'error',
      kind: reply.error,
      retryable: false,
      message: reply.message ?? `It failed: ${reply.error}.`,
    };
    return;
  }
  const usage = { ...noUsage, input: 1000, output: 100 };
  const content =
    'text' in reply
      ? [{ type: 'text' as const, text: reply.text }]
      : [{ type: 'tool-call' as const, id: 'c', name: 'save_memory', arguments: JSON.stringify(reply.saves) }];
  yield { type: 'end', stopReason: 'stop', response: { content, model: request.model, usage } };
}

/** All that a request says. */
export function textOf({ messages }: ModelRequest): string {
  return messages
    .flatMap((message) => (message.role === 'user' ? message.content : []))
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n');
}

/** The block of a question. */
export function block(request: ModelRequest, name: 'memory' | 'conversation'): string {
  return new RegExp(`<${name}>\\n([\\s\\S]*?)\\n</${name}>`, 'u').exec(textOf(request))?.[1] ?? '';
}

/** A model that writes down whatever lines begin with `FACT`, and knows them as facts if it may. */
export function summarising(request: ModelRequest): Reply {
  const facts = block(request, 'conversation').match(/FACT [^\n]*/gu) ?? [];
  const history_entry = `They spoke of ${facts.length} things.\n${facts.join('\n')}`;
  const memory = block(request, 'memory');
  const takesMemory = JSON.stringify(request.tools).includes('memory_update');
  if (!takesMemory || facts.length === 0) return { saves: { history_entry } };
  return { saves: { history_entry, memory_update: [memory, ...facts.map((fact) => `- ${fact}`)].join('\n') } };
}
