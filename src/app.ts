import { sentenceOf } from './core/util/finding.ts';
import { existsSync } from 'node:fs';
import { createAgent } from './core/assistant/agent.ts';
import { Further, suspectsOf, type ChannelHost, type RunningAssistants } from './core/assistant/hosting.ts';
import type { Base, Ground } from './core/assistant/base.ts';
import { openBus, openHooks } from './core/assistant/bus.ts';
import { createChannels } from './core/assistant/channels.ts';
import { startConsumers, resumeEarlierWork, TURN_GRACE_MS } from './core/assistant/consumers.ts';
import type { MoveHome } from './host/homes/move-home.ts';
import type { Moved } from './host/homes/move.ts';
import type { CreateAssistant, HomeCopy } from './host/machine/home-copy.ts';
import { closable } from './core/library/closable.ts';
import type { Assistant, AssistantSettings } from './core/library/assistant.ts';
import { createRuns } from './core/library/runs.ts';
import { createModels } from './core/assistant/models.ts';
import { hookSetsOf, readGiven, requireFree } from './core/plugins/given-plugins.ts';
import { reportHungHooks, type PluggedModels } from './core/plugins/plugins.ts';
import { createReloader } from './core/assistant/reload.ts';
import { preload } from './core/start/preload.ts';
import { openBase } from './core/start/open-base.ts';
import { serve } from './core/assistant/serve.ts';
import { forgetBeforeStart, tellForgotten } from './core/stores/forgetting.ts';
import { keepTapes } from './core/stores/kept-tapes.ts';
import { reportStorageTrouble } from './core/stores/storage-notices.ts';
import { openStores } from './core/stores/stores.ts';
import { Sweeper } from './core/stores/sweeper.ts';
import { startWhenWritable } from './core/start/waiting-start.ts';
import { readRestored } from './backup/restored.ts';
import { ShownStates } from './core/channels/delivery/state-reactions.ts';
import { startTyping } from './core/channels/delivery/typing.ts';
import { bootId } from './core/util/boot-id.ts';
import type { Journal } from './core/journal/journal.ts';
import { hostedEnvironment } from './core/config/agents.ts';
import { readEnvironment, resolveHome, type Environment } from './core/config/environment.ts';
import { ensureHome, homePaths, type HomePaths } from './core/config/home.ts';
import { machineProblem } from './core/config/machine.ts';
import { programOf, type Program } from './core/program.ts';
import { makeApp } from './core/app.ts';
import { EXTENSIONS } from './extensions/index.ts';
import { roleNow } from './core/people/role-now.ts';
import { loadConfig, type LoadedConfig } from './core/config/load.ts';
import { readVersion } from './core/config/version.ts';
import type { HttpSlot } from './core/gateway/operations/ports.ts';
import type { Plugin } from './core/plugins/plugin.ts';
import { createLearningRedactor } from './core/security/redact/redact.ts';
import { probeDisk } from './core/storage/files.ts';
import { Starts } from './core/journal/starts.ts';
import { withPackages } from './core/plugins/packages.ts';
import { lostJournal } from './core/start/lost-journal.ts';
import { keepLock } from './core/start/keep-lock.ts';
import { leaveLastWords, takeLastWords } from './core/start/last-words.ts';
import { LogFile } from './core/storage/log-file.ts';
import { StorageHealth } from './core/storage/storage-health.ts';
import { systemClock } from './core/util/clock.ts';
import type { AppError } from './core/util/errors.ts';
import { createIds } from './core/util/ids.ts';
import { openLog, scrubbed, type Logger } from './core/util/log.ts';
import { systemRandom } from './core/util/random.ts';
import { watchHome } from './core/stores/home-files.ts';
import { Notices } from './core/assistant/notices.ts';

export { exportSession } from './core/session/session-export.ts';
export { listSessions, readSession } from './core/session/session-log.ts';
export { vacuumHome } from './core/stores/vacuum.ts';
export type * from './core/library/types.ts';
/** The built-in extensions. To leave one out: `createAssistant({ extensions: EXTENSIONS.filter(…) })`. */
export { EXTENSIONS } from './extensions/index.ts';
export * from './core/api.ts';
export * from './core/api-files.ts';
export * from './core/api-rows.ts';
export * from './core/api-tables.ts';
export * from './core/api-time.ts';
export { defineProvider } from './core/plugins/plugin.ts';
export { defineTool } from './core/tools/tool.ts';

