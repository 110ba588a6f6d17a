import { failed, type Finding, sentenceOf } from '../../core/util/finding.ts';
import { OneAtATime } from '../../core/agent/recovery/one-at-a-time.ts';
import type { Environment } from '../../core/config/environment.ts';
import type { HomePaths } from '../../core/config/home.ts';
import type { LoadedConfig } from '../../core/config/load.ts';
import { readVersion } from '../../core/config/version.ts';
import { nameHome, type AssistantInfo, type HomeOnGateway } from '../../core/gateway/assistant-info.ts';
import { startControlServer } from '../../core/gateway/control.ts';
import type { HomesHealth } from '../../core/gateway/http/options.ts';
import { openHomeStore, type HomeStore } from '../homes/home-store.ts';
import { journalMigrations } from '../../core/journal/schema.ts';
import { createLearningRedactor } from '../../core/security/redact/redact.ts';
import { ensureDirectory } from '../../core/storage/files.ts';
import { keepLock } from '../../core/start/keep-lock.ts';
import { LogFile } from '../../core/storage/log-file.ts';
import { classifyFailure } from '../../core/storage/storage-failure.ts';
import type { StorageState } from '../../core/storage/storage-health.ts';
import { readStoreAddress } from '../../core/storage/store-address.ts';
import { backoffMs } from '../../core/util/backoff.ts';
import { sleep, systemClock, type Clock } from '../../core/util/clock.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import { openLog, scrubbed, type Logger } from '../../core/util/log.ts';
import { systemRandom } from '../../core/util/random.ts';
import type { Assistant, AssistantSettings } from '../../core/library/assistant.ts';
import { WAITS } from '../../core/start/standby.ts';
import { orAborted, placeOf } from '../homes/kept-home.ts';
import { ToldPeople } from '../../core/stores/storage-notices.ts';
import type { CreateAssistant } from './home-copy.ts';
import { Homes } from './homes.ts';
import { machinePort } from './machine-port.ts';
import { openCopy } from './open-copy.ts';

export interface MachineParts extends Omit<AssistantSettings, 'home' | 'config' | 'environment'> {
  readonly loaded: LoadedConfig;
  readonly env: Environment;
  readonly paths: HomePaths;
  readonly create: CreateAssistant;
}

const RETRY = { firstMs: 500, maxMs: 3_000 };

/**
 * The gateway of a machine: it runs its share of the homes of the database, each as a whole assistant of this process, and says how
 * they are. Resolves when it has looked for its homes the first time. Throws one sentence when it cannot run.
 */
