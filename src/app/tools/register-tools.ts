import { createSubagentSupervisor } from '../../agent/subagents/supervisor.ts';
import type { SpeechPorts } from '../../agent/ports.ts';
import type { TurnRunner } from '../../agent/turn/runner.ts';
import type { MessageBus } from '../../bus/bus.ts';
import type { SkillCatalog } from '../../skills/catalog.ts';
import { CASES_FILE } from '../../skills/skill.ts';
import { searchByQuestion } from '../../memory/time/search-by-question.ts';
import { askUserTool } from '../../tools/ask-user.ts';
import { memorySearchTool, type MemorySearcher } from '../../tools/memory-search.ts';
import { knownOf } from '../../memory/facts/hits.ts';
import { recordKey } from '../../memory/files/facts.ts';
import { API_CHANNEL } from '../../bus/api.ts';
import { messageTool } from '../../tools/message.ts';
import { PAGE_MARGIN } from '../../tools/registry/builtin.ts';
import { skillTool, type SkillSource } from '../../tools/skill.ts';
import { spawnTool } from '../../tools/spawn.ts';
import { staySilentTool } from '../../tools/stay-silent.ts';
import { tapeTool, type TapeActions } from '../../tools/tape.ts';
import type { Automation } from '../automation/automation.ts';
import type { Base } from '../base.ts';
import type { Channels } from '../channels.ts';
import type { Models } from '../agent/models.ts';
import type { Stores } from '../storage/stores.ts';
import type { Tools } from './tools.ts';

export interface RegisterParts {
  readonly stores: Stores;
  readonly bus: MessageBus;
  readonly channels: Channels;
  readonly models: Pick<Models, 'fullName'>;
  readonly tools: Pick<Tools, 'registry' | 'guard'>;
  readonly catalog: SkillCatalog;
  readonly tape: TapeActions;
  readonly automation: Pick<Automation, 'tools'>;
  readonly speech: SpeechPorts;
  readonly runner: Pick<TurnRunner, 'stop'>;
}

/** Adds the tools that reach conversations, people, memory and the schedule, then those of plugins. */
export function registerTools(base: Base, parts: RegisterParts): void {
  const { config, clock, newId } = base;
  const { stores, bus, channels, models, tools, tape, catalog, speech, automation, runner } = parts;
  const { journal, sessions, media } = stores;
  const { registry, guard } = tools;
  const { timezone } = config.agent;
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
      speaks: speech.isOffered,
      clock,
    }),
  );
  registry.register(
    staySilentTool({ isMeant: (turnId) => journal.turns.messages(turnId).some(({ mentioned }) => mentioned) }),
  );
  registry.register(tapeTool(tape));
  registry.register(
    memorySearchTool({
      memory: knowingSearch(stores, { timezone, now: () => clock.now() }),
      results: config.memory.searchResults,
      timezone,
    }),
  );
  registry.register(
    skillTool({ skills: withoutCases(catalog), pageChars: config.agent.toolResultChars - PAGE_MARGIN }),
  );
  for (const tool of automation.tools) registry.register(tool);
  if (config.agent.maxSubagents > 0) {
    const subagents = createSubagentSupervisor({
      ...journal,
      sessions,
      bus,
      clock,
      newId,
      most: config.agent.maxSubagents,
      maxIterations: config.agent.maxIterations,
      checkModel: (ref) => void models.fullName(ref),
      stopTurn: (turnId) => void runner.stop(turnId),
    });
    registry.register(spawnTool(subagents));
  }
  base.plugins.registerTools(registry);
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

/** Searches, and says of what is found in the memory where it comes from. */
function knowingSearch(
  { search, memory }: Pick<Stores, 'search' | 'memory'>,
  { timezone, now }: { readonly timezone: string | null; readonly now: () => number },
): MemorySearcher {
  return {
    search: async (query) => {
      const { hits, time } = await searchByQuestion(search, query, { now: now(), timezone });
      if (hits.every(({ source }) => source === 'session')) return { hits, time };
      const facts = await memory.facts().catch(() => []);
      const holding = new Map(facts.map(({ fact, record }) => [recordKey(fact), record]));
      const knowing = hits.map((hit) => {
        const known = knownOf(hit, holding, timezone);
        return known === undefined ? hit : { ...hit, known };
      });
      return { hits: knowing, time };
    },
  };
}
