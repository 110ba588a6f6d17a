import { canSpeak } from '../agent/turn/spoken-answer.ts';
import type { App } from '../app.ts';
import type { SkillCatalog } from '../skills/catalog.ts';
import { CASES_FILE } from '../skills/skill.ts';
import { askUserTool } from '../tools/ask-user.ts';
import { API_CHANNEL } from '../bus/api.ts';
import { messageTool } from '../tools/message.ts';
import { PAGE_MARGIN } from '../tools/registry/result.ts';
import { skillTool, type SkillSource } from '../tools/skill.ts';
import { staySilentTool } from '../tools/stay-silent.ts';
import { tapeTool } from '../tools/tape.ts';

/** Adds the tools that reach conversations and people. */
export function registerTools(app: App): void {
  const { clock, bus, channels, journal, media, guard, config, tools: registry } = app;
  const { manager, terminal, isOpen } = channels;
  registry.register(askUserTool());
  registry.register(
    messageTool({
      guard,
      keep: (bytes) => media.keep(bytes),
      obstacle: (channel) => {
        // A program reads the answer to its own message and nothing else.
        if (channel !== API_CHANNEL && (isOpen(channel) || channel === terminal.name)) return null;
        const names = Object.keys(manager.health()).filter((name) => name !== API_CHANNEL);
        return `There is no channel ${JSON.stringify(channel)} here. There are: ${names.join(', ')}.`;
      },
      publish: async (messages) => {
        const isKnown = messages[0] !== undefined && journal.outbox.stateOf(messages[0].id) !== undefined;
        if (!isKnown) await bus.publishOutbound(...messages);
      },
      album: (channel, files) => manager.channel(channel)?.album?.(files) ?? files.map((file) => [file]),
      speaks: (channel) => canSpeak(app, channel),
      clock,
      origins: app.program.origins,
    }),
  );
  registry.register(
    staySilentTool({ isMeant: (turnId) => journal.turns.messages(turnId).some(({ mentioned }) => mentioned) }),
  );
  registry.register(tapeTool(app.tape));
  registry.register(
    skillTool({ skills: withoutCases(app.skills), pageChars: config.agent.toolResultChars - PAGE_MARGIN }),
  );
}

/** The skills as the model sees them. */
function withoutCases(catalog: SkillCatalog): SkillSource {
  return {
    read: () => catalog.read(),
    load: (name) => catalog.load(name),
    files: async (skill, most) => {
      const { paths, more } = await catalog.files(skill, most + 1);
      const others = paths.filter((path) => path !== CASES_FILE);
      return { paths: others.slice(0, most), more: more || others.length > most };
    },
  };
}