/** Moves a home into PostgreSQL or out of it. */
export const moveHome = async (move: MoveHome): Promise<Moved> =>
  await (await import('./host/homes/move-home.ts')).moveHome(move);

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
  const { extensions = EXTENSIONS } = settings;
  const program = programOf(extensions);
  const env = settings.environment ?? readEnvironment();
  const home = resolveHome({ flag: settings.home, env });
  const paths = homePaths(home, env);
  const hosted = (): { readonly host?: LoadedConfig } => (host === null ? {} : { host: host.loaded() });
  const load = (of: Program): Promise<LoadedConfig> =>
    loadConfig({ program: of, home, env, overrides: settings.config ?? {}, ...hosted() });
  const given = await readGiven(settings);
  let loaded = await load(program);
  if (host === null && copy === null) {
    const problem = machineProblem(loaded, paths);
    if (problem !== null) throw problem;
    const create: CreateAssistant = (home, held) => openAssistant(home, { host: null, copy: held });
    if (loaded.config.homes.enabled)
      return await (await import('./host/machine/machine.ts')).openMachine({ ...settings, loaded, env, paths, create });
  }
  if (!existsSync(paths.workspace)) {
    await (await import('./core/config/init.ts')).initHome(paths, program);
    loaded = await load(program);
  }
  return assemble({ ...settings, program, given, loaded, load, env, paths, host, copy });
}

interface Parts extends Omit<AssistantSettings, 'home' | 'config' | 'environment' | 'extensions'>, Holders {
  readonly loaded: LoadedConfig;
  /** Reads the configuration again, and checks it by a program. */
  readonly load: (program: Program) => Promise<LoadedConfig>;
  readonly env: Environment;
  readonly paths: HomePaths;
  readonly given: readonly Plugin[];
  /** Without the packages of the home. */
  readonly program: Program;
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
    program: loaded.program,
    paths,
    loaded,
    config: loaded.config,
    env: paths.host === null ? env : hostedEnvironment(parts.program, env),
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
      const next = await parts.load(ground.program);
      if (parts.copy !== null || next.config.store !== null) (await keptHomes()).requireAlone(next.config);
      createModels({ config: next.config, loaded: next, clock, random: systemRandom, log, plugged });
      return next;
    },
    boot: parts.boot === undefined ? bootId() : parts.boot,
  };
  await using stack = new AsyncDisposableStack();
  const end = { isCrash: false };
  let hasLock = parts.copy !== null;
  stack.use(storage);
  const grace = { turnsMs: TURN_GRACE_MS };
  const onLockLost = (error: AppError): void => {
    // The count of starts is the other process's by now.
    end.isCrash = true;
    endUnusable(parts, ground, error);
  };
  const attempt = async (waitedSince: number | null): Promise<Assistant> => {
    await ensureHome(paths);
    if (!hasLock) stack.use(keepLock(ground, onLockLost));
    hasLock = true;
    return await startOnce({ ...parts, learnSecrets, grace, end }, ground, waitedSince);
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
    extensions: parts.program.extensions,
    logsToFile,
    clock,
    boot,
    environment,
    ...(log === undefined ? {} : { log }),
  } as const;
  const loaded = (): LoadedConfig => settings.loaded;
  const make = async (): Promise<RunningAssistants> => {
    const { FurtherAssistants } = await import('./host/agents/further.ts');
    return new FurtherAssistants(ground, {
      loaded,
      began: (channel, turnId, chatId) => inbox.began(channel, turnId, chatId),
      create: (host, { home, restart, signal }) =>
        openAssistant({ ...shared, home, onRestart: restart, signal }, { host, copy: null }),
    });
  };
  return { loaded, make };
}

/** Loads the packages of the home, which is this process's by now, once, and checks the configuration by what they bring. */
async function loadPackages(ground: Ground, { load, learnSecrets }: StartParts): Promise<void> {
  if (ground.program.packages.size > 0) return;
  const program = await withPackages(ground.program, ground, { byName: true });
  if (program === ground.program) return;
  const loaded = await load(program);
  learnSecrets(loaded.secrets);
  const env = ground.paths.host === null ? ground.env : hostedEnvironment(program, ground.env);
  Object.assign(ground, { program: loaded.program, loaded, config: loaded.config, env } satisfies Partial<Ground>);
}

/** This process cannot go on with the home. */
function endUnusable(parts: Parts, { paths, storage }: Ground, error: AppError): void {
  storage.failed(error);
  if (error.code === 'sync-failed') leaveLastWords(paths.home, error.message);
  if (parts.onUnusable === undefined) parts.onRestart?.();
  else parts.onUnusable(error);
}

/** What a home that PostgreSQL keeps needs. */
const keptHomes = () => import('./host/homes/kept-home.ts');

interface StartParts extends Parts {
  readonly learnSecrets: (secrets: readonly string[]) => void;
  readonly grace: { turnsMs: number };
  /** Whether the process ends for an error that nobody caught. */
  readonly end: { isCrash: boolean };
}

