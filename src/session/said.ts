import type { TapeEntry } from './entry.ts';

/** The block of the program's own that a person's message begins with. */
const CONTEXT = /^<context>\n[\s\S]*\n<\/context>$/u;

/** What a person or the model said in an entry: no context block, no skill's text, no reasoning, no calls; may be empty. */
export function saidIn(entry: TapeEntry): string {
  if (entry.kind !== 'message' || entry.role === 'tool') return '';
  const texts = entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (entry.role === 'assistant') return texts.join('\n');
  const from = CONTEXT.test(texts[0] ?? '') ? 1 : 0;
  return texts.slice(from, texts.length - (entry.skills?.length ?? 0)).join('\n');
}
