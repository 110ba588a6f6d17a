import { createTurnSkills } from '../agent/prompt/active-skills.ts';
import { tooSmall } from '../agent/context/fit.ts';
import { createCallBounds } from '../agent/context/call-bounds.ts';
import type { PromptReport } from '../agent/commands/context.ts';
import type { HookRunner } from '../agent/hooks/hooks.ts';
import { AgentLoop, type LoopPorts } from '../agent/loop.ts';
import type { Consolidation } from '../agent/consolidation/consolidation.ts';
import type { Questions } from '../agent/questions/questions.ts';
import { TurnRunner } from '../agent/turn/runner.ts';
import { createSessionCommands } from '../agent/commands/session-commands.ts';
import type { Undo } from '../agent/undo/undo.ts';
import type { MessageBus } from '../bus/bus.ts';
import type { HealthFacts } from '../gateway/operations/health.ts';
import type { HttpSlot } from '../gateway/operations/ports.ts';
import type { ModelName } from '../providers/provider.ts';
import type { ToolRegistry } from '../tools/registry/registry.ts';
import type { Sandbox } from '../security/sandbox/sandbox.ts';
import { EditorFiles } from '../tools/files/editor-files.ts';
import type { BackgroundProcesses } from '../tools/exec/background/background-processes.ts';
import type { TapeActions } from '../tools/tape.ts';
import type { Tool } from '../tools/tool.ts';
import type { SkillCatalog } from '../skills/catalog.ts';
import { storageSentence } from '../storage/storage-health.ts';
import { createAutomation, type Automation } from './automation/automation.ts';
import { createBackground } from './tools/background.ts';
import type { BrowserPart, OpenBrowser } from './tools/browser.ts';
import type { Base } from './base.ts';
import type { Channels } from './channels.ts';
import { Why } from './agent/why.ts';
import { createCommands } from './agent/commands.ts';
import { createHeartbeat, type HeartbeatService } from './automation/heartbeat.ts';
import { createEditorMcp, type EditorMcp } from './tools/editor-servers.ts';
import { createMcp, type Mcp } from './tools/mcp.ts';
import { createMemory } from './agent/memory.ts';
import type { Models } from './agent/models.ts';
import { peopleTroubles } from './people/owners.ts';
import { ProviderResults } from './agent/provider-results.ts';
import { createPrompts, type Prompts, type PromptsOptions } from './agent/prompt.ts';
import { createQuestions } from './people/questions.ts';
import { registerTools } from './tools/register-tools.ts';
import type { Reloader } from './reload.ts';
import { createRequests, type AgentRequests } from './requests/requests.ts';
import { skillRequests } from './requests/skill-requests.ts';
import { createSpeaker, speechPorts } from './agent/speech.ts';
import { openSkills } from './extensions/skills.ts';
import { createSkillNews } from './extensions/skill-news.ts';
import { healthOf } from './health.ts';
import { statusOf } from './status.ts';
import type { Stores } from './storage/stores.ts';
import { createTools } from './tools/tools.ts';
import { createTurnPorts } from './agent/turns.ts';
import { createUndo } from './agent/undo.ts';

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
  /** Takes up what has changed in the configuration. */
  readonly reload: Reloader['reload'];
  readonly http: HttpSlot;
  readonly learnSecrets: (secrets: readonly string[]) => void;
  /** Each tool as it is registered, for a trial. */
  readonly wrapTool: ((tool: Tool) => Tool) | undefined;
  /** Null: the tool `browser` is not enabled. */
  readonly openBrowser: OpenBrowser | null;
}

/** The agent, joined with all it works with. */
export interface Agent {
  readonly loop: AgentLoop;
  readonly ports: LoopPorts;
  readonly runningTurns: () => number;
  readonly questions: Questions;
  readonly editorFiles: EditorFiles;
  readonly editorMcp: EditorMcp;
  readonly registry: ToolRegistry;
  readonly requests: AgentRequests;
  readonly sandbox: Sandbox | null;
  readonly providers: ProviderResults;
  readonly consolidation: Consolidation;
  readonly mcp: Mcp;
  readonly automation: Automation;
  readonly heartbeat: HeartbeatService;
  /** Commands that run beside the turns. */
  readonly background: BackgroundProcesses;
  readonly browser: BrowserPart | null;
  readonly undo: Undo;
  /** Closing it ends the watches of the folders of skills. */
  readonly catalog: Disposable & Pick<SkillCatalog, 'rootsChanged'>;
  readonly skillNews: Disposable;
  /** What the person should know now, beside the warnings of the start, one sentence each. */
  readonly troubles: () => readonly string[];
  /** Loads what the first turn needs. */
  warm(model: ModelName): Promise<unknown>;
}

