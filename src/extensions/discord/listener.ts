import { type Clock, deadline, type InboundDraft, raceAbort } from '../../core/api.ts';
import {
  ONLY_TO,
  opinionOf,
  Backfill,
  ChannelError,
  type InboundResult,
  type Link,
  type Missed,
  notifyGap,
  type Pace,
  type RawEvent,
  receive,
  type Received,
  unknownShape,
  withoutAnswered,
} from '../../core/api-channels.ts';
import { CALLBACK, EPHEMERAL, type DiscordApi } from './api.ts';
import { callFailure, isRefused } from './errors.ts';
import { readInteraction, readMessage, type ReadingContext } from './inbound.ts';
import type { DiscordOptions } from './options.ts';
import {
  payloads,
  type DiscordInteraction,
  type DiscordPlace,
  type DiscordReaction,
  type DiscordUser,
} from './payload.ts';
import { ChannelCache, type ChatPlace } from './channel-cache.ts';
import { readReaction } from './reactions.ts';
import type { Deferrals } from './slash-commands.ts';
import { compareIds, idAt, idsByAge, timeOf } from './snowflake.ts';

const PAGE = 100;
/** Discord takes 50 calls a second in all. What waits for its history could hardly be answered sooner either. */
const PACE: Pace = { atOnce: 4, pauseMs: 125, burst: 25 };
/** How long servers may take to tell of their channels before these are looked at anyway. */
const GUILDS_WAIT_MS = 5_000;
const COMMAND = 2;
/** Discord waits for 3 s. */
const CONFIRM_DEADLINE_MS = 2_900;

export interface ListenerPorts {
  readonly options: Pick<DiscordOptions, 'allowFrom' | 'owners' | 'groups'>;
  readonly api: DiscordApi;
  readonly link: Link;
  readonly deferrals: Deferrals;
}

/** Makes messages for the assistant of what the Gateway tells. */
export class Listener implements AsyncDisposable {
  readonly #ports: ListenerPorts;
  readonly #channels = new ChannelCache();
  readonly #backfill: Backfill<unknown>;
  /** Servers that have not told of themselves on this connection. */
  readonly #awaited = new Set<string>();
  #waiting: Disposable | undefined;
  #me: DiscordUser | undefined;
  #application = '';
  #reacted: Promise<void> = Promise.resolve();

  constructor(ports: ListenerPorts) {
    const { api, link } = ports;
    const { context, report, random, signal } = link;
    this.#ports = ports;
    this.#backfill = new Backfill(
      context.cursors(),
      {
        ids: idsByAge,
        missed: withoutAnswered(
          { ids: idsByAge, missed: (place, after) => missedIn(api, { place, after }, signal) },
          { restoredAt: context.restoredAt, isOwn: (data) => this.#isOwn(data) },
        ),
        read: (place, events) => this.#read(place, events),
        failureOf: (error) => ({ ...callFailure(error), isRefused: isRefused(error) }),
        context,
        // What is new is read all the same.
        report: (trouble) => report('reading', trouble, 'running'),
        notLookedAt: (channels) => notifyGap(context, this.#namesOf(channels)),
        pace: PACE,
        random,
      },
      signal,
    );
  }

  /** The bot's own id; empty before it is connected. */
  get me(): string {
    return this.#me?.id ?? '';
  }

  /** The id under which its commands are; empty before it is connected. */
  get application(): string {
    return this.#application;
  }

  /** One event of the Gateway; never throws. */
  hear(event: string, data: unknown): void {
    switch (event) {
      case 'READY':
        this.#onReady(data);
        break;
      case 'RESUMED':
        this.#backfill.resumed();
        break;
      case 'GUILD_CREATE':
        this.#onGuild(data);
        break;
      case 'CHANNEL_CREATE':
      case 'CHANNEL_UPDATE':
      case 'THREAD_CREATE':
      case 'THREAD_UPDATE':
        this.#onPlace(data);
        break;
      case 'THREAD_LIST_SYNC':
        this.#onThreads(data);
        break;
      case 'GUILD_MEMBER_UPDATE':
        this.#onMember(data);
        break;
      case 'MESSAGE_CREATE':
      case 'MESSAGE_UPDATE':
        this.#onMessage(data, event === 'MESSAGE_UPDATE');
        break;
      case 'MESSAGE_REACTION_ADD':
      case 'MESSAGE_REACTION_REMOVE':
        this.#onReaction(data, event === 'MESSAGE_REACTION_ADD');
        break;
      case 'INTERACTION_CREATE':
        this.#onInteraction(data);
        break;
      default:
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#waiting?.[Symbol.dispose]();
    await this.#backfill[Symbol.asyncDispose]();
  }

  #onReady(data: unknown): void {
    const { context } = this.#ports.link;
    const ready = payloads.ready.safeParse(data);
    if (!ready.success) {
      context.fail(new ChannelError('Discord did not say who this bot is.', { retry: true }));
      return;
    }
    this.#me = ready.data.user;
    this.#application = ready.data.application.id;
    this.#awaited.clear();
    for (const { id } of ready.data.guilds) this.#awaited.add(id);
    this.#backfill.connected();
    this.#waiting?.[Symbol.dispose]();
    if (this.#awaited.size === 0) this.#backfill.closeGaps();
    else this.#waiting = context.clock.timer(GUILDS_WAIT_MS, () => this.#backfill.closeGaps());
  }

  #onGuild(data: unknown): void {
    const guild = payloads.guild.safeParse(data);
    if (!guild.success || guild.data.unavailable === true) return;
    for (const place of this.#channels.noteGuild(guild.data, this.me))
      this.#backfill.latest(place.id, place.last_message_id, madeAt(place));
    if (!this.#awaited.delete(guild.data.id) || this.#awaited.size > 0) return;
    this.#waiting?.[Symbol.dispose]();
    this.#backfill.closeGaps();
  }

  #onPlace(data: unknown): void {
    const place = payloads.place.safeParse(data);
    if (place.success) this.#channels.note(place.data);
  }

  #onThreads(data: unknown): void {
    const list = payloads.threadList.safeParse(data);
    if (!list.success) return;
    for (const thread of list.data.threads) this.#channels.note({ ...thread, guild_id: list.data.guild_id });
  }

  #onMember(data: unknown): void {
    const member = payloads.member.safeParse(data);
    if (!member.success || member.data.user.id !== this.me) return;
    const { guild_id: guildId, nick = null, roles } = member.data;
    this.#channels.noteSelf(guildId, { nick, roles });
  }