export async function openMachine(parts: MachineParts): Promise<Assistant> {
  const { paths, loaded, env, clock = systemClock } = parts;
  if (parts.serve !== 'gateway') throw new AppError('name-a-home', nameHome(paths.home, []));
  const signal = parts.signal ?? new AbortController().signal;
  const { redact, learn } = createLearningRedactor(loaded.secrets);
  const file = new LogFile(paths.log);
  const log = scrubbed(parts.log ?? (await openLog(loaded.config.log, { file })), redact);
  const startedAt = clock.now();
  await using stack = new AsyncDisposableStack();
  await ensureDirectory(paths.home);
  stack.use(keepLock({ paths, startedAt, clock, log }, () => parts.onRestart?.()));
  const version = readVersion();
  const running: { homes: Homes | null; http: string | null; trouble: StorageState | null } = {
    homes: null,
    http: null,
    trouble: null,
  };
  const list = (): ReturnType<Homes['list']> => running.homes?.list() ?? [];
  const clean = ({ detail, ...home }: HomeOnGateway): HomeOnGateway => ({
    ...home,
    ...(detail === undefined ? {} : { detail: redact(detail) }),
  });
  const findings = (): readonly Finding[] =>
    [
      ...loaded.findings,
      ...(running.trouble === null ? [] : [waitingFor(running.trouble)]),
      ...(running.homes?.findings ?? []),
    ].map((one) => ({ ...one, says: redact(one.says) }));
  const info = (): AssistantInfo => ({
    version,
    pid: process.pid,
    home: paths.home,
    model: '',
    channels: {},
    findings: findings(),
    warnings: findings().map(sentenceOf),
    homes: list().map(clean),
    startedAt,
    http: running.http,
  });
  const port = machinePort(
    loaded.program,
    async () => ({ ...info(), homes: ((await running.homes?.facts()) ?? []).map(clean) }),
    () => nameHome(paths.home, list()),
  );
  stack.use(
    await startControlServer({
      path: paths.socket,
      version,
      // What runs here is closed and reloaded by its signals alone.
      assistant: port,
      log,
      redact: (line) => redact(line),
    }),
  );
  const { startHttpServer } = await import('../../core/gateway/http/server.ts');
  const { host, port: configured, token, publicUrl } = loaded.config.gateway;
  const server = stack.use(
    await startHttpServer({
      host,
      port: parts.port ?? configured,
      token,
      publicUrl,
      inside: null,
      version,
      channels: () => ({}),
      home: paths.home,
      storage: () => running.trouble ?? running.homes?.storage ?? { state: 'ok', since: startedAt, reason: null },
      homes: () => healthOf(info(), running.homes !== null),
      clock,
      log,
    }),
  );
  running.http = server.address;
  const store = stack.use(
    await storeOf(parts, {
      clock,
      log,
      signal,
      version,
      onTrouble: (trouble) => {
        const before = running.trouble?.reason;
        running.trouble = trouble;
        if (trouble !== null && trouble.reason !== before) parts.onWaiting?.(redact(sentenceOf(waitingFor(trouble))));
      },
    }),
  );
  const settings = {
    ...(parts.log === undefined ? {} : { log: parts.log }),
    ...(parts.boot === undefined ? {} : { boot: parts.boot }),
  };
  const shared = { store, told: new ToldPeople(), suspects: new OneAtATime(clock), learnSecrets: learn, clock, log };
  const copies = { ...shared, machine: paths.home, program: loaded.program, env, settings, create: parts.create };
  const { presence } = store;
  if (presence === undefined) throw new Error('a gateway of many homes is known to the others');
  const homes = stack.use(
    new Homes({
      store,
      presence,
      machine: paths.home,
      open: (lease, options) => openCopy(lease, options, copies),
      clock,
      random: systemRandom,
      log,
    }),
  );
  running.homes = homes;
  await homes.start();
  const owned = stack.move();
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= owned.disposeAsync());
  return {
    ...port,
    log,
    markCrashed: () => homes.markCrashed(),
    // Each home's journal is watched by its own assistant; one that hangs is no reason to end the others.
    alive: async () => {},
    reload: async () => {
      await homes.reload();
      return { changes: [], refused: null };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const waitingFor = ({ reason }: StorageState): Finding => {
  const why = (reason ?? '').replace(/\.$/u, '');
  const says = `The database of the setting store does not answer: ${why}. This gateway waits, and starts its homes by itself when it is back.`;
  return { id: 'database.connects', ...failed(says) };
};

/** Connects, as long as it takes while the database does not answer. */
async function storeOf(
  { loaded, paths }: Pick<MachineParts, 'loaded' | 'paths'>,
  {
    clock,
    log,
    signal,
    version,
    onTrouble,
  }: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly signal: AbortSignal;
    readonly version: string;
    readonly onTrouble: (trouble: StorageState | null) => void;
  },
): Promise<HomeStore> {
  const { store, homes } = loaded.config;
  const url = store ?? '';
  const { leaseMs } = readStoreAddress(url);
  const gateway = { name: placeOf(paths), version, max: homes.max };
  const parts = {
    url,
    leaseMs,
    folder: paths.home,
    home: null,
    gateway,
    migrations: journalMigrations,
    tables: loaded.program.tables,
    clock,
    log,
  };
  const since = clock.now();
  for (let tries = 1; ; tries += 1) {
    try {
      const opened = await orAborted(openHomeStore(parts), { signal, clock });
      onTrouble(null);
      return opened;
    } catch (error) {
      signal.throwIfAborted();
      if (classifyFailure(error) !== 'no-database') throw error;
      const reason = errorMessage(error);
      if (tries === 1) log.error(WAITS, { reason });
      onTrouble({ state: 'no-database', since, reason });
      await sleep(clock, backoffMs(tries, RETRY), signal);
    }
  }
}

function healthOf({ homes = [] }: AssistantInfo, hasLooked: boolean): HomesHealth {
  const counts = { running: 0, starting: 0, failed: 0, leaving: 0, waiting: 0 };
  for (const { state } of homes) counts[state] += 1;
  const failed = homes.flatMap(({ name, state, detail }) =>
    state === 'failed' ? [[name, detail ?? ''] as const] : [],
  );
  return { ready: hasLooked && counts.starting === 0, counts, failed: Object.fromEntries(failed) };
}