/** Creates the agent; each part after the parts that it uses. */
export function createAgent(base: Base, parts: AgentParts): Agent {
  const { config, paths, clock, log, redact } = base;
  const { stores, bus, channels, models } = parts;
  const { journal, sessions } = stores;
  const questions = createQuestions(base, stores, channels);
  const catalog = openSkills(config, paths, base);
  const background = createBackground(base, { stores });
  const tools = createTools(base, { ...parts, catalog, background });
  const { registry, sandbox, browser } = tools;
  const mcp = createMcp(base, stores, registry);
  const editorFiles = new EditorFiles(clock);
  const editorMcp = createEditorMcp(base, { ...stores, learnSecrets: parts.learnSecrets }, registry);
  const skills = createTurnSkills(catalog, (name) => config.skills.entries[name]?.env ?? {});
  const speech = speechPorts(base, channels.manager);
  const skillNews = createSkillNews(base, { journal, bus, catalog });
  const prompts = openPrompts(base, { stores, catalog, skillNews, registry, speech });
  const { bounds, budget, context } = createCallBounds(config, {
    askWindow: models.contextWindow,
    learned: models.learned,
    ledger: journal.usage,
    ownersChat: () => journal.questions.ownersChat(),
    bus,
    clock,
    log,
  });
  channels.speech.use(createSpeaker(base, { stores, budget }));
  const prompt = (sessionKey: string): Promise<PromptReport> =>
    prompts.report(sessionKey, { journal, sessions, context, resolveModel: models.resolve });
  const memory = createMemory(base, { ...parts, questions, bounds, budget, context });
  const { consolidation } = memory;
  const resetSession: Consolidation['resetSession'] = async (sessionKey, reason, how) => {
    await consolidation.resetSession(sessionKey, reason, how);
    // What a running turn read stays in its conversation, and so do its pages.
    if (how?.during === null || how?.during === undefined) await browser?.forget(sessionKey);
  };
  const tape = createTape(base, { stores, resetSession, prompt });
  const automation = createAutomation(base, { ...parts, stopTurn: (turnId) => void runner.stop(turnId) });
  const heartbeat = createHeartbeat(base, {
    ...parts,
    bounds,
    budget,
    channels: () => Object.keys(channels.manager.health()).filter((name) => channels.isOpen(name)),
    zone: automation.zone,
  });
  const ports = createTurnPorts(base, {
    ...parts,
    consolidation: memory.aroundTurns,
    prompts,
    mcp,
    registry,
    skills,
    bounds,
    questions,
    editorFiles,
    speech,
    automation,
    heartbeat,
  });
  // A turn ends with the settings and the code of plugins that it began with.
  const runner = new TurnRunner(ports, (work) =>
    base.settings.hold(() => parts.hooks.hold(() => registry.hold(() => models.hold(work)))),
  );
  const runningTurns = (): number => runner.running.length;
  registerTools(base, { ...parts, tools, catalog, tape, speech, automation, runner });
  const { troubles, checkSpace } = createTroubles(base, { ...parts, mcp, prompt });
  const providers = new ProviderResults({
    bus,
    clock,
    redact,
    names: () => [models.standard.providerName, ...Object.keys(config.providers)],
  });
  const health = (): Promise<HealthFacts> =>
    healthOf(base, { journal, manager: channels.manager, runningTurns, sandbox, browser, troubles, providers });
  const undo = createUndo(base, { stores, tools, automation });
  const why = new Why({
    journal,
    folder: base.paths.sessions,
    promptParts: stores.promptParts,
    channels: () => channels.manager.health(),
    waitsFor: (session, turn) =>
      turn === null ? loop.waitsFor(session) : ports.limits.slots.isWaiting(turn) ? 'place' : null,
    upSince: base.startedAt,
    redact: base.redact,
    clock: base.clock,
  });
  const skillOperations = skillRequests(base, { catalog, reload: parts.reload, http: parts.http });
  const { table, pairing } = createCommands(base, {
    ...parts,
    skillRequests: skillOperations,
    undo,
    why,
    prompt,
    tools,
    tape,
    resetSession,
    catalog,
    skills,
    questions,
    editorFiles,
    memory: memory.commands,
    cron: automation.command,
    status: (sessionKey) =>
      statusOf(base, sessionKey, {
        journal,
        manager: channels.manager,
        health,
        prompt,
        heartbeat: heartbeat.state,
        meaning: () => stores.search.meaning,
      }),
  });
  const loopPorts = { ...ports, runner, commands: { table, audit: stores.audit.record } };
  const loop = new AgentLoop(loopPorts);
  return {
    loop,
    ports: loopPorts,
    runningTurns,
    questions,
    editorFiles,
    editorMcp,
    registry,
    requests: createRequests(base, {
      ...stores,
      restart: parts.restart,
      cron: automation.request,
      commands: () => table.of('owner'),
      prompt,
      pairing,
      mcp,
      editorMcp,
      skillRequests: skillOperations,
      budget,
      undo,
      why,
      heartbeat: heartbeat.state,
      zone: automation.zone,
      models,
      health,
      http: parts.http,
      plugins: base.plugins,
      reload: parts.reload,
      forgetBrowser: async (sessionKey) => await browser?.forget(sessionKey),
    }),
    sandbox,
    providers,
    consolidation,
    mcp,
    automation,
    heartbeat,
    background,
    browser,
    undo,
    troubles,
    catalog,
    skillNews,
    warm: (model) => Promise.all([bounds.warm(model).then(checkSpace), catalog.read(), sandbox?.probe()]),
  };
}