  #onMessage(data: unknown, isEdit: boolean): void {
    const head = payloads.messageHead.safeParse(data);
    if (!head.success) {
      this.#ports.link.context.log.warn('discord: message without a known channel skipped');
      return;
    }
    const { id, channel_id: place, guild_id: guildId, edited_timestamp: edited } = head.data;
    // Discord adds previews of links to a message by an edit of its own.
    if (isEdit && edited == null) return;
    if (guildId === undefined) this.#channels.noteDirect(place);
    void this.#backfill.hear(place, { type: isEdit ? 'edit' : 'message', id, data, isLate: false });
  }

  #onReaction(data: unknown, isSet: boolean): void {
    const reaction = payloads.reaction.safeParse(data);
    if (!reaction.success || opinionOf(reaction.data.emoji.name ?? '') === undefined) return;
    // In the order in which they came: one may be taken back at once.
    this.#reacted = this.#reacted
      .then(() => this.#react(reaction.data, isSet))
      .catch((error: unknown) => {
        const { log } = this.#ports.link.context;
        log.debug('discord: reaction not taken', { reason: callFailure(error).reason });
      });
  }

  async #react(reaction: DiscordReaction, isSet: boolean): Promise<void> {
    const { context, signal } = this.#ports.link;
    const reading = this.#reading();
    if (reading === undefined) return;
    const { guild_id: guildId, channel_id: placeId } = reaction;
    if (guildId === undefined) this.#channels.noteDirect(placeId);
    const place = await this.#placeOf(placeId);
    const draft = readReaction(reaction, { place, at: context.clock.now(), isSet }, reading);
    if (draft !== null) await context.reacted([draft], signal);
  }

  #isOwn(data: unknown): boolean {
    return payloads.authored.safeParse(data).data?.author.id === this.me;
  }

  #onInteraction(data: unknown): void {
    const interaction = payloads.interaction.safeParse(data);
    const { log } = this.#ports.link.context;
    if (!interaction.success) {
      log.warn('discord: unreadable interaction skipped', { issues: interaction.error.issues.length });
      return;
    }
    this.#interact(interaction.data).catch((error: unknown) =>
      log.warn('discord: interaction not accepted', { reason: callFailure(error).reason }),
    );
  }

  /** What is to be answered of what was told of a place. */
  async #read(placeId: string, events: readonly RawEvent<unknown>[]): Promise<readonly Received[]> {
    const { context, signal } = this.#ports.link;
    const reading = this.#reading();
    if (reading === undefined) return [];
    await context.settled?.(signal);
    const place = await this.#placeOf(placeId);
    const now = context.clock.now();
    return events.flatMap(({ type, id, data, isLate }) => {
      const received = receive(
        data,
        () => {
          const message = payloads.message.safeParse(data);
          if (!message.success) throw unknownShape(message.error);
          const at = isLate ? Math.min(now, timeOf(id)) : now;
          return this.#heard(readMessage(message.data, { place, at, isEdit: type === 'edit' }, reading));
        },
        place.address.chatId,
      );
      return received ?? [];
    });
  }

  async #interact(interaction: DiscordInteraction): Promise<void> {
    const { deferrals, link } = this.#ports;
    const { context } = link;
    const { type, channel, guild_id: guildId, channel_id: placeId = channel?.id, token } = interaction;
    const reading = this.#reading();
    if (placeId === undefined || reading === undefined) return;
    if (channel !== undefined) this.#channels.note({ guild_id: guildId, ...channel });
    else if (guildId === undefined) this.#channels.noteDirect(placeId);
    await context.settled?.(link.signal);
    const place = await this.#placeOf(placeId);
    const draft = this.#heard(readInteraction(interaction, { place, at: context.clock.now() }, reading));
    if (draft === null) return;
    const shown = Promise.withResolvers<boolean>();
    const onlyTo = draft.metadata[ONLY_TO];
    const isPrivate = typeof onlyTo === 'string';
    if (type === COMMAND) {
      deferrals.put({ ...place.address, ...(isPrivate ? { onlyTo } : {}) }, token, shown.promise);
    }
    try {
      await context.accept([draft]);
      const callback = type === COMMAND ? CALLBACK.thinking : CALLBACK.seen;
      await this.#confirm(interaction, { type: callback, ...(isPrivate ? { flags: EPHEMERAL } : {}) }, context.clock);
      shown.resolve(true);
    } finally {
      shown.resolve(false);
    }
  }

  /** Ends the waiting look of a button, or says that an answer will come. */
  async #confirm(
    interaction: DiscordInteraction,
    callback: Parameters<DiscordApi['confirm']>[1],
    clock: Clock,
  ): Promise<void> {
    using limit = deadline(clock, CONFIRM_DEADLINE_MS, 'Confirming an interaction');
    await raceAbort(this.#ports.api.confirm(interaction, callback, limit.signal), limit.signal);
  }

  /** The message of a reading, if something is to be done about it. Unknown senders get a pairing code. */
  #heard(read: InboundResult): InboundDraft | null {
    const { gate, context } = this.#ports.link;
    const { draft, stranger } = gate.take(read, context);
    if (stranger !== null) void context.requestPairing(stranger);
    return draft;
  }

  /** As people know them, where that is known. */
  #namesOf(channels: readonly string[]): readonly string[] {
    return channels.map((id) => {
      const place = this.#channels.get(id);
      return place?.name === undefined ? id : `#${place.name}`;
    });
  }

  #reading(): ReadingContext | undefined {
    const { options, link } = this.#ports;
    const { name, context } = link;
    if (this.#me === undefined) return undefined;
    const { allowFrom, owners, groups } = options;
    return {
      channel: name,
      me: this.#me,
      channels: this.#channels,
      access: { allowFrom, owners, groups },
      pairedRole: context.pairedRole,
    };
  }

  /** Asks Discord where it is not known. Rejects when that fails for now. */
  async #placeOf(id: string): Promise<ChatPlace> {
    const known = this.#channels.get(id);
    if (known !== undefined) return known;
    const answer = await this.#ports.api.place(id, this.#ports.link.signal).catch((error: unknown) => {
      if (isRefused(error)) return null;
      throw error;
    });
    const place = payloads.place.safeParse(answer);
    // Of what no one knows anything, no more is assumed than that others may read along.
    return this.#channels.note(place.success ? { ...place.data, id } : { id, type: 0 });
  }
}

/** An id from the time when a place was created. */
function madeAt({ id, thread_metadata: thread }: DiscordPlace): string {
  return thread?.create_timestamp == null ? id : idAt(Date.parse(thread.create_timestamp));
}

async function missedIn(
  api: DiscordApi,
  { place, after }: { readonly place: string; readonly after: string },
  signal: AbortSignal,
): Promise<Missed<unknown>> {
  const page = await api.history(place, { limit: String(PAGE), after }, signal);
  const messages = page.toSorted((a, b) => compareIds(a.id, b.id)).map((data) => ({ id: data.id, data }));
  return { messages, hasMore: page.length >= PAGE };
}
