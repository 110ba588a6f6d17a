import { isOn } from '../program.ts';
import { contributionsOf } from '../plugins/contributions.ts';
import { ChannelManager } from '../channels/manager.ts';
import { channelSource } from '../channels/registry.ts';
import { enabledChannels } from '../config/channels.ts';
import { ownersChatOnDisk } from '../journal/people.ts';
import { deniedSentence, mayBeDenied } from '../storage/denied.ts';
import { probeDisk } from '../storage/files.ts';
import { classifyFailure, isStorageTrouble } from '../storage/storage-failure.ts';
import { storagePlace, storageSentence, type StorageState } from '../storage/storage-health.ts';
import { backoffMs } from '../util/backoff.ts';
import { sleep } from '../util/clock.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import type { ChatAddress } from '../tools/tool.ts';
import type { Ground } from '../assistant/base.ts';
import { configuredOwnersChat } from '../stores/owners-address.ts';
import { sendDirectly } from '../stores/storage-notices.ts';
import { openWhileWaiting } from './while-waiting.ts';

const RETRY = { firstMs: 250, maxMs: 30_000 };

export interface WaitingStart<T> {
  /**
   * One try; leaves nothing behind when it rejects. `waitedSince`: the disk was waited for, milliseconds since 1970.
   */
  readonly attempt: (waitedSince: number | null) => Promise<T>;
  /** This process owns the home, so its control socket may be served. */
  readonly hasLock: () => boolean;
  /** Waits for its disk; otherwise whoever starts it tries again. */
  readonly waits: boolean;
  /** HTTP port instead of the configured one. */
  readonly port: number | undefined;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/**
 * Starts, and in a gateway waits for a disk that is full or read-only as long as that takes: meanwhile /health, the
 * control socket and the log say so, and the owner is told once. Elsewhere such a disk is one clear sentence.
 */
export async function startWhenWritable<T>(base: Ground, waiting: WaitingStart<T>): Promise<T> {
  const { storage, clock, log, paths, serving } = base;
  let since: number | null = null;
  for (let tries = 1; ; tries += 1) {
    try {
      return await waiting.attempt(since);
    } catch (error) {
      waiting.signal.throwIfAborted();
      const trouble = await diskTroubleOf(error, base);
      if (trouble === undefined || !waiting.waits) throw error;
      storage.failed(trouble);
      if (!serving) throw unwritable(error, base);
      const isFirst = since === null;
      since ??= storage.state.since;
      if (isFirst) log.error('start: waits until the home can be written', { home: paths.home });
      // The owner hears of a database that is away from the gateway that runs the home, which this one does not.
      const tells = isFirst && storage.state.state !== 'no-database';
      await using _open = await openUntilWritable(base, { ...waiting, tells });
      await sleep(clock, backoffMs(tries, RETRY), waiting.signal);
      await storage.healed(waiting.signal);
    }
  }
}

/** The disk's part in a failed start, also where SQLite only says that it failed; undefined: it has none. */
async function diskTroubleOf(error: unknown, { paths }: Ground): Promise<unknown> {
  // Files of another user do not pass by waiting.
  if (mayBeDenied(error) && deniedSentence(paths.home) !== null) return undefined;
  const kind = classifyFailure(error);
  if (kind === 'full' || kind === 'read-only' || kind === 'unreachable' || kind === 'no-database') return error;
  // A damaged journal does not pass by waiting either.
  if (!isStorageTrouble(kind) || kind === 'damaged') return undefined;
  try {
    await probeDisk(paths.probe);
    return undefined;
  } catch (found) {
    return mayBeDenied(found) && deniedSentence(paths.home) !== null ? undefined : found;
  }
}

function unwritable(cause: unknown, { storage, paths }: Ground): unknown {
  if (cause instanceof AppError && cause.code === 'home-unusable') return cause;
  const sentence = storageSentence(storage.state, paths.home);
  return sentence === null ? cause : new AppError('storage-unwritable', sentence, { cause });
}

/** Serves /health and the control socket, and tells the owner where `tells`, until it is tried again. */
async function openUntilWritable<T>(
  base: Ground,
  { port, hasLock, tells }: WaitingStart<T> & { readonly tells: boolean },
): Promise<AsyncDisposable> {
  const { storage, paths } = base;
  await using stack = new AsyncDisposableStack();
  const sentence = (): string => {
    const what = storageSentence(storage.state, paths.home) ?? `The disk of ${paths.home} can be written again.`;
    return `${what} The assistant continues its start by itself as soon as ${storagePlace(storage.state)} can be written.`;
  };
  const code = 'storage-unwritable';
  const isStandby = (): boolean => false;
  const state = (): StorageState => storage.state;
  stack.use(
    await openWhileWaiting(base, { what: 'the disk', code, sentence, isStandby, storage: state, hasLock, port }),
  );
  if (tells) stack.use(tellOwner(base));
  return stack.move();
}

/**
 * Connects the owner's channel, sends the notice once, and disconnects. No message is accepted meanwhile, so messages
 * that arrive stay unacknowledged with the platform.
 */
function tellOwner(base: Ground): AsyncDisposable {
  const { paths, storage, clock, random, log } = base;
  const chat = ownersAddress(base);
  const settings = chat === undefined ? undefined : enabledChannels(base.loaded)[chat.channel];
  const sentence = storageSentence(storage.state, paths.home);
  if (chat === undefined || settings === undefined || sentence === null)
    return { [Symbol.asyncDispose]: async () => {} };
  const ended = new AbortController();
  const nothing = new Promise<never>((_, reject) => {
    ended.signal.addEventListener('abort', () => reject(ended.signal.reason), { once: true });
  });
  nothing.catch(() => {});
  const { config, program } = base.loaded;
  const on = program.extensions.filter((one) => isOn(one, config));
  const { kinds } = contributionsOf(on, { presets: program.presets, peopleOf: () => undefined });
  const manager = new ChannelManager([channelSource(chat.channel, settings, kinds)], {
    bus: { publishRead: () => nothing },
    cursorsOf: () => new Map(),
    people: { pairedRole: () => 'trusted', pairedOwners: () => [], requestPairing: () => nothing },
    storage,
    keep: () => nothing,
    tellOwner: async () => {},
    clock,
    random,
    log,
  });
  const text = `⚠ ${sentence} I cannot start before that. Your messages stay with the chat platform and are answered as soon as ${storagePlace(storage.state)} can be written.`;
  const say = async (): Promise<void> => {
    const notice = { chat, id: `storage:${storage.state.since}`, text };
    const reachable = Promise.withResolvers<void>();
    using _listening = manager.onReachable(() => reachable.resolve());
    await Promise.race([manager.start().then(() => reachable.promise), nothing]);
    await sendDirectly(manager, notice, { clock, signal: ended.signal });
  };
  const stop = async (): Promise<void> => {
    if (!ended.signal.aborted) ended.abort(new Error('the start continues'));
    await manager.stop();
  };
  const notified = say()
    .catch((error: unknown) => {
      if (!ended.signal.aborted) log.warn('storage: the owner could not be told', { reason: errorMessage(error) });
    })
    .finally(stop);
  return {
    [Symbol.asyncDispose]: async () => {
      await stop();
      await notified;
    },
  };
}

function ownersAddress({ loaded, paths }: Ground): ChatAddress | undefined {
  const known = ownersChatOnDisk(paths.state);
  const channels = enabledChannels(loaded);
  return known !== undefined && channels[known.channel] !== undefined ? known : configuredOwnersChat(loaded);
}
