import { join } from 'node:path';
import type { Program } from '../../core/program.ts';
import { hostedEnvironment } from '../../core/config/agents.ts';
import type { Environment } from '../../core/config/environment.ts';
import { homePaths, type HomePaths } from '../../core/config/home.ts';
import { homeOfMachine } from '../../core/config/hosted-home.ts';
import { loadConfig } from '../../core/config/load.ts';
import { watchEditedFile } from '../../core/config/watch-file.ts';
import type { Lease } from '../homes/lease.ts';
import { openHome, type OpenHome } from '../homes/open-home.ts';
import { journalMigrations } from '../../core/journal/schema.ts';
import { ensureDirectory } from '../../core/storage/files.ts';
import { acquireHomeLock } from '../../core/storage/lock.ts';
import { raceAbort, type Clock } from '../../core/util/clock.ts';
import { AppError, errorCode, errorMessage } from '../../core/util/errors.ts';
import { silentLog, type Logger } from '../../core/util/log.ts';
import { systemRandom } from '../../core/util/random.ts';
import { createModels } from '../../core/assistant/models.ts';
import type { CreateOptions } from '../agents/hosted-assistant.ts';
import type { Assistant, AssistantSettings } from '../../core/library/assistant.ts';
import { requireAlone } from '../homes/kept-home.ts';
import type { CreateAssistant, HomeCopy, WriteListeners } from './home-copy.ts';

export interface CopyPorts extends Pick<HomeCopy, 'store' | 'told' | 'suspects' | 'learnSecrets'> {
  /** The folder of the machine. */
  readonly machine: string;
  readonly program: Program;
  readonly env: Environment;
  /** What is the same for all homes of the process. */
  readonly settings: Pick<AssistantSettings, 'log' | 'logsToFile' | 'boot'>;
  readonly create: CreateAssistant;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What a person mends in the file. */
const UNFIT: ReadonlySet<string> = new Set(['config-invalid', 'config-unreadable', 'store-with-agents']);

/**
 * Brings the copy of a home that was claimed, and starts its assistant. Closing that gives the home back; so does a
 * failure. A configuration that cannot run is waited for, because a person mends it here, in the copy.
 */
export async function openCopy(
  lease: Lease,
  { restart, signal, failing }: CreateOptions,
  ports: CopyPorts,
): Promise<Assistant> {
  const { program, store, machine, env, settings, create, told, suspects, learnSecrets, clock, log } = ports;
  await using stack = new AsyncDisposableStack();
  let release: (() => Promise<void>) | null = () => lease.release();
  stack.defer(async () => await release?.().catch(() => {}));
  const { name } = lease;
  if (name === '' || name !== name.replaceAll(/[/\\\0]/gu, '') || /^\.{1,2}$/u.test(name))
    throw new AppError(
      'home-name',
      `A home named ${JSON.stringify(name)} cannot have a folder. Rename it in the database.`,
    );
  const folder = homeOfMachine(machine, name);
  const environment = hostedEnvironment(program, env);
  const paths = homePaths(folder, environment);
  await ensureDirectory(join(folder, '..'));
  await ensureDirectory(folder);
  stack.use(acquireHomeLock(paths.lock, { pid: process.pid, startedAt: clock.now() }));
  let listeners: WriteListeners = {};
  const home = stack.use(
    await openHome({
      store,
      lease,
      folder,
      state: paths.state,
      sessions: paths.sessions,
      config: 'stored',
      migrations: journalMigrations,
      tables: program.tables,
      clock,
      log: log.with({ home: name }),
      onTrouble: (error) => listeners.onTrouble?.(error),
      onHealed: () => listeners.onHealed?.(),
    }),
  );
  release = null;
  await readableConfig(paths, { program, environment, home, clock, failing, signal });
  const assistant = await create(
    {
      ...settings,
      extensions: program.extensions,
      home: folder,
      environment,
      serve: 'gateway',
      clock,
      onRestart: restart,
      signal,
    },
    { home, store, told, suspects, learnSecrets, onWrites: (those) => (listeners = those) },
  );
  const close = assistant.close.bind(assistant);
  const owned = stack.move();
  let closed: Promise<void> | undefined;
  const closeAll: Assistant['close'] = (options) =>
    (closed ??= close(options).finally(async () => await owned.disposeAsync()));
  return Object.assign(assistant, { close: closeAll, [Symbol.asyncDispose]: () => closeAll() });
}

/** Resolves when the configuration can run. What is changed of it until then is sent, so that it can on other machines too. */
async function readableConfig(
  paths: HomePaths,
  {
    program,
    environment,
    home,
    clock,
    failing,
    signal,
  }: Pick<CreateOptions, 'failing' | 'signal'> & {
    readonly program: Program;
    readonly environment: Environment;
    readonly home: OpenHome;
    readonly clock: Clock;
  },
): Promise<void> {
  const until = AbortSignal.any([signal, home.lease.lost]);
  for (;;) {
    const changed = Promise.withResolvers<void>();
    using _watching = watchEditedFile(paths.config, () => changed.resolve(), clock);
    try {
      const loaded = await loadConfig({ program, home: paths.home, env: environment });
      const { config } = loaded;
      requireAlone(config);
      createModels({ config, loaded, clock, random: systemRandom, log: silentLog });
      return;
    } catch (error) {
      if (!UNFIT.has(errorCode(error) ?? '')) throw error;
      failing(errorMessage(error));
    }
    await raceAbort(changed.promise, until);
    home.files.touched(paths.config);
    home.writer.written().catch(() => {});
  }
}
