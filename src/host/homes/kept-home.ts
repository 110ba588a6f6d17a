import { hostname } from 'node:os';
import { basename } from 'node:path';
import { SendError, type Channel } from '../../core/channels/channel.ts';
import { channelWith } from '../../core/channels/channel-with.ts';
import type { ChannelSource } from '../../core/channels/supervised-channel.ts';
import type { OpenHome } from './open-home.ts';
import { watchEditedFile } from '../../core/config/watch-file.ts';
import type { StoredHome } from './stored-home.ts';
import { journalMigrations } from '../../core/journal/schema.ts';
import { hasParts } from '../../core/storage/open-database.ts';
import type { OpenAppend } from '../../core/storage/append-file.ts';
import { readStoreAddress } from '../../core/storage/store-address.ts';
import type { StorageHealth } from '../../core/storage/storage-health.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { backoffMs } from '../../core/util/backoff.ts';
import { type Clock, deadline, raceAbort, sleep } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import { NotPermitted, type Permit } from '../../core/util/permit.ts';
import type { Ground } from '../../core/assistant/base.ts';
import type { HomeCopy, WriteListeners } from '../machine/home-copy.ts';
import type { AssistantSettings } from '../../core/library/assistant.ts';
import { probeLease, watchLease } from './lease-watch.ts';
import { storeFacts } from './store-facts.ts';

/** A home that PostgreSQL keeps, as the rest of the program needs it. */
export interface KeptHome extends Pick<OpenHome, 'tapes' | 'watermark' | 'resend'> {
  /** Stands for the boot of the machine: another owner of the home may have written what this one never saw. */
  readonly boot: string;
  /** Resolves when PostgreSQL takes writes. */
  readonly probe: () => Promise<void>;
  /** Opens a tape that nothing but PostgreSQL has to make durable. */
  readonly openTape: (open: OpenAppend) => OpenAppend;
  /** A tool that runs only while the home is this gateway's; what it may have changed belongs to its result. */
  readonly wrapTool: (tool: Tool) => Tool;
  /** A channel that is connected and sends only while the home is this gateway's. */
  readonly wrapSource: (source: ChannelSource) => ChannelSource;
  /** Whether the home is this gateway's for certain. */
  readonly permit: Permit;
  /** Resolves when PostgreSQL has this file as it is now; at once in a home that it does not have yet, whose folder alone counts. */
  readonly keep: (path: string) => Promise<void>;
  /** Brings the rows of tables that were not known when the home was opened. To be called before the journal is open. */
  readonly bringTables: (tables: Ground['program']['tables']) => Promise<void>;
  /** Sends all files. Resolves when PostgreSQL has them as they are now, or after 5 s with a sentence: it may not. Never rejects. */
  readonly keepFiles: () => Promise<string | null>;
}

/** All files are looked through this often, for what a person or a background process changed; ms. */
const LOOK_EVERY_MS = 60_000;
/** A person waits for it. */
const KEEP_MS = 5_000;
const NOT_KEPT =
  'The database does not have it yet; until it answers, a gateway that takes the home over has what was there before.';
/** Between two attempts to start while PostgreSQL cannot be reached, ms. */
const AGAIN = { firstMs: 500, maxMs: 3_000 };
/** A start that is stopped ends after so long, ms. */
const ENDING_MS = 6_000;
/** What sends. */
const SENDS = ['send', 'edit', 'draft', 'react', 'typing'];

/**
 * Opens the home in the PostgreSQL of the setting `store`, or takes the one that is open (`copy`); null: there is none. Waits while
 * another gateway runs the home, and in a gateway while PostgreSQL cannot be reached. The stack closes it, after everything that was put there later.
 */
export async function openKeptHome(
  ground: Ground,
  stack: AsyncDisposableStack,
  options: Pick<AssistantSettings, 'port' | 'onWaiting' | 'signal'> & { readonly copy: HomeCopy | null },
): Promise<KeptHome | null> {
  const { config, paths, clock, storage } = ground;
  const { copy } = options;
  if (ground.host !== null || (config.store === null && copy === null)) return null;
  requireAlone(config);
  const { LeasePermit } = await import('./lease-permit.ts');
  copy?.onWrites(writeListeners(storage));
  const { home, store } = copy ?? (await openOwn(ground, stack, options));
  const { lease, files, writer } = home;
  stack.use(watchLease({ lease, storage, clock }));
  ground.stored.facts = () => storeFacts({ home, store, clock });
  stack.use(storage.onWrote((path) => files.touched(path)));
  stack.defer(() => files.touched(''));
  let later: Disposable | undefined;
  const look = (): void => {
    files.touched('');
    writer.look().catch(() => {});
    later = clock.timer(LOOK_EVERY_MS, look);
  };
  later = clock.timer(LOOK_EVERY_MS, look);
  stack.defer(() => later?.[Symbol.dispose]());
  const sendConfig = async (): Promise<void> => {
    files.touched(paths.config);
    await writer.look();
  };
  stack.use(watchEditedFile(paths.config, () => void sendConfig().catch(() => {}), clock));
  const permit = stack.use(new LeasePermit(lease, clock));
  return {
    tapes: home.tapes,
    watermark: home.watermark,
    resend: () => home.resend(),
    probe: () => probeLease(lease),
    boot: `home ${lease.name}, epoch ${lease.epoch}`,
    openTape: (open) => async (path) => ({ ...(await open(path)), datasync: async () => {} }),
    wrapTool: (tool) => ({
      ...tool,
      plan: async (params, context) => {
        const plan = await tool.plan(params, { ...context, permit });
        if ('denied' in plan) return plan;
        return {
          ...plan,
          run: async (signal) => {
            await permit.granted(signal);
            try {
              return await plan.run(AbortSignal.any([signal, permit.ended]));
            } finally {
              if (tool.effect !== 'none') files.touched(paths.workspace);
            }
          },
        };
      },
    }),
    wrapSource: (source) => ({ ...source, permit, open: async () => permitted(permit, await source.open()) }),
    permit,
    keep: async (path) => {
      if (lease.claimed.schema === 0) return;
      files.touched(path);
      await writer.written();
    },
    bringTables: async (tables) => {
      const parts = { postgres: store.postgres, lease, path: paths.state, migrations: journalMigrations, tables };
      const [{ installSchema }, { tablesAfter }, { bringJournal }] = await Promise.all([
        import('./schema.ts'),
        import('./journal-tables.ts'),
        import('./journal-cache.ts'),
      ]);
      await installSchema(store.postgres, tablesAfter(journalMigrations, tables));
      // A copy that has the tables already was brought with them.
      if (!hasParts(paths.state, tables)) await bringJournal({ ...parts, isIntact: false });
    },
    keepFiles: async () => {
      using limit = deadline(clock, KEEP_MS, 'sending what was changed');
      files.touched('');
      return await raceAbort(writer.look(), limit.signal).then(
        () => null,
        () => NOT_KEPT,
      );
    },
  };
}

