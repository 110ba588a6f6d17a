import type { CommandTable } from './agent/commands/table.ts';
import { HookRunner, type Hooks } from './agent/hooks/hooks.ts';
import { recoverTurns } from './agent/recovery/recovery.ts';
import { unifiedSession } from './agent/joining.ts';
import { createAgent } from './app/agent.ts';
import { configWarnings, type Base, type Ground } from './app/base.ts';
import { createChannels, showTyping } from './app/channels.ts';
import { dropOldAllowances } from './app/old-allowances.ts';
import { createModels, fullName } from './app/models.ts';
import { openPlugins, tellOfHungHooks } from './app/plugins.ts';
import { announceSafeMode, safeConfig, safeModeSentence, whenCalm } from './app/safe-mode.ts';
import { serve } from './app/serve.ts';
import { tellOfStorage } from './app/storage-notices.ts';
import { openStores } from './app/stores.ts';
import { Sweeper } from './app/sweeper.ts';
import { startWhenWritable } from './app/waiting-start.ts';
import { MessageBus, type OutboxPort } from './bus/bus.ts';
import { bootId } from './journal/power-loss.ts';
import type { MenuCommand } from './channels/channel.ts';
import { readEnvironment, resolveHome, type Environment } from './config/environment.ts';
import { ensureHome, homePaths, type HomePaths } from './config/home.ts';
import { loadConfig, type LoadedConfig } from './config/load.ts';
import { readVersion } from './config/version.ts';
import type { AssistantPort, SendInput, SendOptions } from './gateway/assistant-port.ts';
import { streamOf } from './gateway/local-assistant.ts';
import { createRedactor } from './security/redact/redact.ts';
import { probeDisk } from './storage/files.ts';
import { acquireHomeLock } from './storage/lock.ts';
import { StorageHealth } from './storage/storage-health.ts';
import { sleep, systemClock, type Clock } from './util/clock.ts';
import { errorMessage, type AppError } from './util/errors.ts';
import { createIds } from './util/ids.ts';
import { openLog, scrubbed, type Logger } from './util/log.ts';
import { systemRandom } from './util/random.ts';

export { vacuumHome } from './app/vacuum.ts';
export { definePlugin } from './plugins/plugin.ts';

/** Together below the 10 s in which a stop ends. */
const TURN_GRACE_MS = 3_000;
const DELIVERY_GRACE_MS = 1_500;
const RESTART_WAIT_MS = 1_000;

/** Of everybody's commands, and of those for owners. */
function menuOf(table: CommandTable): readonly MenuCommand[] {
  const everybodys = new Set(table.of('guest').map(({ name }) => name));
  return table.of('owner').map(({ name, description }) => ({ name, description, isOwners: !everybodys.has(name) }));
}

/** A plugin's hooks, named after it. */
export interface HookSet {
  readonly owner: string;
  readonly hooks: Hooks;
  /** A guard that throws denies; an ordinary hook that throws is skipped. */
  readonly guard?: boolean;
}

