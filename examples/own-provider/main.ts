import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createAssistant, defineProvider, type ModelEvent, type ModelRequest, type ModelResponse } from 'assistantd';

const home = join(import.meta.dirname, 'home');
let calls = 0;

/** What a model says, and how an answer ends. */
function end(content: ModelResponse['content'], model: string): ModelEvent {
  const usage = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
  const stopReason = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop';
  return { type: 'end', stopReason, response: { content, model, usage } };
}

/** The words of the newest message; the part before them is context that the assistant adds. */
function wordsOf({ messages }: ModelRequest): string {
  const last = messages.at(-1);
  if (last?.role === 'tool') return last.output;
  const part = last?.content.at(-1);
  return part?.type === 'text' ? part.text : '';
}

// A kind of models: those of an entry with this kind, and `rules/<any name>` without one.
const rules = defineProvider({
  kind: 'rules',
  open: () => ({
    async *chat(request): AsyncGenerator<ModelEvent> {
      calls += 1;
      const words = wordsOf(request);
      if (request.model === 'tired') {
        // Said, not thrown; what is retryable is tried again, as often as the run allows.
        yield { type: 'error', kind: 'overloaded', retryable: true, message: 'The rules are tired.' };
      } else if (request.messages.at(-1)?.role === 'tool') {
        yield end(
          [{ type: 'text', text: `I looked: ${words.split('\n').length > 1 ? 'files' : 'nothing'}.` }],
          'rules',
        );
      } else if (/files/u.test(words)) {
        yield end([{ type: 'tool-call', id: '1', name: 'list_dir', arguments: '{"path":"."}' }], 'rules');
      } else {
        for (const text of ['You ', 'said: ', words]) yield { type: 'text-delta', text };
        yield end([{ type: 'text', text: `You said: ${words}` }], 'rules');
      }
    },
  }),
});

const assistant = await createAssistant({
  home,
  config: { agent: { model: 'rules/plain' }, log: { level: 'silent' } },
  providers: [rules],
});
for (const text of ['good evening', 'what files do you have?']) {
  const { text: answer, provider, toolCalls } = await assistant.run(text);
  console.log(`${provider}: ${answer} [${toolCalls.map(({ title }) => title).join()}]`);
}
calls = 0;
const failed = await assistant.run('and now?', { model: 'rules/tired', retries: 1 });
console.log(`${failed.outcome}, ${failed.errorKind}, after ${calls} calls: ${failed.text}`);

// Without `await using`: stops it within 10 seconds, and frees the home for the next process.
await assistant.close();
await rm(home, { recursive: true });
