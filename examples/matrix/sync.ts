import type { ChannelContext, ChannelKit } from 'assistantd';
import type { IInvitedRoom, IRoomEvent, ISyncResponse, ITimeline } from 'matrix-js-sdk';
import type { Call } from './api.ts';
import { readEvent, relationsOf } from './read.ts';

interface Facts {
  readonly call: Call;
  readonly kit: ChannelKit;
  readonly name: string;
  /** The bot's own id. */
  readonly account: string;
  readonly context: ChannelContext;
  readonly signal: AbortSignal;
  readonly heard: () => unknown;
}

type Received = Parameters<ChannelContext['write']>[0][number] & { readonly room: string; readonly raw: IRoomEvent };

const POLL_MS = 30_000;
const ENCRYPTED = 'I cannot read encrypted rooms: please write to me in a room without encryption.';
const TYPES = ['m.room.message', 'm.room.encrypted', 'm.sticker', 'm.room.member'];
const NONE = { not_types: ['*'] };
const ROOM = { ephemeral: NONE, timeline: { limit: 50, types: TYPES }, state: { types: ['m.room.member'] } };
const FILTER = JSON.stringify({ presence: NONE, room: ROOM });

/** Begins to read all rooms; the token of what was read is written in the transaction of the messages. Returns its end. */
export async function followRooms({ call, kit, name: channel, account, context, signal, heard }: Facts) {
  const commands = new Set(context.commands.map(({ name }) => name));
  /** What joined members are called, by room and id, until one of them changes. */
  const members = new Map<string, ReadonlyMap<string, string>>();
  const cursors = new Map<string, string>();
  let since = context.cursors().get('sync');
  const get = <T>(path: string[], query?: Record<string, string>): Promise<T | undefined> =>
    call<T>('Get', ['rooms', ...path], signal, query && { query }).catch(unlessRefused);
  const roleOf = (senderId: string, chatType: 'direct' | 'group', chatId: string, isBot = false) =>
    kit.roleOf({ senderId, isBot, isSelf: senderId === account, chatType, chatId }, context.pairedRole);

  const isInvitation = (event: Pick<IRoomEvent, 'content'> & { readonly state_key?: string }): boolean =>
    event.state_key === account && event.content['membership'] === 'invite';

  /** Goes where somebody with a role asks it to; nobody else learns that it is there. */
  const invited = async (id: string, { invite_state: { events } }: IInvitedRoom): Promise<void> => {
    const by = events.find(isInvitation)?.sender ?? '';
    if (['stranger', 'nobody'].includes(roleOf(by, 'direct', id))) return;
    await call('Post', ['rooms', id, 'join'], signal, { body: {} }).catch(async (error) => {
      // A room that cannot be had must not hold up the others.
      if (error.failure === 'retryable' || signal.aborted) throw error;
      await context.tellOwner(
        `join:${id}`,
        `I could not follow the invitation of ${by} into a room: ${error.message}.`,
      );
    });
    context.wake(id);
  };
  /** The events since the last token, in a room that is new those since the invitation, oldest first. */
  const eventsIn = async (id: string, { events, limited, prev_batch: from }: ITimeline): Promise<IRoomEvent[]> => {
    const all = [...events];
    const invitation = (): number => all.findLastIndex(isInvitation);
    for (let next = limited === true ? from : undefined; next != null && invitation() < 0;) {
      const query = { dir: 'b', from: next, to: since ?? '', limit: '100', filter: JSON.stringify({ types: TYPES }) };
      const page = await get<{ chunk: IRoomEvent[]; end?: string }>([id, 'messages'], query);
      all.unshift(...(page?.chunk ?? []).toReversed());
      next = page?.end;
    }
    return all.slice(invitation() + 1);
  };
  const namesIn = async (id: string): Promise<ReadonlyMap<string, string>> => {
    const found = await get<{ joined: Record<string, { display_name?: string | null }> }>([id, 'joined_members']);
    return new Map(Object.entries(found?.joined ?? {}).map(([who, { display_name: shown }]) => [who, shown ?? who]));
  };
  /** An event of somebody with a role, as what is written of it. */
  const read = async (id: string, event: IRoomEvent): Promise<readonly Received[]> => {
    const { sender, type, content } = event;
    if (sender === account || type === 'm.room.member') return [];
    const names = members.get(id) ?? (await namesIn(id));
    members.set(id, names);
    // That only two can read a room makes it direct: `m.direct` says nothing of a third who joined later.
    const chatType = names.size === 2 ? 'direct' : 'group';
    const role = roleOf(sender, chatType, id, content['msgtype'] === 'm.notice');
    if (role === 'stranger' && chatType === 'direct')
      await context.requestPairing({ senderId: sender, name: names.get(sender), chatId: id });
    if (role === 'stranger' || role === 'nobody') return [];
    if (type === 'm.room.encrypted') {
      const path = ['rooms', id, 'send', 'm.room.message', 'encrypted'];
      const body = { msgtype: 'm.text', body: ENCRYPTED };
      if (!context.cursors().has(`encrypted:${id}`)) await call('Put', path, signal, { body }).catch(unlessRefused);
      cursors.set(`encrypted:${id}`, event.event_id);
      return [];
    }
    const originals = new Map<string, IRoomEvent>();
    for (const other of relationsOf(event).others) {
      const found = await get<IRoomEvent>([id, 'event', other]);
      if (found !== undefined) originals.set(other, found);
    }
    try {
      const scene = { channel, account, chatId: id, chatType, role, receivedAt: context.clock.now() } as const;
      const said = readEvent(event, { ...scene, names, originals, commands });
      const draft = said && kit.groupMessage(said, context);
      return draft === null ? [] : [{ room: id, raw: event, draft }];
    } catch (failure) {
      return [{ room: id, raw: event, failure }];
    }
  };
  const next = async (): Promise<void> => {
    const query = { ...(since === undefined ? {} : { since }), timeout: String(POLL_MS), filter: FILTER };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(2 * POLL_MS)]);
    const { next_batch: last = '', rooms } = await call<Partial<ISyncResponse>>('Get', ['sync'], limit, { query });
    heard();
    for (const [id, room] of Object.entries(rooms?.invite ?? {})) await invited(id, room);
    cursors.set('sync', last);
    const received: Received[] = [];
    // What the first answer ever holds was written before anybody was there to read it.
    for (const [id, { timeline, state }] of Object.entries(since === undefined ? {} : (rooms?.join ?? {}))) {
      const events = await eventsIn(id, timeline);
      if ([...(state?.events ?? []), ...events].some(({ type }) => type === 'm.room.member')) members.delete(id);
      for (const event of events) received.push(...(await read(id, event)));
    }
    await context.write(received, { signal, cursors: [...cursors].map(([place, last]) => ({ place, last })) });
    since = last;
    for (const [id, event] of new Map(received.map(({ room, raw }) => [room, raw.event_id])))
      void call('Post', ['rooms', id, 'receipt', 'm.read', event], signal, { body: {} }).catch(() => {});
  };
  if (since === undefined) await next();
  const run = async (): Promise<void> => {
    while (!signal.aborted) await next();
  };
  // The assistant starts it again, with growing pauses.
  const stopped = (error: Error & { readonly failure?: string }): void =>
    context.fail(new kit.ChannelError(error.message, { retry: error.failure !== 'revoked' }));
  return { ended: run().catch(stopped) };
}

/** What the homeserver refuses for good is not there. */
function unlessRefused(error: { readonly failure?: string }): undefined {
  if (error.failure !== 'blocked' && error.failure !== 'permanent') throw error;
}