/** Opens everything and closes it again if it rejects. The home's lock must be held. */
async function startOnce(parts: StartParts, ground: Ground, waitedSince: number | null): Promise<Assistant> {
  const { paths, log } = ground;
  await using stack = new AsyncDisposableStack();
  const probe = async (): Promise<void> => {
    if (ground.serving) await probeDisk(paths.probe);
  };
  // Nothing is claimed for a disk that takes no writes.
  const isKept = parts.copy !== null || ground.config.store !== null;
  if (isKept) await probe();
  const kept = isKept ? await (await keptHomes()).openKeptHome(ground, stack, parts) : null;
  const starts = await Starts.count(paths.starts, ground.clock);
  let ran = false;
  stack.defer(() => {
    if (!parts.end.isCrash) starts.end({ ran });
  });
  await kept?.keep(paths.starts);
  if (!starts.isLoop && parts.rehearsal !== true) await loadPackages(ground, parts);
  if (ground.program.packages.size > 0) await kept?.bringTables(ground.program.tables);
  // Where that fails, channels of packages may tell the owner.
  if (kept === null) await probe();
  if (await forgetBeforeStart(ground)) kept?.resend();
  const onSyncFailure = (error: AppError): void => endUnusable(parts, ground, error);
  const stores = await openStores(ground, stack, { onSyncFailure, kept, starts });
  const { journal, damage } = stores;
  const lost = await lostJournal(ground, stores);
  stack.use(await watchHome(ground, { journal, damage }));
  const lastWords = takeLastWords(paths.home);
  if (lastWords !== null) damage.found(`I had to restart: ${lastWords}`, 'gateway.starts');
  const base = await openBase(ground, journal.starts, { ...parts, found: lost === null ? [] : [lost] });
  const closing = new AbortController();
  stack.defer(() => closing.abort(new Error('the process is stopping')));
  const { learnSecrets, grace, onRestart } = parts;
  const making = makeApp(base, { closing: closing.signal, roleNow: (by, then) => roleNow(base, stores, by, then) });
  const { app, add } = making;
  const { files: keptFiles, ...others } = stores;
  const http: HttpSlot = { address: null, newLink: null, upload: null, changed: null };
  add({ ...others, keptFiles, http, restart: onRestart, learnSecrets, reload: () => reloader.reload() });
  await keepTapes(app, { own: parts.tapeStore, kept });
  add({ hooks: openHooks(app, hookSetsOf(parts)) });
  add({ bus: openBus(app) });
  const { hooks, bus } = app;
  stack.defer(() => bus.close());
  add({ notices: new Notices(app) });
  if (lost !== null) damage.owe('journal-lost', sentenceOf(lost));
  if (base.serving) damage.tellBy(app.notices);
  reportHungHooks(app);
  if (base.serving && base.host === null)
    await base.further.prepare(furtherPorts(parts, ground, { settings: base.settings, inbox: journal.inbox }));
  const restoredAt = (await readRestored(paths.home))?.at;
  const channels = createChannels(app, { restoredAt, wrapSource: kept?.wrapSource });
  add({ channels });
  stack.use(startTyping(app));
  stack.use(new ShownStates(app));
  stack.use(channels.previews);
  const sweeper = stack.use(new Sweeper(app));
  stack.use(reportStorageTrouble(app, { others: parts.copy?.told ?? null, waitedSince }));
  const models = createModels(base, { permit: kept?.permit, keeper: stores.journal.modelFacts });
  add({ models });
  const agent = createAgent(making, kept?.wrapTool ?? parts.wrapTool);
  const { sandbox, landing, consolidation } = app;
  const reloader = createReloader(app, kept?.keepFiles);
  if (sandbox !== null) stack.use(sandbox);
  stack.use(landing);
  stack.use(app.providerResults);
  stack.use(agent.catalog);
  stack.use(agent.skillNews);
  stack.use(consolidation);
  stack.use(making);
  stack.defer(() => base.plugins.close());
  await base.plugins.open(app);
  base.plugins.registerTools(app.tools);
  hooks.setPlugins([...base.plugins.running, ...base.plugins.missingGuards]);
  requireFree(base.plugins.givenClashes);

  await resumeEarlierWork(app, stack);
  // Ends after the loop, so that attached terminals learn how their turns end, or that they continue at the next start.
  const local = await serve(app, parts.port, stack);
  stack.defer(() => channels.manager.stop());
  stack.use(base.further);
  await base.further.open(channels);
  await startConsumers(app, { closing, grace }, stack);
  // Stops them while the turns of this one end, and long before their channels are closed.
  stack.defer(() => base.further.stop());
  await tellForgotten(app);
  sweeper.start();
  stack.use(reloader);
  reloader.start();
  // Loaded after the start, so that neither the start nor the first message waits for it.
  setImmediate(() => preload(app, agent));
  const library = {
    log,
    reload: () => reloader.reload(),
    markCrashed: () => {
      parts.end.isCrash = true;
      journal.markCrashed();
      base.further.markCrashed();
    },
    alive: () => journal.answers(),
    ...createRuns(app, local),
  };
  ran = true;
  return closable(Object.assign(local, library), stack.move(), grace);
}
