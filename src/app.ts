import { existsSync } from 'node:fs';
import { createAgent } from './app/agent.ts';
import { Further, suspectsOf, type ChannelHost, type RunningAssistants } from './app/agents/hosting.ts';
import type { Base, Ground } from './app/base.ts';
import { openBus, openHooks } from './app/bus.ts';
import { createChannels, showStates, showTyping } from './app/channels.ts';
import { startConsumers, resumeEarlierWork, TURN_GRACE_MS } from './app/consumers.ts';
import type { CreateAssistant, HomeCopy } from './app/homes/home-copy.ts';
import { closable } from './app/library/closable.ts';
import type { Assistant, AssistantSettings } from './app/library/assistant.ts';
import { createRuns } from './app/library/runs.ts';
import { createOpenAiPorts } from './app/requests/openai.ts';
import { createModels, fullName } from './app/agent/models.ts';
import { hookSetsOf, readGiven, requireFree } from './app/extensions/given-plugins.ts';
import { reportHungHooks, type PluggedModels } from './app/extensions/plugins.ts';
import { createReloader } from './app/reload.ts';
import { preload } from './app/start/preload.ts';
import { openBase } from './app/start/open-base.ts';
import { serve } from './app/serve.ts';
import { configuredOwnersChat } from './app/storage/owners-address.ts';
import { forgetBeforeStart, tellForgotten } from './app/storage/forgetting.ts';
import { openKeptHome, requireAlone } from './app/storage/kept-home.ts';
import { keepTapes } from './app/storage/kept-tapes.ts';
import { reportStorageTrouble } from './app/storage/storage-notices.ts';
import { openStores } from './app/storage/stores.ts';
import { Sweeper } from './app/storage/sweeper.ts';
import { startWhenWritable } from './app/start/waiting-start.ts';
import { readRestored } from './backup/restored.ts';
import { bootId } from './util/boot-id.ts';
import type { Journal } from './journal/journal.ts';
import { hostedEnvironment } from './config/agents.ts';
import { readEnvironment, resolveHome, type Environment } from './config/environment.ts';
import { ensureHome, homePaths, type HomePaths } from './config/home.ts';
import { machineProblem } from './config/machine.ts';
import { loadConfig, type LoadedConfig } from './config/load.ts';
import { readVersion } from './config/version.ts';
import type { HttpSlot } from './gateway/operations/ports.ts';
import type { Plugin } from './plugins/plugin.ts';
import { createLearningRedactor } from './security/redact/redact.ts';
import { probeDisk } from './storage/files.ts';
import { lostJournal } from './app/start/lost-journal.ts';
import { keepLock } from './app/start/keep-lock.ts';
import { leaveLastWords, takeLastWords } from './app/start/last-words.ts';
import { LogFile } from './storage/log-file.ts';
import { StorageHealth } from './storage/storage-health.ts';
import { systemClock } from './util/clock.ts';
import type { AppError } from './util/errors.ts';
import { createIds } from './util/ids.ts';
import { openLog, scrubbed, type Logger } from './util/log.ts';
import { systemRandom } from './util/random.ts';
import { watchHome } from './app/storage/home-files.ts';
import { createTryTellOwner } from './app/tell-owner.ts';

export { exportSession } from './app/requests/session-export.ts';
export { listSessions, readSession } from './app/requests/session-log.ts';
export { moveHome } from './app/storage/move-home.ts';
export { vacuumHome } from './app/storage/vacuum.ts';
export type * from './app/library/types.ts';
export { definePlugin, defineProvider } from './plugins/plugin.ts';
export { defineTool } from './tools/tool.ts';
export { AppError } from './util/errors.ts';
export { z } from 'zod';

/**
 * Starts an assistant in this process; a home without a workspace is filled first. Throws an `AppError` with one sentence
 * when it cannot start.
 */
export async function createAssistant(settings: AssistantSettings = {}): Promise<Assistant> {
  return await openAssistant(settings, { host: null, copy: null });
}

/** Gives an assistant what others of its process hold. */
interface Holders {
  /** The main assistant, which gives a further one its channels; null: it connects its own. */
  readonly host: ChannelHost | null;
  /** Its home, which a gateway of many homes opened; null: it is to be opened. */
  readonly copy: HomeCopy | null;
}

