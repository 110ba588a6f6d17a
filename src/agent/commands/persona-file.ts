import type { InboundMessage } from '../../bus/messages.ts';
import type { KeptText } from '../../memory/files/kept-text.ts';
import { deadline, type Clock } from '../../util/clock.ts';
import type { soulCommand } from './soul.ts';
import { askOnce } from '../side-calls/ask-once.ts';
import type { SideCall, SideCalls } from '../side-calls/side-calls.ts';
import type { ChosenModel } from '../turn/current-turn.ts';
import { stripReasoning } from '../turn/strip-reasoning.ts';

export interface PersonaFileOptions {
  /** SOUL.md and its versions. */
  readonly file: KeptText;
  readonly calls: SideCalls;
  /** The model that was chosen for a session. */
  readonly sessionModel: (sessionKey: string) => ChosenModel;
  readonly newId: () => string;
  readonly clock: Clock;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

const LONGEST_QUESTION_MS = 180_000;
const MAX_OUTPUT_TOKENS = 8192;

/** Creates the ports of /soul: the file, its old versions, and a model call outside of any conversation. */
export function createPersonaFile(options: PersonaFileOptions): Parameters<typeof soulCommand>[0] {
  const { file } = options;
  const read = async (): Promise<string> => (await file.read()).text;
  return {
    read,
    replace: (text, before) =>
      file.alone(async () => {
        const now = await file.read();
        return now.text === before && (await file.put(text, now, { reason: '/soul' })).ok;
      }),
    ask: (question, message) => ask(question, message, options),
  };
}

async function ask(
  { system, text }: { readonly system: string; readonly text: string },
  message: InboundMessage,
  { calls, sessionModel, newId, clock, signal }: PersonaFileOptions,
): Promise<{ readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string }> {
  const { sessionKey, role } = message;
  const call: SideCall = { id: `soul:${newId()}`, sessionKey, role, message };
  const refused = await calls.refusal(call);
  if (refused !== null) return { ok: false, reason: refused };
  const model = sessionModel(sessionKey);
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
  const { outcome, usage } = await askOnce(model.provider, request, AbortSignal.any([signal, limit.signal]));
  await calls.count(call, model, usage);
  if (outcome.type === 'error') return { ok: false, reason: outcome.message };
  if (outcome.stopReason === 'refusal') return { ok: false, reason: 'the model refused.' };
  if (outcome.stopReason === 'length') return { ok: false, reason: 'the model did not finish its answer.' };
  const said = outcome.response.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { ok: true, text: stripReasoning(said) };
}
