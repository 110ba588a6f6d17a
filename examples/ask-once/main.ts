import { join } from 'node:path';
import { createAssistant } from 'assistantd';

const question = process.argv.slice(2).join(' ');
if (question === '') throw new Error('Usage: node main.ts QUESTION');

// Ctrl-C stops the turn; the program then ends as always.
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

await using assistant = await createAssistant({
  home: join(import.meta.dirname, 'home'),
  config: { log: { level: 'error' } },
});

const answer = assistant.stream(question, {
  session: 'ask-once',
  // It may look, and change nothing.
  tools: ['read_file', 'list_dir', 'grep', 'web_fetch'],
  timeoutMs: 2 * 60_000,
  signal: stop.signal,
});
for await (const event of answer) {
  if (event.type === 'tool-start') console.error(`… ${event.title}`);
  if (event.type !== 'turn-end') continue;
  const { text, model, usage, costUsd, errorKind } = event.result;
  console.log(text);
  const cost = costUsd === null ? 'cost not known' : `${costUsd.toFixed(4)} $`;
  console.error(`${errorKind ?? 'ok'}: ${model ?? 'no model'}, ${usage.input + usage.output} tokens, ${cost}`);
  if (errorKind !== null) process.exitCode = 1;
}
