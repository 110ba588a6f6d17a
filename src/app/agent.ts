import { createTurnSkills } from '../agent/prompt/active-skills.ts';
import { tooSmall } from '../agent/context/fit.ts';
import { createCallBounds } from '../agent/context/call-bounds.ts';
import type { PromptReport } from '../agent/commands/context.ts';
import type { HookRunner } from '../agent/hooks/hooks.ts';
import { AgentLoop, type LoopPorts } from '../agent/loop.ts';
import type { Consolidation } from '../agent/consolidation/consolidation.ts';
import { Questions } from '../agent/questions/questions.ts';
import { createSubagentSupervisor } from '../agent/subagents/supervisor.ts';
import { createSessionCommands } from '../agent/commands/session-commands.ts';
import type { MessageBus } from '../bus/bus.ts';
import type { RequestHandlers } from '../gateway/requests.ts';
import type { ModelName } from '../providers/provider.ts';
import { PAGE_MARGIN } from '../tools/registry/builtin.ts';
import type { ToolRegistry } from '../tools/registry/registry.ts';
import type { Sandbox } from '../security/sandbox/sandbox.ts';
import type { BackgroundProcesses } from '../tools/exec/background/background-processes.ts';
import { askUserTool } from '../tools/ask-user.ts';
import { messageTool } from '../tools/message.ts';
import { spawnTool } from '../tools/spawn.ts';
import { skillTool } from '../tools/skill.ts';
import { staySilentTool } from '../tools/stay-silent.ts';
import { memorySearchTool } from '../tools/memory-search.ts';
import { tapeTool, type TapeActions } from '../tools/tape.ts';
import { storageSentence } from '../storage/storage-health.ts';
import { Slots } from '../util/slots.ts';
import { createAttachments } from './attachments.ts';
import { createAutomation, roleNow, type Automation } from './automation.ts';
import { createBackground } from './background.ts';
import type { Base } from './base.ts';
import type { Channels } from './channels.ts';
import { createCommands } from './commands.ts';
import { createHeartbeat, type HeartbeatService } from './heartbeat.ts';
import { createMcp, type Mcp } from './mcp.ts';
import { createMemory } from './memory.ts';
import type { Models } from './models.ts';
import { peopleTroubles } from './owners.ts';
import { createPairing } from './pairing.ts';
import { createPrompts } from './prompt.ts';
import { questionCloser } from './question-closer.ts';
import { questionFiles } from './question-file.ts';
import { createRequests } from './requests.ts';
import { openSkills } from './skills.ts';
import { statusOf } from './status.ts';
import type { Stores } from './stores.ts';
import { createTools } from './tools.ts';

export interface AgentParts {
  readonly stores: Stores;
  readonly bus: MessageBus;
  readonly channels: Channels;
  readonly models: Models;
  readonly hooks: HookRunner;
  /** Aborts when the process ends. */
  readonly closing: AbortSignal;
  /** Undefined where nothing would begin anew. */
  readonly restart: (() => void) | undefined;
}

/** The agent, joined with all it works with. */
export interface Agent {
  readonly loop: AgentLoop;
  readonly ports: LoopPorts;
  readonly questions: Questions;
  readonly registry: ToolRegistry;
  readonly requests: RequestHandlers;
  readonly sandbox: Sandbox | null;
  readonly consolidation: Consolidation;
  readonly mcp: Mcp;
  readonly automation: Automation;
  readonly heartbeat: HeartbeatService;
  /** Commands that run beside the turns. */
  readonly background: BackgroundProcesses;
  /** What the person should know now, beside the warnings of the start, one sentence each. */
  readonly troubles: () => readonly string[];
  /** Loads what the first turn needs. */
  warm(model: ModelName): Promise<unknown>;
}

