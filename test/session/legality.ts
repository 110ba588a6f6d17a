import type { ModelMessage } from '../../src/core/providers/provider.ts';

/** What is wrong with a transcript, by the rules the model APIs share; empty when it may be sent. */
export function problemsOf(messages: readonly ModelMessage[]): readonly string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  let expected: string[] = [];
  let before: ModelMessage | undefined;
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      const wanted = expected.shift();
      if (wanted !== message.callId) problems.push(`${at}: answers ${message.callId}, not ${wanted ?? 'nothing'}`);
    } else if (expected.length > 0) {
      problems.push(`${at}: calls ${expected.join(', ')} are not answered`);
      expected = [];
    }
    if (message.role === 'user' && message.content.every((part) => part.type === 'text' && part.text.trim() === '')) {
      problems.push(`${at}: empty user message`);
    }
    if (message.role === 'assistant') {
      if (before === undefined) problems.push('begins with an assistant message');
      if (before?.role === 'assistant') problems.push(`${at}: two assistant messages in a row`);
      if (message.content.some((part) => part.type === 'text' && part.text.trim() === '')) {
        problems.push(`${at}: blank text`);
      }
      if (!message.content.some((part) => part.type !== 'reasoning')) problems.push(`${at}: empty assistant message`);
      for (const part of message.content) {
        if (part.type !== 'tool-call') continue;
        if (seen.has(part.callId)) problems.push(`${at}: call ${part.callId} is repeated`);
        seen.add(part.callId);
        expected.push(part.callId);
      }
    }
    before = message;
  }
  if (expected.length > 0) problems.push(`end: calls ${expected.join(', ')} are not answered`);
  return problems;
}
