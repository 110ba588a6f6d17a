import type { InboundMessage } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import { readSoul, soulQuestion } from '../../memory/files/soul.ts';
import { diffLines } from '../../util/line-diff.ts';
import { deadline } from '../../util/clock.ts';
import { cut, plural } from '../../util/text.ts';
import { askOnce } from '../side-calls/ask-once.ts';
import { cleanModel } from '../side-calls/clean-model.ts';
import { SideCalls, type SideCall } from '../side-calls/side-calls.ts';
import { stripReasoning } from '../turn/strip-reasoning.ts';
import type { ChatCommand } from './command.ts';

const LONGEST_QUESTION_MS = 180_000;
const MAX_OUTPUT_TOKENS = 8192;
const SHOWN_CHANGES = 30;
const SHOWN_LINE = 300;

export const soulCommand = (app: App): ChatCommand => ({
  name: 'soul',
  description: 'show my personality file SOUL.md; `/soul wish` changes it as you wish',
  role: 'owner',
  priority: false,
  interrupts: false,
  run: async ({ message, args }) => {
    const file = app.keptFiles['SOUL.md'];
    const { text: soul } = await file.read();
    if (args === '')
      return soul.trim() === ''
        ? 'SOUL.md is empty. Write `/soul` and how you want me to be, to begin it.'
        : soul.trim();
    const answer = await ask(soulQuestion(soul, args), message, { app, calls: new SideCalls(app, 'memory') });
    if (!answer.ok) return kept(answer.reason);
    const next = readSoul(answer.text);
    if (!next.ok) return kept(`${next.problem}.`);
    const changes = diffLines(soul.trim(), next.text.trim()).filter(({ line }) => line.trim() !== '');
    if (changes.length === 0) return 'SOUL.md says that already, so I changed nothing.';
    const { text } = next;
    const isReplaced = await file.alone(async () => {
      const now = await file.read();
      return now.text === soul && (await file.put(text, now, { reason: '/soul' })).ok;
    });
    if (!isReplaced) return kept('the file was changed at the same moment.');
    const shown = changes.slice(0, SHOWN_CHANGES).map(({ sign, line }) => `${sign} ${cut(line, SHOWN_LINE)}`);
    const more = changes.length - shown.length;
    const rest = more === 0 ? [] : [`… and ${plural(more, 'more line')}`];
    return ['I changed SOUL.md; this applies from my next answer on:', '~~~', ...shown, ...rest, '~~~'].join('\n');
  },
});

function kept(reason: string): string {
  return `I did not change SOUL.md: ${reason}`;
}

/** Asks the session's model one question, without the conversation. */
async function ask(
  { system, text }: { readonly system: string; readonly text: string },
  message: InboundMessage,
  { app, calls }: { readonly app: App; readonly calls: SideCalls },
): Promise<{ readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string }> {
  const { sessionKey, role } = message;
  const { newId, clock, closing } = app;
  const call: SideCall = { id: `soul:${newId()}`, sessionKey, role, message };
  const refused = await calls.refusal(call);
  if (refused !== null) return { ok: false, reason: refused };
  const model = cleanModel(app, app.journal.settings.model(sessionKey));
  using limit = deadline(clock, LONGEST_QUESTION_MS, 'asking for a new SOUL.md');
  const request = {
    model: model.model,
    system: [system],
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }],
    tools: [],
    toolChoice: 'auto' as const,
    maxOutputTokens: MAX_OUTPUT_TOKENS,
    reasoning: 'off' as const,
  };
  const { outcome, usage } = await askOnce(model.provider, request, AbortSignal.any([closing, limit.signal]));
  await calls.count(call, model, usage);
  if (outcome.type === 'error') return { ok: false, reason: outcome.message };
  if (outcome.stopReason === 'refusal') return { ok: false, reason: 'the model refused.' };
  if (outcome.stopReason === 'length') return { ok: false, reason: 'the model did not finish its answer.' };
  const said = outcome.response.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { ok: true, text: stripReasoning(said) };
}