async function openAssistant(settings: AssistantSettings, { host, copy }: Holders): Promise<Assistant> {
  const env = settings.environment ?? readEnvironment();
  const home = resolveHome({ flag: settings.home, env });
  const paths = homePaths(home, env);
  const hosted = (): { readonly host?: LoadedConfig } => (host === null ? {} : { host: host.loaded() });
  const load = (): Promise<LoadedConfig> => loadConfig({ home, env, overrides: settings.config ?? {}, ...hosted() });
  const given = await readGiven(settings);
  let loaded = await load();
  if (host === null && copy === null) {
    const problem = machineProblem(loaded, paths);
    if (problem !== null) throw problem;
    const create: CreateAssistant = (home, held) => openAssistant(home, { host: null, copy: held });
    if (loaded.config.homes.enabled)
      return await (await import('./app/homes/machine.ts')).openMachine({ ...settings, loaded, env, paths, create });
  }
  if (!existsSync(paths.workspace)) {
    await (await import('./config/init.ts')).initHome(paths);
    loaded = await load();
  }
  return assemble({ ...settings, given, loaded, load, env, paths, host, copy });
}

interface Parts extends Omit<AssistantSettings, 'home' | 'config' | 'environment'>, Holders {
  readonly loaded: LoadedConfig;
  /** Reads the configuration again. */
  readonly load: () => Promise<LoadedConfig>;
  readonly env: Environment;
  readonly paths: HomePaths;
  readonly given: readonly Plugin[];
}

async function assemble(parts: Parts): Promise<Assistant> {
  const { paths, loaded, env, clock = systemClock } = parts;
  const { redact, learn } = createLearningRedactor(loaded.secrets);
  const learnSecrets = (secrets: readonly string[]): void => {
    learn(secrets);
    parts.copy?.learnSecrets(secrets);
  };
  learnSecrets(loaded.secrets);
  const plain = scrubbed(parts.log ?? (await openHomeLog(parts)), redact);
  const named = parts.copy === null ? plain : plain.with({ home: parts.copy.home.lease.name });
  const log = parts.host === null ? named : named.with({ assistant: parts.host.name });
  const startedAt = clock.now();
  const openedAt = clock.monotonic();
  const stored: Ground['stored'] = { tapes: null };
  const storage = new StorageHealth({
    clock,
    log,
    startedAt,
    journal: paths.state,
    probe: async (bytes) => {
      await probeDisk(paths.probe, bytes);
      await stored.tapes?.probe();
    },
  });
  const plugged: PluggedModels = { providers: {}, running: new Set() };
  const ground: Ground = {
    paths,
    loaded,
    config: loaded.config,
    env: paths.host === null ? env : hostedEnvironment(env),
    redact,
    log,
    clock,
    random: systemRandom,
    newId: createIds(clock, systemRandom),
    version: readVersion(),
    startedAt,
    uptimeMs: () => clock.monotonic() - openedAt,
    storage,
    serving: parts.serve === 'gateway',
    servesHttp: parts.serve === 'gateway' && parts.host === null && (parts.copy === null || setsPort(loaded)),
    host: parts.host,
    further: new Further(),
    suspects: (parts.host ?? parts.copy)?.suspects ?? suspectsOf(loaded, clock),
    plugged,
    stored,
    rehearse: async () => {
      const next = await parts.load();
      if (parts.copy !== null || next.config.store !== null) requireAlone(next.config);
      createModels({ config: next.config, loaded: next, clock, random: systemRandom, log, plugged });
      return next;
    },
    boot: parts.boot === undefined ? bootId() : parts.boot,
  };
  await using stack = new AsyncDisposableStack();
  stack.use(storage);
  let hasLock = parts.copy !== null;
  const grace = { turnsMs: TURN_GRACE_MS };
  const attempt = async (waitedSince: number | null): Promise<Assistant> => {
    await ensureHome(paths);
    if (!hasLock) stack.use(keepLock(ground, (error) => endUnusable(parts, ground, error)));
    hasLock = true;
    if (ground.serving) await probeDisk(paths.probe);
    return await startOnce({ ...parts, learnSecrets, grace }, ground, waitedSince);
  };
  const assistant = stack.use(
    await startWhenWritable(ground, {
      attempt,
      hasLock: () => hasLock,
      waits: parts.copy === null,
      port: parts.port,
      signal: parts.signal ?? new AbortController().signal,
    }),
  );
  return closable(assistant, stack.move(), grace);
}

