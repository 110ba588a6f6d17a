import { join } from 'node:path';
import { Approvals } from './agent/approvals.ts';
import { SystemPrompt } from './agent/bootstrap.ts';
import type { StatusReport } from './agent/commands/command.ts';
import { HookRunner, type Hooks } from './agent/hooks.ts';
import { createCallBounds } from './agent/call-bounds.ts';
import { AgentLoop, type LoopPorts } from './agent/loop.ts';
import { recoverTurns } from './agent/recovery.ts';
import type { ChosenModel } from './agent/turn-context.ts';
import { createCommands } from './app/commands.ts';
import { createTools } from './app/tools.ts';
import { unifiedSession } from './agent/unified.ts';
import { unusableModel } from './agent/unusable-model.ts';
import { MessageBus } from './bus/bus.ts';
import { Delivery } from './channels/delivery.ts';
import { ChannelManager } from './channels/manager.ts';
import { channelSource } from './channels/registry.ts';
import { TerminalChannel } from './channels/terminal.ts';
import { startTyping } from './channels/typing.ts';
import { enabledChannels } from './config/channels.ts';
import { readEnvironment, resolveHome, type Environment } from './config/environment.ts';
import { ensureHome, homePaths, type HomePaths } from './config/home.ts';
import { loadConfig, type LoadedConfig } from './config/load.ts';
import { readVersion } from './config/version.ts';
import type { AssistantInfo, AssistantPort, SendInput, SendOptions } from './gateway/assistant-port.ts';
import { startControlServer } from './gateway/control.ts';
import { LocalAssistant, streamOf } from './gateway/local-assistant.ts';
import { openJournal } from './journal/journal.ts';
import { createProviders } from './providers/registry.ts';
import { createRedactor } from './security/redact.ts';
import { Sessions } from './session/sessions.ts';
import { acquireHomeLock } from './storage/lock.ts';
import { MediaStore } from './storage/media.ts';
import { SpillStore } from './storage/spill.ts';
import { runToolOnce } from './tools/run-once.ts';
import { sleep, systemClock } from './util/clock.ts';
import { startOfDay } from './util/day.ts';
import { errorMessage } from './util/errors.ts';
import { createIds } from './util/ids.ts';
import { Slots } from './util/slots.ts';
import { openLog, type Logger } from './util/log.ts';
import { systemRandom } from './util/random.ts';

const clock = systemClock;
/** Together below the 10 s in which a stop ends. */
const TURN_GRACE_MS = 3_000;
const DELIVERY_GRACE_MS = 1_500;
const RESTART_WAIT_MS = 1_000;

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
  /** What stands for the environment of the process. */
  readonly environment?: Environment;
}

/** A running assistant. Disposing stops it within 10 s; turns in flight go on at the next start. */
export interface Assistant extends AssistantPort, AsyncDisposable {
  /** Its log, free of secrets. */
  readonly log: Logger;
  /** Says something in a session and waits for the end of its turn. */
  run(text: string, options?: RunOptions): ReturnType<AssistantPort['send']>;
  /** The same with live events; the generator returns how the turn ended. */
  stream(text: string, options?: RunOptions): ReturnType<typeof streamOf>;
}

export type RunOptions = Partial<Omit<SendInput, 'text'>> & Omit<SendOptions, 'onEvent'>;

/** Starts an assistant in this process. Throws an `AppError` with one sentence when it can not. */
export async function createAssistant(settings: AssistantSettings = {}): Promise<Assistant> {
  const env = settings.environment ?? readEnvironment();
  const home = resolveHome({ flag: settings.home, env });
  const loaded = await loadConfig({ home, env, overrides: settings.config ?? {} });
  return assemble({ ...settings, loaded, env, paths: homePaths(home, env) });
}

interface Parts extends Omit<AssistantSettings, 'home' | 'config' | 'environment'> {
  readonly loaded: LoadedConfig;
  readonly env: Environment;
  readonly paths: HomePaths;
}

