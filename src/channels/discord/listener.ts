import type { InboundDraft } from '../../bus/messages.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import type { Random } from '../../util/random.ts';
import { ChannelError, type ChannelContext } from '../channel.ts';
import type { GroupTalk } from '../group-talk.ts';
import { heardOf, type Reading } from '../reading.ts';
import type { Strangers } from '../strangers.ts';
import { CALLBACK, type DiscordApi } from './api.ts';
import { callFailure, isRefused } from './errors.ts';
import { readInteraction, readMessage, type ReadingContext } from './inbound.ts';
import { Inlet, type Told } from './inlet.ts';
import type { DiscordOptions } from './options.ts';
import { payloads, type DiscordInteraction, type DiscordUser } from './payload.ts';
import { Places, type Place } from './places.ts';
import type { Deferrals } from './slash.ts';
import { timeOf } from './snowflake.ts';

/** How long servers may take to tell of their channels before these are looked at anyway. */
const GUILDS_WAIT_MS = 5_000;
const COMMAND = 2;
/** Discord waits for 3 s. */
const CONFIRM_DEADLINE_MS = 2_900;

export interface ListenerPorts {
  readonly name: string;
  readonly options: DiscordOptions;
  readonly api: DiscordApi;
  readonly context: ChannelContext;
  readonly talk: GroupTalk;
  readonly strangers: Strangers;
  readonly deferrals: Deferrals;
  readonly report: (trouble: string | undefined) => void;
  readonly random: Random;
}

/** Makes messages for the assistant of what the Gateway tells. */
export class Listener implements AsyncDisposable {
  readonly #ports: ListenerPorts;
  readonly #signal: AbortSignal;
  readonly #places = new Places();
  readonly #inlet: Inlet;
  /** Servers that have not told of themselves on this connection. */
  readonly #awaited = new Set<string>();
  #waiting: Disposable | undefined;
  #me: DiscordUser | undefined;
  #application = '';

  constructor(ports: ListenerPorts, signal: AbortSignal) {
    const { api, context, report, random } = ports;
    this.#ports = ports;
    this.#signal = signal;
    this.#inlet = new Inlet(
      context.cursors(),
      {
        history: (place, after) => api.history(place, { limit: '100', after }, signal),
        read: (place, told) => this.#read(place, told),
        accept: (drafts, cursors) => context.accept(drafts, cursors),
        report,
        clock: context.clock,
        random,
        log: context.log,
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
        this.#inlet.resumed();
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
      case 'INTERACTION_CREATE':
        this.#onInteraction(data);
        break;
      default:
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#waiting?.[Symbol.dispose]();
    await this.#inlet[Symbol.asyncDispose]();
  }

  #onReady(data: unknown): void {
    const { context } = this.#ports;
    const ready = payloads.ready.safeParse(data);
    if (!ready.success) {
      context.fail(new ChannelError('Discord did not say who this bot is.', { retry: true }));
      return;
    }
    this.#me = ready.data.user;
    this.#application = ready.data.application.id;
    this.#awaited.clear();
    for (const { id } of ready.data.guilds) this.#awaited.add(id);
    this.#inlet.connected();
    this.#waiting?.[Symbol.dispose]();
    if (this.#awaited.size === 0) this.#inlet.closeGaps();
    else this.#waiting = context.clock.timer(GUILDS_WAIT_MS, () => this.#inlet.closeGaps());
  }

  #onGuild(data: unknown): void {
    const guild = payloads.guild.safeParse(data);
    if (!guild.success || guild.data.unavailable === true) return;
    for (const place of this.#places.noteGuild(guild.data, this.me)) this.#inlet.latest(place);
    if (!this.#awaited.delete(guild.data.id) || this.#awaited.size > 0) return;
    this.#waiting?.[Symbol.dispose]();
    this.#inlet.closeGaps();
  }

  #onPlace(data: unknown): void {
    const place = payloads.place.safeParse(data);
    if (place.success) this.#places.note(place.data);
  }

  #onThreads(data: unknown): void {
    const list = payloads.threadList.safeParse(data);
    if (!list.success) return;
    for (const thread of list.data.threads) this.#places.note({ ...thread, guild_id: list.data.guild_id });
  }

