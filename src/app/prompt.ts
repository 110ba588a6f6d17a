import type { PromptReport } from '../agent/commands/context.ts';
import type { ContextWindow } from '../agent/context-window.ts';
import { SystemPrompt, type Audience, type RenderedPrompt } from '../agent/system-prompt.ts';
import type { ChosenModel } from '../agent/turn-context.ts';
import { UNIFIED_SESSION } from '../agent/unified.ts';
import type { InboundMessage, Role } from '../bus/messages.ts';
import { howItShows } from '../channels/registry.ts';
import type { Config } from '../config/schema.ts';
import type { Journal } from '../journal/journal.ts';
import { asRole } from '../security/access.ts';
import type { Sessions } from '../session/sessions.ts';
import type { SkillCatalog } from '../skills/catalog.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { skillLayers } from './skills.ts';

export interface PromptParts {
  readonly config: Config;
  readonly workspace: string;
  readonly catalog: Pick<SkillCatalog, 'read' | 'load'>;
}

/** The system prompt for a turn, and what the next request of a session is made of. */
export interface Prompts {
  /** For a turn of this role that answers this message. */
  of(target: InboundMessage, role: Role): Promise<RenderedPrompt>;
  report(sessionKey: string, parts: ReportParts): Promise<PromptReport>;
}

interface ReportParts {
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly registry: ToolRegistry;
  readonly context: ContextWindow;
  readonly resolveModel: (ref: string | null) => ChosenModel;
}

export function createPrompts({ config, workspace, catalog }: PromptParts): Prompts {
  const prompt = new SystemPrompt({ workspace, skills: skillLayers(catalog) });
  const audience = (target: InboundMessage, role: Role): Audience => ({
    ownersDirectChat: role === 'owner' && target.chatType === 'direct',
    shows: target.sessionKey === UNIFIED_SESSION ? null : howItShows(kindOf(config, target.channel)),
  });
  return {
    of: (target, role) => prompt.read(audience(target, role)),
    report: async (sessionKey, { journal, sessions, registry, context, resolveModel }) => {
      const last = journal.turns.last(sessionKey);
      const target = last?.messages.at(-1);
      const role = last === undefined ? 'owner' : asRole(last.role);
      const { layers, texts } =
        target === undefined
          ? await prompt.read({
              ownersDirectChat: role === 'owner',
              shows: howItShows(kindOf(config, channelOf(sessionKey))),
            })
          : await prompt.read(audience(target, role));
      const chosen = resolveModel(journal.settings.model(sessionKey));
      const session = await sessions.open(sessionKey);
      const tools = registry.specs(role);
      return {
        session: sessionKey,
        model: `${chosen.providerName}/${chosen.model}`,
        layers,
        toolCount: tools.length,
        messageCount: session.history().messages.length,
        tokens: await context.report({
          session,
          model: { provider: chosen.providerName, model: chosen.model },
          system: texts,
          tools,
        }),
      };
    },
  };
}

function kindOf(config: Config, channel: string): string {
  return config.channels[channel]?.kind ?? channel;
}

function channelOf(sessionKey: string): string {
  return sessionKey.split(':')[0] ?? sessionKey;
}