function openPrompts(
  { config, paths, redact, plugins }: Base,
  {
    stores,
    ...parts
  }: { readonly stores: Stores } & Pick<PromptsOptions, 'catalog' | 'skillNews' | 'registry' | 'speech'>,
): Prompts {
  return createPrompts({
    config,
    workspace: paths.workspace,
    ...parts,
    redact,
    pairedRoles: (channel) => stores.journal.people.list(channel).map(({ role }) => role),
    plugged: () => plugins.kinds,
  });
}

/** The person at the machine is the owner, who gets the longest prompt and all tools. */
const OWN_SESSION = 'terminal:main';

/** What /tape and the tool of that name do; a summary is kept without secrets. */
function createTape(
  { clock, config, redact }: Base,
  {
    stores,
    resetSession,
    prompt,
  }: {
    readonly stores: Pick<Stores, 'sessions'>;
    readonly resetSession: Consolidation['resetSession'];
    readonly prompt: (sessionKey: string) => Promise<PromptReport>;
  },
): TapeActions {
  const actions = createSessionCommands({
    openSession: (sessionKey) => stores.sessions.open(sessionKey),
    resetSession,
    fullness: async (sessionKey) => (await prompt(sessionKey)).tokens,
    clock,
    timezone: config.agent.timezone,
  });
  return { ...actions, handoff: (request) => actions.handoff({ ...request, summary: redact(request.summary) }) };
}

/**
 * What the person should know now, and the look at whether hardly anything of a conversation fits into the owner's
 * requests.
 */
function createTroubles(
  { config, paths, storage, loaded, log }: Base,
  {
    stores,
    hooks,
    mcp,
    prompt,
  }: Pick<AgentParts, 'stores' | 'hooks'> & {
    readonly mcp: Mcp;
    readonly prompt: (sessionKey: string) => Promise<PromptReport>;
  },
): { readonly troubles: Agent['troubles']; readonly checkSpace: () => Promise<void> } {
  let squeezed: string | null = null;
  return {
    troubles: () => [
      ...[storageSentence(storage.state, paths.home)].filter((trouble) => trouble !== null),
      ...peopleTroubles(config, stores.journal.people.list(), loaded.path),
      ...stores.sessions.troubles(),
      ...stores.damage.all,
      ...hooks.troubles(),
      ...mcp.troubles(),
      ...(squeezed === null ? [] : [squeezed]),
    ],
    checkSpace: async () => {
      const { model, tokens } = await prompt(OWN_SESSION);
      squeezed = tooSmall(model, tokens);
      if (squeezed !== null) log.warn(squeezed, { model, window: tokens.window, space: tokens.space });
    },
  };
}