async function assemble(parts: Parts): Promise<Assistant> {
  const { paths, loaded, env } = parts;
  const { config } = loaded;
  const startedAt = clock.now();
  const redact = createRedactor(loaded.secrets);
  const log = parts.log ?? (await openLog({ ...config.log, scrub: redact }));
  const newId = createIds(clock, systemRandom);
  const serving = parts.serve === 'gateway';
  const version = readVersion();
  await using stack = new AsyncDisposableStack();

  await ensureHome(paths);
  stack.use(acquireHomeLock(paths.lock, { pid: process.pid, startedAt }));
  const backupPath = (from: number): string => join(paths.backups, `state-v${from}-${startedAt}.db`);
  const journal = stack.use(await openJournal({ path: paths.state, backupPath, clock, newId }));
  const media = new MediaStore(paths.media);
  const spill = new SpillStore(paths.spill);
  const sessions = new Sessions({
    directory: paths.sessions,
    quarantine: paths.quarantine,
    clock,
    newId,
    log,
    image: (hash) => media.base64(hash),
  });
  stack.defer(() => sessions.close());
  const hooks = new HookRunner(log);
  for (const set of parts.hooks ?? []) hooks.register(set.owner, set.hooks, { guard: set.guard ?? false });
  const bus = new MessageBus({
    ...journal,
    outbox: journal.outbox,
    newId,
    sessionKey: (draft) => hooks.session(draft) ?? (config.session.unified ? unifiedSession(draft) : undefined),
  });
  stack.defer(() => bus.close());

  const terminal = new TerminalChannel();
  const enabled = serving ? Object.entries(enabledChannels(config)) : [];
  const manager = new ChannelManager(
    [
      { name: terminal.name, kind: terminal.kind, open: async () => terminal },
      ...enabled.map(([name, channel]) => channelSource(name, channel, { random: systemRandom })),
    ],
    { bus, clock, random: systemRandom, log },
  );
  const delivery = new Delivery({ bus, outbox: journal.outbox, outlets: manager, clock, random: systemRandom, log });
  stack.use(startTyping({ bus, outlets: manager, clock }));

  const approvals = new Approvals(clock);
  const providers = createProviders({ configs: config.providers, clock, random: systemRandom, log });
  const resolveModel = (ref: string | null): ChosenModel => {
    try {
      return providers.resolve(ref ?? config.agent.model, config.agent.fallbacks);
    } catch (error) {
      return unusableModel(ref ?? config.agent.model, errorMessage(error));
    }
  };
  const standard = providers.resolve(config.agent.model, config.agent.fallbacks);
  const model = fullName(standard);
  const registry = createTools(config, { paths, env, redact, spill, clock });
  const prompt = new SystemPrompt(paths.workspace);
  const { bounds, context } = createCallBounds(config, {
    askWindow: (ref) => providers.contextWindow(ref),
    ledger: journal.usage,
    bus,
    registry,
    clock,
    log,
  });
  const ports: LoopPorts = {
    bus,
    journal,
    sessions,
    registry,
    media,
    spill,
    hooks,
    approvals,
    slots: new Slots(config.agent.maxConcurrentTurns),
    bounds,
    clock,
    log,
    newId,
    redact,
    settings: { ...config.agent, workspace: paths.workspace },
    resolveModel,
    systemPrompt: () => prompt.read(),
    render: (channel, markdown) => manager.renderParts(channel, markdown) ?? [],
    turnTimeoutMs: config.agent.turnTimeoutMinutes * 60_000,
    whenBusy: config.agent.whenBusy,
    bursts: {
      debounceMs: config.agent.debounceMs,
      groupDebounceMs: (channel) => config.channels[channel]?.groups.debounceMs ?? 0,
    },
    commands: createCommands({
      journal,
      sessions,
      clock,
      timezone: config.agent.timezone,
      models: { standard: model, fullName: (ref) => fullName(providers.resolve(ref)) },
      status: (sessionKey) => report(sessionKey),
    }),
  };
  const loop = new AgentLoop(ports);
  const report = async (sessionKey: string): Promise<StatusReport> => {
    const chosen = resolveModel(journal.settings.model(sessionKey));
    const since = startOfDay(clock.now(), config.agent.timezone);
    return {
      version,
      model: fullName(chosen),
      context: await context.report({
        session: await sessions.open(sessionKey),
        model: { provider: chosen.providerName, model: chosen.model },
        system: await prompt.read(),
        tools: registry.specs('owner'),
      }),
      uptimeMs: clock.now() - startedAt,
      runningTurns: loop.running,
      waitingMessages: journal.inbox.counts()['accepted'] ?? 0,
      waitingReplies: Object.values(journal.outbox.counts()).reduce((sum, count) => sum + count, 0),
      hereToday: journal.usage.day(since).ofSession(sessionKey),
      today: journal.usage.day(since).total,
      channels: manager.health(),
      warnings: loaded.warnings,
    };
  };

  // Start is recovery: what an earlier process left is taken up before any channel opens.
  const recovered = await recoverTurns(loop, ports);
  if (recovered > 0) log.info('turns of an earlier process go on', { turns: recovered });
  stack.defer(() => manager.stop());
  delivery.start();
  stack.defer(() => delivery.drain(DELIVERY_GRACE_MS));
  const looping = keepRunning(() => loop.run(), log);
  stack.defer(async () => {
    await loop.stop(TURN_GRACE_MS);
    bus.close();
    await looping;
  });

  let http: string | null = null;
  const serveHttp = async (): Promise<string> => {
    const { startHttpServer } = await import('./gateway/server.ts');
    const { gatewayToken } = await import('./gateway/token.ts');
    const { host, port, token } = config.gateway;
    await gatewayToken({ configured: token, path: paths.token, random: systemRandom });
    const channels = (): ReturnType<ChannelManager['health']> => manager.health();
    const server = await startHttpServer({ host, port: parts.port ?? port, token, version, channels, clock, log });
    stack.use(server);
    return server.address;
  };
  const local = new LocalAssistant({
    bus,
    clock,
    newId,
    terminal,
    approvals,
    info: (): AssistantInfo => ({
      version,
      pid: process.pid,
      home: paths.home,
      model,
      channels: manager.health(),
      warnings: loaded.warnings,
      startedAt,
      http,
    }),
    tools: {
      tools: () =>
        registry.list().map(({ tool, spec }) => ({ ...spec, effect: tool.effect, role: tool.role ?? 'trusted' })),
      runTool: (call) => runToolOnce(registry, call, { workspace: paths.workspace, newId }),
    },
  });
  stack.use(await startControlServer({ path: paths.socket, version, assistant: local, log }));
  if (serving) http = await serveHttp();
  await manager.start();
  // The first message should not wait for what can be loaded now.
  Promise.all([
    standard.provider.warm?.(),
    bounds.warm({ provider: standard.providerName, model: standard.model }),
  ]).catch((error: unknown) => log.warn('the model could not be loaded ahead', { reason: errorMessage(error) }));
  const owned = stack.move();
  return Object.assign(local, {
    log,
    run: (text: string, options: RunOptions = {}) => local.send({ session: 'main', ...options, text }, options),
    stream: (text: string, options: RunOptions = {}) => streamOf(local, { session: 'main', ...options, text }, options),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  });
}

function fullName({ providerName, model }: { readonly providerName: string; readonly model: string }): string {
  return `${providerName}/${model}`;
}

/** A consumer that fails (the disk could not be read) begins again; what it had not finished is still in the journal. */
async function keepRunning(run: () => Promise<void>, log: Logger): Promise<void> {
  for (;;) {
    try {
      await run();
      return;
    } catch (error) {
      log.error('the agent loop failed and starts again', { reason: errorMessage(error) });
      await sleep(clock, RESTART_WAIT_MS);
    }
  }
}
