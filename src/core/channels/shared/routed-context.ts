import type { AcceptResult, InboundDraft } from '../../bus/messages.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { ChannelContext, ReadUpTo } from '../channel.ts';
import type { Received, WriteOptions } from '../inbound/writer.ts';
import type { Guests } from './guests.ts';

/** Most places whose assistant is remembered. */
const MOST_PLACES = 5_000;

/** Says in a chat that its assistant takes no messages. Never rejects. */
export type Refuse = (assistant: string, channel: string, chatId: string) => void;

/**
 * The context of a channel that several assistants share: each message, reaction and pairing goes to the assistant of its
 * chat, which alone accepts it, and the cursor of a place lies in the journal of its messages. `write` resolves when each
 * assistant has its part on disk, so the platform is told only then; what is repeated after a crash in between is known to
 * those that had it.
 */
export function routedContext(
  channel: string,
  own: ChannelContext,
  {
    guests,
    refuse,
  }: {
    readonly guests: Guests;
    readonly refuse: Refuse;
  },
): ChannelContext {
  const places = new RecentMap<string, string>(MOST_PLACES);
  /** The assistants that have everything up to the cursors of this connection; a cursor for another one would hide what it missed. */
  const caughtUp = new Set<string>();
  const ownerOf = (chatId: string | undefined): string | null =>
    chatId === undefined ? null : guests.ownerOf(channel, chatId);
  const ownerOfPlace = (place: string): string | null => places.get(place) ?? ownerOf(place);
  /** The context of a chat at this moment; undefined: its assistant takes no messages. */
  const now = (chatId: string | undefined): ChannelContext | undefined => {
    const name = ownerOf(chatId);
    return name === null ? own : guests.get(name, channel)?.context;
  };
  const cursorsOf = (cursors: readonly ReadUpTo[], name: string | null, drafts: readonly InboundDraft[]) => {
    const [first = null, ...others] = new Set(drafts.map(({ chatId }) => ownerOf(chatId)));
    if (first !== null && others.length === 0) for (const { place } of cursors) places.set(place, first);
    const isBehind = name !== null && !caughtUp.has(name);
    return isBehind ? [] : cursors.filter(({ place }) => ownerOfPlace(place) === name);
  };
  const writeTo = async (name: string, received: readonly Received[], options: WriteOptions): Promise<void> => {
    const guest = await guests.ready(name, channel, options.signal);
    if (guest === null) {
      caughtUp.delete(name);
      for (const chatId of new Set(received.map(chatOf))) if (chatId !== undefined) refuse(name, channel, chatId);
      return;
    }
    const signal = AbortSignal.any([options.signal, guest.gone]);
    try {
      await guest.context.write(received, { ...options, signal });
    } catch (error) {
      if (options.signal.aborted || !guest.gone.aborted) throw error;
      // It stopped meanwhile: its successor knows what it had written.
      await write(received, options);
    }
  };
  const write: ChannelContext['write'] = async (received, options) => {
    const drafts = received.flatMap((one) => ('draft' in one ? [one.draft] : []));
    const { cursors = [] } = options;
    const parts = Map.groupBy(received, (one) => ownerOf(chatOf(one)));
    for (const { place } of cursors) if (!parts.has(ownerOfPlace(place))) parts.set(ownerOfPlace(place), []);
    const split = [...parts].map(([name, part]) => {
      const with_ = { ...options, cursors: cursorsOf(cursors, name, drafts) };
      return name === null ? own.write(part, with_) : writeTo(name, part, with_);
    });
    const ended = await Promise.allSettled(split);
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  };
  const accept: ChannelContext['accept'] = async (drafts, cursors = []) => {
    const results = new Map<InboundDraft, AcceptResult>();
    const parts = Map.groupBy(drafts, ({ chatId }) => ownerOf(chatId));
    for (const { place } of cursors) if (!parts.has(ownerOfPlace(place))) parts.set(ownerOfPlace(place), []);
    for (const [name, part] of parts) {
      const guest = name === null ? null : await guests.ready(name, channel);
      if (name !== null && guest === null) {
        for (const { chatId } of part) refuse(name, channel, chatId);
        if (part.length > 0) throw new Error('the assistant of this chat does not run');
        continue;
      }
      const context = guest?.context ?? own;
      const found = await context.accept(part, cursorsOf(cursors, name, drafts));
      for (const [n, draft] of part.entries()) results.set(draft, found[n] ?? 'refused');
    }
    return drafts.map((draft) => results.get(draft) ?? 'refused');
  };
  return {
    ...own,
    accept,
    write,
    reacted: async (reactions, signal) => {
      const parts = Map.groupBy(reactions, ({ chatId }) => now(chatId));
      await Promise.all([...parts].map(async ([context, part]) => await context?.reacted(part, signal)));
    },
    cursors: () => {
      const all = new Map(own.cursors());
      for (const [name, { context }] of guests.on(channel)) {
        caughtUp.add(name);
        for (const [place, last] of context.cursors()) {
          const known = all.get(place);
          if (known !== undefined && !isNewer(last, known)) continue;
          all.set(place, last);
          places.set(place, name);
        }
      }
      return all;
    },
    pairedRole: (id, chatId) => now(chatId)?.pairedRole(id, chatId),
    isPaired: (id, chatId) => now(chatId)?.isPaired(id, chatId) ?? false,
    heardUntil: () => {
      const times = [own, ...guests.on(channel).map(([, { context }]) => context)].flatMap(
        (context) => context.heardUntil() ?? [],
      );
      return times.length === 0 ? undefined : Math.max(...times);
    },
    requestPairing: async (stranger) => {
      const name = ownerOf(stranger.chatId);
      if (name === null) return await own.requestPairing(stranger);
      const guest = await guests.ready(name, channel);
      if (guest === null) refuse(name, channel, stranger.chatId);
      else await guest.context.requestPairing(stranger);
    },
    passOver: (message) => now(message.chatId)?.passOver(message),
    wake: (chatId) => now(chatId)?.wake(chatId),
    settled: (signal) => guests.settled(channel, signal),
  };
}

/** The chat of an update, also of one that could not be read; undefined: nothing says it. */
function chatOf(received: Received): string | undefined {
  return 'draft' in received ? received.draft.chatId : received.chatId;
}

/** Whether an id of a platform is greater; ids grow, also in length. */
function isNewer(id: string, than: string): boolean {
  return id.length === than.length ? id > than : id.length > than.length;
}
