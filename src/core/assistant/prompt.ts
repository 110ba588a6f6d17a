import type { PromptReport } from '../agent/commands/context.ts';
import { fewToolsSentence, toolsForSize, type WindowSize } from '../agent/context/window-size.ts';
import { SystemPrompt, type Audience, type RenderedPrompt, type SkillLayers } from '../agent/prompt/system-prompt.ts';
import type { App } from '../app.ts';
import { withInstructions } from '../agent/api/prompt.ts';
import { canSpeak } from '../agent/turn/spoken-answer.ts';
import { subagentOf } from '../agent/subagents/task.ts';
import { withheld } from '../agent/withheld-tools.ts';
import { UNIFIED_SESSION } from '../agent/joining.ts';
import { EDITOR_CHANNEL } from '../bus/editor.ts';
import type { InboundMessage, Role } from '../bus/messages.ts';
import { howItShows } from '../channels/registry.ts';
import { asRole, seesPrivate, strongestRole } from '../security/access/access.ts';
import type { ToolSpec } from '../providers/provider.ts';
import { withoutVoice } from '../tools/message.ts';
import { STAY_SILENT } from '../tools/stay-silent.ts';

/** The channels of the person at this machine. */
const LOCAL: ReadonlySet<string> = new Set(['terminal', 'web', EDITOR_CHANNEL]);

/** The system prompt and the tools of a turn, and what the next request of a session is made of. */
export interface Prompts {
  /** For a turn of this role that answers this message, and a model that reads so much at once. */
  readonly of: (target: InboundMessage, role: Role, size: WindowSize) => Promise<RenderedPrompt>;
  /**
   * The tools that a model is shown in such a turn. In a group they are those of the highest role there, so that the
   * list stays the same from turn to turn; a call beyond the rights of its turn is refused.
   */
  readonly tools: (target: InboundMessage, role: Role) => readonly ToolSpec[];
  /** The next request of a session, in parts. */
  readonly report: (sessionKey: string) => Promise<PromptReport>;
}

export function createPrompts(app: App, skills: () => Promise<SkillLayers>): Prompts {
  const { redact } = app;
  const prompt = new SystemPrompt(app, skills);
  /** What the owner wrote into a file may hold a secret; the same prompt is not searched again. */
  const known = new WeakMap<RenderedPrompt, RenderedPrompt>();
  const read = async (reader: Audience): Promise<RenderedPrompt> => {
    const rendered = await prompt.read(reader);
    const clean = known.get(rendered) ?? withoutSecrets(rendered, redact);
    known.set(rendered, clean);
    return clean;
  };
  const shownIn = (channel: string): string | null =>
    howItShows(app.config.channels[channel]?.kind ?? channel, app.plugins.kinds);
  const audience = (target: InboundMessage, role: Role, size: WindowSize): Audience => ({
    size,
    light: app.program.origins.of(target.origin).isReport === true || subagentOf(target) !== null,
    ownersDirectChat: seesPrivate({ role, chatType: target.chatType, who: `${target.channel}:${target.sender.id}` }),
    shows: target.sessionKey === UNIFIED_SESSION ? null : shownIn(target.channel),
  });
  /** What is made of a list is kept with it: the same list for many turns is measured, hashed and rendered once. */
  const silenced = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>();
  const withoutSilence = (specs: readonly ToolSpec[]): readonly ToolSpec[] => {
    const known = silenced.get(specs) ?? specs.filter(({ name }) => name !== STAY_SILENT);
    silenced.set(specs, known);
    return known;
  };
  const voiceless = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>();
  const forChat = (specs: readonly ToolSpec[], channel: string): readonly ToolSpec[] => {
    if (canSpeak(app, channel)) return specs;
    const known = voiceless.get(specs) ?? specs.map(withoutVoice);
    voiceless.set(specs, known);
    return known;
  };
  const directTools = (role: Role, session: string): readonly ToolSpec[] =>
    withoutSilence(app.tools.specs(role, session));
  const groupTools = (channel: string): readonly ToolSpec[] => {
    const settings = app.config.channels[channel];
    const paired = app.journal.people.list(channel).map(({ role }) => role);
    const specs = app.tools.specs(strongestRole(settings, paired));
    return settings?.groups.policy === 'open' ? specs : withoutSilence(specs);
  };
  const tools: Prompts['tools'] = (target, role) => {
    const { channel } = target;
    if (target.chatType === 'group' && subagentOf(target) === null) return forChat(groupTools(channel), channel);
    const all = forChat(directTools(role, target.sessionKey), channel);
    const isWithheld = ({ name }: ToolSpec): boolean =>
      withheld(target, app.tools.named(name, target.sessionKey) ?? { name }) !== null;
    return all.some(isWithheld) ? all.filter((spec) => !isWithheld(spec)) : all;
  };
  return {
    tools,
    of: async (target, role, size) => withInstructions(await read(audience(target, role, size)), target, redact),
    report: async (sessionKey) => {
      const { journal, sessions, contextWindow, models } = app;
      const last = journal.turns.last(sessionKey);
      const target = last?.messages.at(-1);
      const isOwners = sessionKey === UNIFIED_SESSION || LOCAL.has(channelOf(sessionKey));
      const role = last === undefined ? (isOwners ? 'owner' : 'guest') : asRole(last.role);
      const chosen = models.resolve(journal.settings.model(sessionKey));
      const model = { provider: chosen.providerName, model: chosen.model };
      const size = await contextWindow.size(model);
      const { layers, texts } =
        target === undefined
          ? await read({
              size,
              ownersDirectChat: isOwners,
              shows: shownIn(channelOf(sessionKey)),
            })
          : withInstructions(await read(audience(target, role, size)), target, redact);
      const session = await sessions.open(sessionKey);
      const all =
        target === undefined ? forChat(directTools(role, sessionKey), channelOf(sessionKey)) : tools(target, role);
      const shown = toolsForSize(all, size, (name) => app.tools.named(name));
      const tokens = await contextWindow.report({ session, model, system: texts, tools: shown });
      const ref = `${model.provider}/${model.model}`;
      return {
        session: sessionKey,
        model: ref,
        layers,
        tools: shown,
        fewTools: fewToolsSentence(ref, { window: tokens.window, shown: shown.length, all: all.length }),
        messageCount: session.history().messages.length,
        tokens,
      };
    },
  };
}

function withoutSecrets({ layers }: RenderedPrompt, redact: App['redact']): RenderedPrompt {
  const clean = layers.map((layer) => ({ ...layer, text: redact(layer.text) }));
  return { layers: clean, texts: clean.map(({ text }) => text) };
}

function channelOf(sessionKey: string): string {
  return sessionKey.split(':')[0] ?? sessionKey;
}