const setsPort = ({ written }: LoadedConfig): boolean => Object.hasOwn(Object(written['gateway']), 'port');

/** A gateway always logs to the file in its home. */
function openHomeLog({ paths, loaded, serve, logsToFile = false }: Parts): Promise<Logger> {
  const file = logsToFile || serve === 'gateway' ? new LogFile(paths.log) : undefined;
  return openLog(loaded.config.log, { stderr: !logsToFile, file });
}

/** How the further assistants of a main one are made and started. */
function furtherPorts(
  parts: Parts,
  ground: Ground,
  { settings, inbox }: Pick<Base, 'settings'> & Pick<Journal, 'inbox'>,
) {
  const { log, logsToFile = false, env: environment } = parts;
  const { clock, boot } = ground;
  const shared = {
    serve: 'gateway',
    logsToFile,
    clock,
    boot,
    environment,
    ...(log === undefined ? {} : { log }),
  } as const;
  const loaded = (): LoadedConfig => settings.loaded;
  const make = async (): Promise<RunningAssistants> => {
    const { FurtherAssistants } = await import('./app/agents/further.ts');
    return new FurtherAssistants(ground, {
      loaded,
      began: (channel, turnId, chatId) => inbox.began(channel, turnId, chatId),
      create: (host, { home, restart, signal }) =>
        openAssistant({ ...shared, home, onRestart: restart, signal }, { host, copy: null }),
    });
  };
  return { loaded, make };
}

/** This process cannot go on with the home. */
function endUnusable(parts: Parts, { paths, storage }: Ground, error: AppError): void {
  storage.failed(error);
  if (error.code === 'sync-failed') leaveLastWords(paths.home, error.message);
  if (parts.onUnusable === undefined) parts.onRestart?.();
  else parts.onUnusable(error);
}