  #onMember(data: unknown): void {
    const member = payloads.member.safeParse(data);
    if (!member.success || member.data.user.id !== this.me) return;
    const { guild_id: guildId, nick = null, roles } = member.data;
    this.#places.noteSelf(guildId, { nick, roles });
  }

  #onMessage(data: unknown, isEdit: boolean): void {
    const head = payloads.messageHead.safeParse(data);
    if (!head.success) {
      this.#ports.context.log.warn('skipped a message that says not where it was written');
      return;
    }
    const { id, channel_id: place, guild_id: guildId, edited_timestamp: edited } = head.data;
    // Discord adds previews of links to a message by an edit of its own.
    if (isEdit && edited == null) return;
    if (guildId === undefined) this.#places.noteDirect(place);
    this.#inlet.hear(place, { type: isEdit ? 'edit' : 'message', id, data, isLate: false });
  }

  #onInteraction(data: unknown): void {
    const interaction = payloads.interaction.safeParse(data);
    const { log } = this.#ports.context;
    if (!interaction.success) {
      log.warn('skipped an interaction that could not be understood', { issues: interaction.error.issues.length });
      return;
    }
    this.#interact(interaction.data).catch((error: unknown) =>
      log.warn('an interaction could not be taken', { reason: callFailure(error).reason }),
    );
  }

  /** What is to be answered of what was told of a place. */
  async #read(placeId: string, told: readonly Told[]): Promise<readonly InboundDraft[]> {
    const { context } = this.#ports;
    const reading = this.#reading();
    if (reading === undefined) return [];
    const place = await this.#placeOf(placeId);
    return told.flatMap(({ type, id, data, isLate }) => {
      const message = payloads.message.safeParse(data);
      if (!message.success) {
        context.log.warn('skipped a message that could not be understood', { issues: message.error.issues.length });
        return [];
      }
      const now = context.clock.now();
      const at = isLate ? Math.min(now, timeOf(id)) : now;
      const draft = this.#heard(readMessage(message.data, { place, at, isEdit: type === 'edit' }, reading));
      return draft === null ? [] : [draft];
    });
  }

  async #interact(interaction: DiscordInteraction): Promise<void> {
    const { context, deferrals } = this.#ports;
    const { type, channel, guild_id: guildId, channel_id: placeId = channel?.id, token } = interaction;
    const reading = this.#reading();
    if (placeId === undefined || reading === undefined) return;
    if (channel !== undefined) this.#places.note({ guild_id: guildId, ...channel });
    else if (guildId === undefined) this.#places.noteDirect(placeId);
    const place = await this.#placeOf(placeId);
    const draft = this.#heard(readInteraction(interaction, { place, at: context.clock.now() }, reading));
    if (draft === null) return;
    const shown = Promise.withResolvers<boolean>();
    if (type === COMMAND) deferrals.put(place.address, token, shown.promise);
    try {
      await context.accept([draft]);
      await this.#confirm(interaction, type === COMMAND ? CALLBACK.thinking : CALLBACK.seen, context.clock);
      shown.resolve(true);
    } finally {
      shown.resolve(false);
    }
  }

  /** Ends the waiting look of a button, or says that an answer will come. */
  async #confirm(interaction: DiscordInteraction, type: number, clock: Clock): Promise<void> {
    using limit = deadline(clock, CONFIRM_DEADLINE_MS, 'Confirming an interaction');
    await raceAbort(this.#ports.api.confirm(interaction, type, limit.signal), limit.signal);
  }

  /** The message of a reading, if something is to be done about it; strangers are noted. */
  #heard(read: Reading): InboundDraft | null {
    const { context, strangers, talk } = this.#ports;
    if (read.type === 'stranger') {
      const { sender, chatId, where } = read;
      strangers.note(sender, context.clock.now(), context.log);
      if (where === 'direct') void context.knock({ senderId: sender.id, name: sender.name, chatId });
    }
    return heardOf(read, talk);
  }

  #reading(): ReadingContext | undefined {
    const { name, options, context } = this.#ports;
    if (this.#me === undefined) return undefined;
    const { allowFrom, owners, groups } = options;
    return {
      channel: name,
      me: this.#me,
      places: this.#places,
      access: { allowFrom, owners, groups },
      pairedRole: (id) => context.pairedRole(id),
    };
  }

  /** Asks Discord where it is not known. Rejects when that fails for now. */
  async #placeOf(id: string): Promise<Place> {
    const known = this.#places.get(id);
    if (known !== undefined) return known;
    const answer = await this.#ports.api.place(id, this.#signal).catch((error: unknown) => {
      if (isRefused(error)) return null;
      throw error;
    });
    const place = payloads.place.safeParse(answer);
    // Of what nobody knows anything, no more is assumed than that others may read along.
    return this.#places.note(place.success ? { ...place.data, id } : { id, type: 0 });
  }
}