export function createAgent(base: Base, parts: AgentParts): Agent {
  const { config, paths, clock, random, log, newId, redact } = base;
  const { stores, bus, channels, models } = parts;
  const { journal, sessions, media, spill } = stores;
  const { timezone } = config.agent;
  const { manager } = channels;
  const { terminal } = channels;
  const isOpen = (channel: string): boolean => channel in manager.health() && channel !== terminal.name;
  const questions = new Questions({
    clock,
    random,
    closed: questionCloser({ outbox: journal.outbox, manager, clock, log }),
    redact,
    mask: (text) => redact(text, { knownBy: 'value' }),
    messages: (question) =>
      manager.renderParts(question)?.length ?? (question.text.length > SHORTEST_LIMIT ? Infinity : 1),
    attach: questionFiles({ manager, media, outbox: journal.outbox, clock }),
    ledger: journal.questions,
    allowances: journal.allowances,
    reaches: isOpen,
  });
  const attachments = createAttachments(base, { media, outlets: manager, bus });
  const catalog = openSkills(config, paths, base);
  const background = createBackground(base, { stores });
  const ownerless = (who: string): string | null => pairing.ownerless(who.slice(0, Math.max(0, who.indexOf(':'))));
  const tools = createTools(base, { stores, catalog, background, ownerless });
  const { registry, sandbox } = tools;
  const mcp = createMcp(base, stores, registry);
  const skills = createTurnSkills(catalog, (name) => config.skills.entries[name]?.env ?? {});
  const prompts = createPrompts({
    config,
    workspace: paths.workspace,
    catalog,
    registry,
    redact,
    pairedRoles: (channel) => journal.people.list(channel).map(({ role }) => role),
    plugged: base.plugins.kinds,
  });
  const { bounds, budget, context } = createCallBounds(config, {
    askWindow: models.contextWindow,
    ledger: journal.usage,
    bus,
    clock,
    log,
  });
  const prompt = (sessionKey: string): Promise<PromptReport> =>
    prompts.report(sessionKey, { journal, sessions, context, resolveModel: models.resolve });
  const { consolidation, commands } = createMemory(base, { ...parts, questions, bounds, budget, context });
  const resetSession = consolidation.resetSession.bind(consolidation);
  const actions = createSessionCommands({
    openSession: (sessionKey) => sessions.open(sessionKey),
    resetSession,
    fullness: async (sessionKey) => (await prompt(sessionKey)).tokens,
    clock,
    timezone,
  });
  const tape: TapeActions = {
    ...actions,
    handoff: (request) => actions.handoff({ ...request, summary: redact(request.summary) }),
  };
  registry.register(askUserTool());
  registry.register(
    messageTool({
      guard: tools.guard,
      keep: (bytes) => media.keep(bytes),
      obstacle: (channel) =>
        isOpen(channel) || channel === terminal.name
          ? null
          : `There is no channel ${JSON.stringify(channel)} here. There are: ${Object.keys(manager.health()).join(', ')}.`,
      publish: (message) => bus.publishOutbound(message),
      clock,
    }),
  );
  registry.register(
    staySilentTool({ isMeant: (turnId) => journal.turns.messages(turnId).some(({ mentioned }) => mentioned) }),
  );
  registry.register(tapeTool(tape));
  registry.register(memorySearchTool({ memory: stores.search, results: config.memory.searchResults, timezone }));
  registry.register(skillTool({ skills: catalog, pageChars: config.agent.toolResultChars - PAGE_MARGIN }));
  const automation = createAutomation(base, { stores, bus });
  for (const tool of automation.tools) registry.register(tool);
  const heartbeat = createHeartbeat(base, {
    stores,
    bus,
    models,
    bounds,
    budget,
    channels: () => Object.keys(manager.health()).filter((name) => isOpen(name)),
    zone: automation.zone,
    closing: parts.closing,
  });
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
      stopTurn: (turnId) => loop.stopTurn(turnId),
    });
    registry.register(spawnTool(subagents));
  }
  registerPluginTools(base, registry);
  const pairing = createPairing(base, {
    journal,
    ownersOnly: () => [
      ...registry.list().flatMap(({ tool }) => (tool.role === 'owner' ? [tool.name] : [])),
      ...ports.commands.ownersOnly().map((name) => `/${name}`),
    ],
  });
  let squeezed: string | null = null;
  const troubles = (): readonly string[] => [
    ...[storageSentence(base.storage.state, paths.home)].filter((trouble) => trouble !== null),
    ...peopleTroubles(config, journal.people.list(), base.loaded.path),
    ...parts.hooks.troubles(),
    ...mcp.troubles(),
    ...(squeezed === null ? [] : [squeezed]),
  ];
  /** Says so when hardly anything of a conversation would fit into the owner's requests. */
  const checkSpace = async (): Promise<void> => {
    const { model, tokens } = await prompt(OWN_SESSION);
    squeezed = tooSmall(model, tokens);
    if (squeezed !== null) log.warn(squeezed, { model, window: tokens.window, room: tokens.space });
  };
  const ports: LoopPorts = {
    bus,
    journal,
    storage: base.storage,
    sessions,
    registry,
    media,
    attachments: (message, signal) => attachments.fetch(message, signal),
    spill,
    promptParts: stores.promptParts,
    questions,
    bounds,
    clock,
    log,
    newId,
    redact,
    skills,
    hooks: parts.hooks,
    audit: stores.audit.record,
    consolidation: {
      beforeTurn: (request) => consolidation.beforeTurn(request),
      afterTurn: (request) => {
        consolidation.afterTurn(request);
        stores.search.scheduleSync();
      },
    },
    slots: new Slots(config.agent.maxConcurrentTurns),
    settings: { ...config.agent, workspace: paths.workspace },
    resolveModel: models.resolve,
    systemPrompt: (target, role) => prompts.of(target, role),
    toolsFor: (target, role) => {
      mcp.connectNew();
      return prompts.tools(target, role);
    },
    render: (message) => manager.renderParts(message) ?? [],
    settled: (turnId) => channels.previews.settle(turnId),
    holdBack: (facts, end) =>
      (facts.messages.at(-1)?.origin === 'heartbeat' ? heartbeat : automation).holdBack(facts, end),
    subagents: {
      sessions,
      journal,
      clock,
      newId,
      roleNow: ({ channel, sender, chatType, chatId: chat, role }) =>
        roleNow(base, stores, { channel, id: sender.id, chatType, chat }, role),
      settings: config.agent,
    },
    turnTimeoutMs: config.agent.turnTimeoutMinutes * 60_000,
    whenBusy: config.agent.whenBusy,
    bursts: {
      debounceMs: config.agent.debounceMs,
      groupDebounceMs: (channel) => config.channels[channel]?.groups.debounceMs ?? 0,
    },
    commands: createCommands(base, {
      pairing,
      stores,
      models,
      prompt,
      tools,
      tape,
      resetSession,
      catalog,
      skills,
      questions,
      memory: commands,
      cron: automation.command,
      status: (sessionKey) =>
        statusOf(base, sessionKey, {
          journal,
          manager,
          prompt,
          runningTurns: () => loop.running,
          sandbox,
          troubles,
          heartbeat: heartbeat.state,
        }),
      restart: parts.restart,
    }),
  };
  const loop = new AgentLoop(ports);
  return {
    loop,
    ports,
    questions,
    registry,
    requests: createRequests({
      cron: automation.request,
      prompt,
      memory: stores.memory,
      pairing,
      journal,
      audit: stores.audit,
      mcp,
      plugins: base.plugins,
    }),
    sandbox,
    consolidation,
    mcp,
    automation,
    heartbeat,
    background,
    troubles,
    warm: (model) =>
      Promise.all([
        bounds.warm(model).then(checkSpace),
        catalog.read(),
        sandbox?.probe(),
        stores.promptParts.prune({ tapes: base.paths.sessions, signal: parts.closing }),
      ]),
  };
}

/** Whoever sits at the machine is the owner, who is sent the longest prompt and all tools. */
const OWN_SESSION = 'terminal:main';
/** Characters that a message of any platform holds. */
const SHORTEST_LIMIT = 1_000;

/** A tool that there is already stays what it is. */
function registerPluginTools({ plugins, log }: Base, registry: ToolRegistry): void {
  for (const { name, tools = [] } of plugins.running) {
    for (const tool of tools) {
      if (registry.named(tool.name) === undefined) registry.register(tool);
      else log.warn('plugins: a plugin brings a tool that exists already', { plugin: name, tool: tool.name });
    }
  }
}