/** Opens everything and closes it again if it rejects. The home's lock must be held. */
async function startOnce(
  parts: Parts & { readonly learnSecrets: (secrets: readonly string[]) => void; readonly grace: { turnsMs: number } },
  ground: Ground,
  waitedSince: number | null,
): Promise<Assistant> {
  const { paths, clock, log, storage } = ground;
  await using stack = new AsyncDisposableStack();
  const kept = await openKeptHome(ground, stack, parts);
  if (await forgetBeforeStart(ground)) kept?.resend();
  const onSyncFailure = (error: AppError): void => endUnusable(parts, ground, error);
  const stores = await openStores(ground, stack, { onSyncFailure, kept });
  const { journal, damage } = stores;
  const lost = await lostJournal(ground, stores);
  stack.use(await watchHome(ground, { journal, damage }));
  const lastWords = takeLastWords(paths.home);
  if (lastWords !== null) damage.found(`I had to restart: ${lastWords}`);
  const base = await openBase(ground, journal.starts, { ...parts, troubles: lost === null ? [] : [lost] });
  const closing = new AbortController();
  stack.defer(() => closing.abort(new Error('the process is stopping')));
  await keepTapes(base, stores.sessions, {
    own: parts.tapeStore,
    kept,
    closing: closing.signal,
  });
  const hooks = openHooks(base, hookSetsOf(parts));
  const bus = openBus(base, { journal, hooks });
  stack.defer(() => bus.close());
  const tellOwner = createTryTellOwner(ground, { journal, bus, fallback: configuredOwnersChat(ground.config) });
  if (lost !== null) damage.owe('journal-lost', lost);
  if (base.serving) damage.tellBy(tellOwner);
  reportHungHooks(hooks, { ...ground, tellOwner });
  if (base.serving && base.host === null)
    await base.further.prepare(furtherPorts(parts, ground, { settings: base.settings, inbox: journal.inbox }));
  const restoredAt = (await readRestored(paths.home))?.at;
  const channels = createChannels(base, { ...stores, bus, restoredAt, wrapSource: kept?.wrapSource });
  stack.use(showTyping(base, channels, bus));
  stack.use(showStates(base, channels, { bus, journal }));
  stack.use(channels.previews);
  const sweeper = stack.use(new Sweeper(base, stores));
  stack.use(
    reportStorageTrouble({
      storage,
      home: paths.home,
      bus,
      outlets: channels.manager,
      ownersChat: () => journal.questions.ownersChat(),
      configuredChat: () => configuredOwnersChat(base.config),
      others: parts.copy?.told ?? null,
      personAt: ({ channel, chatId, sender }) =>
        `${base.config.channels[channel]?.kind ?? channel} ${sender?.id ?? chatId}`,
      waitedSince,
      clock,
      log,
    }),
  );
  const models = createModels(base, { permit: kept?.permit, keeper: stores.journal.modelFacts });
  const http: HttpSlot = { newLink: null, upload: null, changed: null };
  // Nothing of a browser is loaded where there is none.
  const openBrowser = base.config.tools.browser.enabled ? (await import('./app/tools/browser.ts')).createBrowser : null;
  const agent = createAgent(base, {
    openBrowser,
    stores,
    bus,
    channels,
    models,
    hooks,
    closing: closing.signal,
    restart: parts.onRestart,
    reload: () => reloader.reload(),
    http,
    learnSecrets: parts.learnSecrets,
    wrapTool: kept?.wrapTool ?? parts.wrapTool,
  });
  const { sandbox, consolidation, mcp, registry, catalog } = agent;
  const { learnSecrets, grace, onRestart } = parts;
  const { rehearse: load } = ground;
  const further = (): Promise<void> => base.further.update();
  const keepFiles = kept?.keepFiles;
  const changed = { tellOwner, channels, models, mcp, registry, hooks, catalog };
  const reloader = createReloader(base, { ...changed, load, further, keepFiles, learnSecrets });
  if (sandbox !== null) stack.use(sandbox);
  stack.use(agent.providers);
  stack.use(agent.background);
  if (agent.browser !== null) stack.use(agent.browser);
  stack.use(agent.catalog);
  stack.use(agent.skillNews);
  stack.use(consolidation);
  stack.use(mcp);
  stack.use(agent.editorMcp);
  requireFree(base.plugins.givenClashes);
  await mcp.open();

  await resumeEarlierWork(base, { journal, bus, agent }, stack);
  const { questions, editorFiles, editorMcp, requests } = agent;
  const model = (): string => fullName(models.standard);
  const openai = createOpenAiPorts(base, { bus, stores, closing: closing.signal });
  const parting = {
    openai,
    hooks,
    troubles: agent.troubles,
    turns: agent.runningTurns,
    port: parts.port,
    closing: closing.signal,
  };
  // Ends after the loop, so that attached terminals learn how their turns end, or that they continue at the next start.
  const local = await serve(
    base,
    { bus, stores, http, channels, questions, editorFiles, editorMcp, registry, requests, model, ...parting },
    stack,
  );
  stack.defer(() => channels.manager.stop());
  stack.use(base.further);
  await base.further.open(channels);
  await startConsumers(base, { agent, channels, bus, journal, closing, grace, onRestart }, stack);
  // Stops them while the turns of this one end, and long before their channels are closed.
  stack.defer(() => base.further.stop());
  await tellForgotten(base, bus);
  sweeper.start();
  stack.use(reloader);
  reloader.start();
  // Loaded after the start, so that neither the start nor the first message waits for it.
  setImmediate(() => preload(agent, models.standard, { log, closing: closing.signal }));
  const library = {
    log,
    reload: () => reloader.reload(),
    markCrashed: () => {
      journal.markCrashed();
      base.further.markCrashed();
    },
    alive: () => journal.answers(),
    ...createRuns({ port: local, stores, newId: ground.newId, monotonic: () => clock.monotonic() }),
  };
  return closable(Object.assign(local, library), stack.move(), grace);
}
