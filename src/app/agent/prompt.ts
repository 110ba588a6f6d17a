import type { PromptReport } from '../../agent/commands/context.ts';
import { fewToolsSentence, toolsForSize, type WindowSize } from '../../agent/context/window-size.ts';
import type { ContextWindow } from '../../agent/context/fit.ts';
import { SystemPrompt, type Audience, type RenderedPrompt } from '../../agent/prompt/system-prompt.ts';
import type { ChosenModel } from '../../agent/turn/current-turn.ts';
import { withInstructions } from '../../agent/api/prompt.ts';
import { subagentOf } from '../../agent/subagents/task.ts';
import { withheld } from '../../agent/withheld-tools.ts';
import { UNIFIED_SESSION } from '../../agent/joining.ts';
import type { SpeechPorts } from '../../agent/ports.ts';
import { EDITOR_CHANNEL } from '../../bus/editor.ts';
import type { InboundMessage, PairedRole, Role } from '../../bus/messages.ts';
import { howItShows, type PluggedKinds } from '../../channels/registry.ts';
import type { Config } from '../../config/schema.ts';
import type { Journal } from '../../journal/journal.ts';
import { asRole, seesPrivate, strongestRole } from '../../security/access/access.ts';
import type { ToolSpec } from '../../providers/provider.ts';
import type { Sessions } from '../../session/sessions.ts';
import type { SkillCatalog } from '../../skills/catalog.ts';
import type { ToolRegistry } from '../../tools/registry/registry.ts';
import { withoutVoice } from '../../tools/message.ts';
import { STAY_SILENT } from '../../tools/stay-silent.ts';
import type { SkillNews } from '../extensions/skill-news.ts';
import { skillLayers } from '../extensions/skills.ts';

/** The channels of the person at this machine. */
const LOCAL: ReadonlySet<string> = new Set(['terminal', 'web', EDITOR_CHANNEL]);

export interface PromptsOptions {
  /** The kinds of channels that plugins bring now. */
  readonly plugged: () => PluggedKinds;
  readonly config: Config;
  readonly workspace: string;
  readonly catalog: Pick<SkillCatalog, 'current' | 'load'>;
  readonly skillNews: Pick<SkillNews, 'look'>;
  readonly registry: Pick<ToolRegistry, 'specs'>;
  readonly speech: Pick<SpeechPorts, 'isOffered'>;
  /** Roles that pairing codes gave on a channel. */
  readonly pairedRoles: (channel: string) => readonly PairedRole[];
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
}

/** The system prompt and the tools of a turn, and what the next request of a session is made of. */
export interface Prompts {
  /** For a turn of this role that answers this message, and a model that reads so much at once. */
  of(target: InboundMessage, role: Role, size: WindowSize): Promise<RenderedPrompt>;
  /**
   * The tools that a model is shown in such a turn. In a group they are those of the highest role there, so that the
   * list stays the same from turn to turn; a call beyond the rights of its turn is refused.
   */
  tools(target: InboundMessage, role: Role): readonly ToolSpec[];
  report(sessionKey: string, parts: ReportParts): Promise<PromptReport>;
}

interface ReportParts {
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly context: ContextWindow;
  readonly resolveModel: (ref: string | null) => ChosenModel;
}

export function createPrompts(parts: PromptsOptions): Prompts {
  const { config, workspace, catalog, skillNews, registry, redact, plugged, pairedRoles, speech } = parts;
  const readRoots = config.tools.restrictToWorkspace ? config.tools.readRoots : null;
  const prompt = new SystemPrompt({
    workspace,
    readRoots,
    skills: skillLayers(catalog, (skills) => skillNews.look(skills)),
  });
  /** What the owner wrote into a file may hold a secret; the same prompt is not searched again. */
  const known = new WeakMap<RenderedPrompt, RenderedPrompt>();
  const read = async (reader: Audience): Promise<RenderedPrompt> => {
    const rendered = await prompt.read(reader);
    const clean = known.get(rendered) ?? withoutSecrets(rendered, redact);
    known.set(rendered, clean);
    return clean;
  };
  const audience = (target: InboundMessage, role: Role, size: WindowSize): Audience => ({
    size,
    light: target.origin === 'heartbeat' || subagentOf(target) !== null,
    ownersDirectChat: seesPrivate({ role, chatType: target.chatType, who: `${target.channel}:${target.sender.id}` }),
    shows: target.sessionKey === UNIFIED_SESSION ? null : howItShows(kindOf(config, target.channel), plugged()),
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
    if (speech.isOffered(channel)) return specs;
    const known = voiceless.get(specs) ?? specs.map(withoutVoice);
    voiceless.set(specs, known);
    return known;
  };
  const directTools = (role: Role, session: string): readonly ToolSpec[] =>
    withoutSilence(registry.specs(role, session));
  const groupTools = (channel: string): readonly ToolSpec[] => {
    const settings = config.channels[channel];
    const specs = registry.specs(strongestRole(settings, pairedRoles(channel)));
    return settings?.groups.policy === 'open' ? specs : withoutSilence(specs);
  };
  const tools: Prompts['tools'] = (target, role) => {
    const { channel } = target;
    if (target.chatType === 'group' && subagentOf(target) === null) return forChat(groupTools(channel), channel);
    const all = forChat(directTools(role, target.sessionKey), channel);
    return all.some(({ name }) => withheld(target, name) !== null)
      ? all.filter(({ name }) => withheld(target, name) === null)
      : all;
  };
  return {
    tools,
    of: async (target, role, size) => withInstructions(await read(audience(target, role, size)), target, redact),
    report: async (sessionKey, { journal, sessions, context, resolveModel }) => {
      const last = journal.turns.last(sessionKey);
      const target = last?.messages.at(-1);
      const isOwners = sessionKey === UNIFIED_SESSION || LOCAL.has(channelOf(sessionKey));
      const role = last === undefined ? (isOwners ? 'owner' : 'guest') : asRole(last.role);
      const chosen = resolveModel(journal.settings.model(sessionKey));
      const model = { provider: chosen.providerName, model: chosen.model };
      const size = await context.size(model);
      const { layers, texts } =
        target === undefined
          ? await read({
              size,
              ownersDirectChat: isOwners,
              shows: howItShows(kindOf(config, channelOf(sessionKey)), plugged()),
            })
          : withInstructions(await read(audience(target, role, size)), target, redact);
      const session = await sessions.open(sessionKey);
      const all =
        target === undefined ? forChat(directTools(role, sessionKey), channelOf(sessionKey)) : tools(target, role);
      const shown = toolsForSize(all, size);
      const tokens = await context.report({ session, model, system: texts, tools: shown });
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

function withoutSecrets({ layers }: RenderedPrompt, redact: PromptsOptions['redact']): RenderedPrompt {
  const clean = layers.map((layer) => ({ ...layer, text: redact(layer.text) }));
  return { layers: clean, texts: clean.map(({ text }) => text) };
}

function kindOf(config: Config, channel: string): string {
  return config.channels[channel]?.kind ?? channel;
}

function channelOf(sessionKey: string): string {
  return sessionKey.split(':')[0] ?? sessionKey;
}
