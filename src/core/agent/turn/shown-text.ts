import type { App } from '../../app.ts';
import type { AssistantPart } from '../../providers/provider.ts';
import type { EntryDraft } from '../../session/entry.ts';
import type { TurnFacts } from '../hooks/hooks.ts';
import type { Live } from './live.ts';

/** The text that people may see in place of one of the model's; '' when a hook denies it. Never rejects. */
export type Render = (text: string) => Promise<string>;

/**
 * Passes texts of a turn through the `render` hooks; null: there are none, and texts are shown as they come. Texts are
 * rendered before they are written to the tape, so whatever reads the tape or hears of a turn gets the rendered ones.
 */
export function renderer(facts: TurnFacts, { hooks, redact }: App): Render | null {
  if (!hooks.has('render')) return null;
  return async (text) => {
    if (text.trim() === '') return text;
    const rendered = await hooks.decide('render', text, (hook, value) => hook.render?.(facts, value));
    return 'denied' in rendered ? '' : redact(rendered.value);
  };
}

/** A live view without the words of the model, for the time until they are rendered. */
export function withoutText(live: Live): Live {
  return (event) => {
    if (event.type !== 'text' && event.type !== 'reasoning') live(event);
  };
}

/**
 * The content of a message of the model as people may see it. `before` is the cut-off text, rendered already, that the message
 * continues: both are rendered as one text, and if that changes `before`, nothing of the continuation is kept.
 */
export async function renderContent(
  content: readonly AssistantPart[],
  before: string,
  render: Render,
): Promise<readonly AssistantPart[]> {
  const text = joined(content);
  if (text.trim() === '') return withText(content, text);
  const whole = before + text;
  const shown = await render(whole);
  return withText(content, shown === whole ? text : restOf(shown, before));
}

/**
 * The last message of a turn and the turn's end, in which the answer and the program's lines below it are rendered as one text.
 * The message keeps what is left of it without these lines.
 */
export async function renderEnd(
  end: EntryDraft,
  { content, before }: { readonly content: readonly AssistantPart[]; readonly before: string },
  render: Render,
): Promise<{ readonly end: EntryDraft; readonly content: readonly AssistantPart[] }> {
  const answer = answerOf(end);
  const text = joined(content);
  const own = (before + text).trim();
  const shown = await render(answer);
  const ended = withAnswer(end, shown);
  if (own === '' || !answer.startsWith(own)) {
    return { end: ended, content: await renderContent(content, before, render) };
  }
  if (shown === answer) return { end: ended, content: withText(content, text) };
  const below = answer.slice(own.length);
  const kept = shown.endsWith(below) ? shown.slice(0, shown.length - below.length) : shown;
  return { end: ended, content: withText(content, restOf(kept, before.trimStart())) };
}

/** A turn's end with another answer. The line about what was not done is named only if the answer still has it. */
export function withAnswer(end: EntryDraft, answer: string): EntryDraft {
  if (end.kind !== 'turn-end') return end;
  const { unfinished, ...rest } = end;
  return { ...rest, answer, ...(unfinished !== undefined && answer.includes(unfinished) ? { unfinished } : {}) };
}

export function answerOf(end: EntryDraft): string {
  return end.kind === 'turn-end' ? end.answer : '';
}

/** The texts of a message in one. */
export function joined(content: readonly AssistantPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The content with one text in place of its texts. Reasoning can be replayed, but no longer shown. */
function withText(content: readonly AssistantPart[], text: string): readonly AssistantPart[] {
  const first = content.findIndex((part) => part.type === 'text');
  return content.flatMap((part, at): readonly AssistantPart[] => {
    if (part.type === 'reasoning') return [{ ...part, text: '' }];
    if (part.type !== 'text') return [part];
    return at === first && text !== '' ? [{ ...part, text }] : [];
  });
}

function restOf(whole: string, before: string): string {
  return whole.startsWith(before) ? whole.slice(before.length) : '';
}
