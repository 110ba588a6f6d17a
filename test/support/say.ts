import type {
  AssistantPort,
  ConversationOptions,
  SendInput,
  TurnSummary,
} from '../../src/core/gateway/assistant-port.ts';

/** Says something in the session `main`, followed by `options`, and returns how its turn ended. */
export async function say(
  assistant: Pick<AssistantPort, 'open'>,
  input: SendInput | string,
  { signal, ...options }: ConversationOptions & { readonly signal?: AbortSignal } = {},
): Promise<TurnSummary> {
  using conversation = assistant.open('main', options);
  const message = typeof input === 'string' ? { text: input } : input;
  return await conversation.send(message, signal === undefined ? {} : { signal });
}