export interface AssistantSettings {
  /** The home folder. @default `ASSISTANT_HOME`, else `~/.assistant` */
  readonly home?: string;
  /** Settings over those of the home's config.json, in its shape. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** What is connected: `gateway` all channels and HTTP, `local` nothing but the control socket. @default 'local' */
  readonly serve?: 'gateway' | 'local';
  /** HTTP port instead of `gateway.port`; 0: one that is free. */
  readonly port?: number;
  readonly hooks?: readonly HookSet[];
  /** @default stderr, as the configuration says */
  readonly log?: Logger;
  /** Ends this assistant and starts another, for /restart; without it the command says that it cannot. */
  readonly onRestart?: () => void;
  /** The disk did not confirm a write: nothing is written any more, so this process has to end. Without it `onRestart` is called. */
  readonly onUnusable?: (error: AppError) => void;
  /** What stands for the environment of the process. */
  readonly environment?: Environment;
  /** @default the machine's */
  readonly clock?: Clock;
  /** Names the run of the machine that this is, so that a power loss is told from a process that died. @default what the kernel says */
  readonly boot?: string | null;
  /** Ends a start that waits for a full or read-only disk; its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** A running assistant. Disposing stops it within 10 s; turns in flight go on at the next start. */
export interface Assistant extends AssistantPort, AsyncDisposable {
  /** An error that nobody caught ends this process: disposing it stops it, but its start counts as one that broke down. */
  brokeDown(): void;
  /** Its log, free of secrets. */
  readonly log: Logger;
  /** Says something in a session and waits for the end of its turn. */
  run(text: string, options?: RunOptions): ReturnType<AssistantPort['send']>;
  /** The same with live events; the generator returns how the turn ended. */
  stream(text: string, options?: RunOptions): ReturnType<typeof streamOf>;
}

export type RunOptions = Partial<Omit<SendInput, 'text'>> & Omit<SendOptions, 'onEvent'>;

/** Starts an assistant in this process. Throws an `AppError` with one sentence when it cannot. */
export async function createAssistant(settings: AssistantSettings = {}): Promise<Assistant> {
  const env = settings.environment ?? readEnvironment();
  const home = resolveHome({ flag: settings.home, env });
  const load = (): Promise<LoadedConfig> => loadConfig({ home, env, overrides: settings.config ?? {} });
  return assemble({ ...settings, loaded: await load(), load, env, paths: homePaths(home, env) });
}

interface Parts extends Omit<AssistantSettings, 'home' | 'config' | 'environment'> {
  readonly loaded: LoadedConfig;
  /** Reads the configuration again. */
  readonly load: () => Promise<LoadedConfig>;
  readonly env: Environment;
  readonly paths: HomePaths;
}

async function assemble(parts: Parts): Promise<Assistant> {
  const { paths, loaded, env, clock = systemClock } = parts;
  const redact = createRedactor(loaded.secrets);
  const log = scrubbed(parts.log ?? (await openLog(loaded.config.log)), redact);
  const startedAt = clock.now();
  const storage = new StorageHealth({ clock, log, startedAt, probe: (bytes) => probeDisk(paths.probe, bytes) });
  const ground: Ground = {
    paths,
    loaded,
    config: loaded.config,
    env,
    redact,
    log,
    clock,
    random: systemRandom,
    newId: createIds(clock, systemRandom),
    version: readVersion(),
    startedAt,
    storage,
    serving: parts.serve === 'gateway',
    rehearse: async () => {
      const next = await parts.load();
      createModels({ config: next.config, loaded: next, clock, random: systemRandom, log });
    },
    boot: parts.boot === undefined ? bootId() : parts.boot,
  };
  await using stack = new AsyncDisposableStack();
  stack.use(storage);
  let hasLock = false;
  const attempt = async (waitedSince: number | null): Promise<Assistant> => {
    await ensureHome(paths);
    if (!hasLock) stack.use(acquireHomeLock(paths.lock, { pid: process.pid, startedAt }));
    hasLock = true;
    if (ground.serving) await probeDisk(paths.probe);
    return await startOnce(parts, ground, waitedSince);
  };
  const assistant = stack.use(
    await startWhenWritable(ground, {
      attempt,
      hasLock: () => hasLock,
      port: parts.port,
      signal: parts.signal ?? new AbortController().signal,
    }),
  );
  const owned = stack.move();
  return Object.assign(assistant, { [Symbol.asyncDispose]: () => owned.disposeAsync() });
}

/** Opens everything; what was opened is closed again when it rejects. The home's lock must be held. */
async function startOnce(parts: Parts, ground: Ground, waitedSince: number | null): Promise<Assistant> {
  const { paths, loaded, clock, log, redact, storage } = ground;
  await using stack = new AsyncDisposableStack();
  const stores = await openStores(ground, stack, (error) => {
    storage.failed(error);
    if (parts.onUnusable === undefined) parts.onRestart?.();
    else parts.onUnusable(error);
  });
  const { journal } = stores;
  // Before a plugin is loaded: one that kills the process at once counts too.
  const safe = journal.starts.isLoop;
  const config = safe ? safeConfig(loaded.config) : loaded.config;
  const plugins = await openPlugins(paths.plugins, config, { clock, safe });
  const base: Base = {
    ...ground,
    config,
    plugins,
    safe,
    warnings: [
      ...(safe ? [safeModeSentence(journal.starts)] : []),
      ...configWarnings(loaded, process.getuid?.()),
      ...plugins.troubles,
    ],
  };
  const hooks = new HookRunner(log, clock);
  for (const { name, hooks: its } of plugins.running) if (its !== undefined) hooks.register(name, its);
  for (const set of parts.hooks ?? []) hooks.register(set.owner, set.hooks, { guard: set.guard ?? false });
  const bus = new MessageBus({
    ...journal,
    outbox: cleanOutbox(journal.outbox, redact),
    newId: base.newId,
    onListenerFailure: (error) =>
      log.warn('live events: a listener failed and gets no more of them', { reason: errorMessage(error) }),
    sessionKey: (draft) => hooks.session(draft) ?? (config.session.unified ? unifiedSession(draft) : undefined),
  });
  stack.defer(() => bus.close());
  tellOfHungHooks(hooks, { ...ground, journal, bus });
  const channels = createChannels(base, { bus, journal });
  stack.use(showTyping(base, channels, bus));
  stack.use(channels.previews);
  const sweeper = stack.use(new Sweeper(base, stores));
  stack.use(
    tellOfStorage({
      storage,
      home: paths.home,
      bus,
      outlets: channels.manager,
      ownersChat: () => journal.questions.ownersChat(),
      waitedSince,
      clock,
      log,
    }),
  );
  const models = createModels(base);
  const { standard } = models;
  const closing = new AbortController();
  const agent = createAgent(base, {
    stores,
    bus,
    channels,
    models,
    hooks,
    closing: closing.signal,
    restart: parts.onRestart,
  });
  const { loop, sandbox, consolidation, mcp, automation } = agent;
  if (sandbox !== null) stack.use(sandbox);
  stack.use(agent.background);
  stack.use(consolidation);
  stack.use(mcp);
  await mcp.open();

  // Start is recovery: what an earlier process left is taken up before any channel opens.
  await dropOldAllowances(base, { journal, bus });
  await agent.background.recover();
  const recovered = await recoverTurns(loop, agent.ports);
  if (recovered > 0) log.info('recovery: turns of an earlier process resumed', { turns: recovered });
  consolidation.start();
  const { questions, registry, requests } = agent;
  const model = fullName(standard);
  const parting = { troubles: agent.troubles, port: parts.port, closing: closing.signal };
  // Ends after the loop: who is attached hears how their turns end, or that they continue at the next start.
  const local = await serve(base, { bus, journal, channels, questions, registry, requests, model, ...parting }, stack);
  stack.defer(() => channels.manager.stop());
  channels.delivery.start();
  stack.defer(() => channels.delivery.drain(DELIVERY_GRACE_MS));
  stack.defer(() => closing.abort(new Error('the process is stopping')));
  const looping = keepRunning(() => loop.run(), base);
  stack.defer(async () => {
    await loop.stop(TURN_GRACE_MS);
    bus.close();
    await looping;
  });

  await channels.manager.start(menuOf(agent.ports.commands));
  if (base.serving) mcp.connectNew();
  stack.use(automation);
  stack.use(agent.heartbeat);
  const scheduled = (safe ? announceSafeMode(base, { journal, bus }) : automation.start()).then(() =>
    agent.heartbeat.start(),
  );
  stack.defer(async () => await scheduled);
  stack.use(whenCalm(base, { journal, running: () => loop.running, restart: parts.onRestart }));
  sweeper.start();
  // The first message should not wait for what can be loaded ahead, nor the start for that.
  setImmediate(() => {
    Promise.all([
      standard.provider.warm?.(),
      agent.warm({ provider: standard.providerName, model: standard.model }),
    ]).catch((error: unknown) =>
      log.warn('what the first message needs could not be loaded ahead', { reason: errorMessage(error) }),
    );
  });
  const owned = stack.move();
  return Object.assign(local, {
    log,
    brokeDown: () => journal.brokeDown(),
    run: (text: string, options: RunOptions = {}) => local.send({ session: 'main', ...options, text }, options),
    stream: (text: string, options: RunOptions = {}) => streamOf(local, { session: 'main', ...options, text }, options),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  });
}

/** A consumer that fails (the disk could not be read) begins again; what it had not finished is still in the journal. */
async function keepRunning(run: () => Promise<void>, { log, clock }: Pick<Base, 'log' | 'clock'>): Promise<void> {
  for (;;) {
    try {
      await run();
      return;
    } catch (error) {
      log.error('agent: loop failed, starting it again', { reason: errorMessage(error) });
      await sleep(clock, RESTART_WAIT_MS);
    }
  }
}

/** The same outbox: what is put into it is free of secrets. */
function cleanOutbox(outbox: OutboxPort, redact: (text: string) => string): OutboxPort {
  return {
    enqueue: (messages) => outbox.enqueue(messages.map((message) => ({ ...message, text: redact(message.text) }))),
    page: (after, limit) => outbox.page(after, limit),
    onQueued: (listener) => outbox.onQueued(listener),
  };
}