/** Claims and opens the home that has this folder for itself. */
async function openOwn(
  ground: Ground,
  stack: AsyncDisposableStack,
  { signal = new AbortController().signal, ...settings }: Pick<AssistantSettings, 'port' | 'onWaiting' | 'signal'>,
): Promise<Pick<HomeCopy, 'home' | 'store'>> {
  const { config, paths, clock, log, storage, version } = ground;
  const [{ openHomeStore }, { claimAndOpen }, { Standby }] = await Promise.all([
    import('./home-store.ts'),
    import('./claim-home.ts'),
    import('../../core/start/standby.ts'),
  ]);
  const url = config.store ?? '';
  const { leaseMs } = readStoreAddress(url);
  const name = storedHomeName(paths);
  const gateway = { name: placeOf(paths), version, max: 1 };
  const parts = { folder: paths.home, migrations: journalMigrations, tables: ground.program.tables, clock, log };
  await using standby = new Standby(ground, settings);
  const onWaiting = (found: StoredHome): Promise<void> => standby.waits(found, journalMigrations.length);
  const onUnreachable = (error: AppError): void => standby.unreachable(error);
  const files = { state: paths.state, sessions: paths.sessions, config: 'own' } as const;
  const open = async (): Promise<Pick<HomeCopy, 'home' | 'store'> & AsyncDisposable> => {
    await using opened = new AsyncDisposableStack();
    const store = opened.use(await openHomeStore({ ...parts, url, leaseMs, home: name, gateway }));
    const home = opened.use(
      await claimAndOpen({
        ...parts,
        ...files,
        store,
        name,
        signal,
        onWaiting,
        onUnreachable,
        ...writeListeners(storage),
      }),
    );
    const owned = opened.move();
    return { home, store, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  };
  for (let failures = 1; ; failures += 1) {
    try {
      return stack.use(await orAborted(open(), { signal, clock }));
    } catch (error) {
      signal.throwIfAborted();
      if (!(await standby.isAway(error))) throw error;
    }
    await sleep(clock, backoffMs(failures, AGAIN), signal);
  }
}

const writeListeners = (storage: StorageHealth): WriteListeners => ({
  onTrouble: (error) => void storage.failed(error),
  onHealed: () => storage.recovers(),
});

/**
 * Rejects when the signal aborts. What is about to be open is closed first, so that a home is given back; PostgreSQL that does not answer
 * is not waited for.
 */
export async function orAborted<T extends AsyncDisposable>(
  opening: Promise<T>,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): Promise<T> {
  try {
    return await raceAbort(opening, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const closed = opening.then((late) => late[Symbol.asyncDispose]()).catch(() => {});
    using limit = deadline(clock, ENDING_MS, 'ending a start');
    await raceAbort(closed, limit.signal).catch(() => {});
    throw error;
  }
}

/** How PostgreSQL knows the home in a folder. */
export function storedHomeName({ home }: Pick<Ground['paths'], 'home'>): string {
  return basename(home).replace(/^\./u, '');
}

/** A home's folder as people know it, on any machine. */
export function placeOf({ home }: Pick<Ground['paths'], 'home'>): string {
  return `${home} on ${hostname()}`;
}

/** Throws when a home that PostgreSQL keeps is to have further assistants, whose homes would stay behind at a takeover. */
export function requireAlone({ agents }: Ground['config']): void {
  if (Object.keys(agents).length === 0) return;
  throw new AppError(
    'store-with-agents',
    'Further assistants (agents) cannot be kept in a database yet: their homes would stay behind when another gateway takes this one. Take the setting agents out.',
    { exitCode: 78 },
  );
}

/** The channel, whose sends fail before they begin, as ones that can be repeated, while the home may be another's. */
function permitted(permit: Permit, channel: Channel): Channel {
  const asking = SENDS.map((name) => {
    const send = async (...args: readonly unknown[]): Promise<unknown> => {
      if (!permit.isGranted) throw new SendError('retryable', new NotPermitted().message);
      return await Reflect.apply(Reflect.get(channel, name), channel, args);
    };
    return [name, send];
  });
  return channelWith(channel, Object.fromEntries(asking));
}
