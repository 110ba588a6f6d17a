import {
  withoutAnswered,
  Backfill,
  type Pace,
  type RawEvent,
  receive,
  type Received,
  notifyGap,
  unknownShape,
  type InboundResult,
  type Link,
  backoffMs,
  type ReadUpTo,
} from '../../core/api-channels.ts';
import { type InboundDraft, sleep, RecentMap } from '../../core/api.ts';
import { callFailure, isRefused } from './errors.ts';
import {
  isFromSelf,
  namesNeeded,
  readCommand,
  readPost,
  readPress,
  readShortcut,
  type ReadingContext,
} from './inbound.ts';
import { conversationsOf, idsByTime, missedIn, type SlackData } from './missed.ts';
import { UserNames } from './user-names.ts';
import type { SlackOptions } from './options.ts';
import {
  chatTypeOf,
  commandBody,
  eventBody,
  placedPost,
  pressBody,
  reactionBody,
  shortcutBody,
  timeOf,
  type BotAccount,
  type PlacedPost,
  type SlackReaction,
} from './post.ts';
import { readReaction } from './reactions.ts';
import { Threads } from './threads.ts';
import type { SlackClient } from './web-client.ts';

/** Presses and commands that wait for a journal that cannot be written; more are left to Slack. */
const MOST_WAITING = 2_000;
/** Posts that are remembered, so that what comes in several ways is read once. */
const MOST_POSTS = 5_000;
/** Conversations whose names are remembered. */
const MOST_NAMES = 1_000;
/** Slack takes about one question a second for histories. */
const PACE: Pace = { atOnce: 1, pauseMs: 1_200, burst: 40 };
const RETRY = { firstMs: 1_000, maxMs: 30_000 };
/** The cursor that stands for all conversations: everything everywhere was read so far. */
const EVERYWHERE = '*';

export interface EventReaderPorts {
  readonly options: SlackOptions;
  readonly me: BotAccount;
  readonly client: SlackClient;
  /** Its signal ends all waiting. */
  readonly link: Link;
  /** Whether Slack can bring something now. */
  readonly isLineUp: () => boolean;
}

/**
 * Reads what Slack brings and writes it down. The posts of a conversation keep their order. What Slack did not bring
 * while there was no connection is fetched from the histories of all conversations, until each was had.
 */
export class EventReader implements AsyncDisposable {
  readonly #ports: EventReaderPorts;
  readonly #names: UserNames;
  readonly #threads: Threads;
  readonly #commands: ReadonlySet<string>;
  readonly #seen = new RecentMap<string, true>(MOST_POSTS);
  readonly #conversationNames = new RecentMap<string, string>(MOST_NAMES);
  readonly #backfill: Backfill<SlackData>;
  /** Everything was read up to this time, by Slack's ids; undefined: nothing ever was. */
  #everywhere: string | undefined;
  /** The conversations that are not known yet were looked for since the last gap. */
  #isComplete = false;
  /** Counts the gaps, so that only the search after the last one ends it. */
  #gaps = 0;
  #waiting = 0;

  constructor(ports: EventReaderPorts) {
    this.#ports = ports;
    const { client, link } = ports;
    const { context, report, random, signal } = link;
    this.#names = new UserNames(client, context.clock);
    this.#threads = new Threads(client, this.#names, context);
    this.#commands = new Set(context.commands.map(({ name }) => name));
    const known = new Map(context.cursors());
    const heardUntil = context.heardUntil();
    this.#everywhere = known.get(EVERYWHERE) ?? (heardUntil === undefined ? undefined : idsByTime.at(heardUntil));
    known.delete(EVERYWHERE);
    this.#backfill = new Backfill(
      known,
      {
        ids: idsByTime,
        missed: withoutAnswered(
          {
            ids: idsByTime,
            missed: (place, after) => missedIn(client, { place, after: this.#later(after) }, signal),
          },
          { restoredAt: context.restoredAt, isOwn: (data) => 'post' in data && isFromSelf(data.post, ports.me) },
        ),
        read: (place, events) => this.#read(place, events),
        failureOf: (error) => {
          const failure = callFailure(error);
          return { ...failure, isRefused: isRefused(failure) };
        },
        context,
        report: (trouble) => report('reading', trouble),
        notLookedAt: (places) =>
          notifyGap(
            context,
            places.map((place) => this.#asPeopleKnowIt(place)),
          ),
        unreadSince: () => (this.#isComplete ? undefined : this.#everywhere),
        alsoKept: () => this.#keptEverywhere(),
        pace: PACE,
        random,
      },
      signal,
    );
  }

  /** Slack brings nothing until `connected`. */
  lost(): void {
    this.#isComplete = false;
    this.#backfill.lost();
  }

  /** Slack brings what is written from now on; before, it may not have. */
  connected(): void {
    this.#isComplete = false;
    this.#gaps += 1;
    if (this.#everywhere === undefined) {
      this.#isComplete = true;
      this.#backfill.connected();
      void this.#backfill.keep();
      return;
    }
    this.#backfill.connected();
    this.#backfill.closeGaps();
    void this.#discover();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#backfill[Symbol.asyncDispose]();
  }

  /** Resolves when what was brought is on disk, or is nothing to us: Slack may be told. Rejects when it is not. */
  async take(type: string, body: unknown): Promise<void> {
    switch (type) {
      case 'events_api': {
        const event = eventBody.safeParse(body);
        const placed = event.success ? placedPost(event.data) : undefined;
        if (placed !== undefined) await this.#hear(placed);
        const reaction = reactionBody.safeParse(body);
        if (reaction.success) await this.#react(reaction.data.event);
        break;
      }
      case 'interactive': {
        const press = pressBody.safeParse(body);
        if (press.success) await this.#act(press.data.user.id, body, (reading) => readPress(press.data, reading));
        const shortcut = shortcutBody.safeParse(body);
        if (shortcut.success) {
          await this.#act(shortcut.data.user.id, body, (reading) => readShortcut(shortcut.data, reading));
        }
        break;
      }
      case 'slash_commands': {
        const command = commandBody.safeParse(body);
        if (command.success) {
          await this.#act(command.data.user_id, body, (reading) => readCommand(command.data, reading));
        }
        break;
      }
      default:
    }
  }

  /** The name of the person is asked for only if they may write. */
  async #react(reaction: SlackReaction): Promise<void> {
    const { me, link } = this.#ports;
    const { context, signal } = link;
    if (reaction.user === me.user_id) return;
    const reading = this.#reading(context.clock.now());
    if (readReaction(reaction, reading) === null) return;
    await this.#names.learn([reaction.user]);
    const draft = readReaction(reaction, reading);
    if (draft !== null) await context.reacted([draft], signal);
  }

  async #hear(placed: PlacedPost): Promise<void> {
    const { chatId, post, before } = placed;
    const type = before === null ? 'message' : 'edit';
    await this.#backfill.hear(chatId, { type, id: post.ts, data: placed, isLate: false });
  }

  async #read(chatId: string, events: readonly RawEvent<SlackData>[]): Promise<readonly Received[]> {
    const { context, signal } = this.#ports.link;
    await context.settled?.(signal);
    const received: Received[] = [];
    for (const { data, isLate } of events) {
      const one = 'post' in data ? await this.#readPost(data, isLate) : unreadable(data, chatId);
      if (one !== null) received.push(one);
    }
    return received;
  }

  /** `isLate`: it was found later, and no stranger is offered anything for it. */
  async #readPost(placed: PlacedPost, isLate: boolean): Promise<Received | null> {
    const { context, gate } = this.#ports.link;
    const { post, chatId } = placed;
    const isNew = placed.before === null;
    const key = `${chatId}:${post.ts}:${isNew ? '' : (post.edited?.ts ?? '')}`;
    if (this.#seen.get(key) === true) return null;
    const now = context.clock.now();
    const reading = this.#reading(isLate ? Math.min(now, timeOf(post.ts)) : now);
    try {
      await this.#names.learn(namesNeeded(placed, reading));
      const read = readPost(placed, reading);
      // An app_mention may say of the same post what its message did not.
      if (read.type === 'nothing') {
        gate.take(read, context);
        return null;
      }
      this.#seen.set(key, true);
      if (read.type === 'stranger') {
        if (!isLate) await this.#noteStranger(read);
        return null;
      }
      const { draft } = gate.take(read, context);
      if (draft === null) return null;
      const earlier = await this.#threads.before(placed, reading);
      const before = earlier.context.length === 0 ? {} : { context: earlier.context };
      return { raw: placed, draft: { ...draft, ...before, media: [...draft.media, ...earlier.media] } };
    } catch (failure) {
      this.#seen.set(key, true);
      return { raw: placed, failure, chatId };
    }
  }

  async #noteStranger(read: Extract<InboundResult, { type: 'stranger' }>): Promise<void> {
    const { context, gate } = this.#ports.link;
    const { sender, where } = read;
    // Who lets them in should know whom.
    if (where === 'direct') await this.#names.learn([sender.id]);
    const name = this.#names.nameOf(sender.id);
    const named = name === undefined ? sender : { ...sender, name };
    const { stranger } = gate.take({ ...read, sender: named }, context);
    if (stranger !== null) await context.requestPairing(stranger);
  }

  async #act(userId: string, raw: unknown, read: (reading: ReadingContext) => InboundDraft | null): Promise<void> {
    const { context, signal } = this.#ports.link;
    await context.settled?.(signal);
    const reading = this.#reading(context.clock.now());
    const first = receive(raw, () => read(reading));
    if (first === null) return;
    await this.#names.learn([userId]);
    const received = 'failure' in first ? first : receive(raw, () => read(reading));
    if (received !== null) await this.#writeAct(received);
  }

  #reading(now: number): ReadingContext {
    const { me, options, link } = this.#ports;
    const { context } = link;
    return {
      channel: link.name,
      me,
      access: options,
      pairedRole: context.pairedRole,
      nameOf: (id) => (id === me.user_id ? me.user : this.#names.nameOf(id)),
      commands: this.#commands,
      now,
    };
  }

  /** Tried until it is written: Slack would bring it again only three times. */
  async #writeAct(received: Received): Promise<void> {
    const { context, signal } = this.#ports.link;
    let waits = false;
    const mayWait = (): boolean => {
      if (!waits && this.#waiting < MOST_WAITING) {
        waits = true;
        this.#waiting += 1;
      }
      return waits;
    };
    try {
      await context.write([received], { signal, mayWait });
    } finally {
      if (waits) this.#waiting -= 1;
    }
  }

  /** A conversation in which little is said has an old cursor, and everything everywhere may have been read since. */
  #later(after: string): string {
    const everywhere = this.#everywhere ?? after;
    return idsByTime.compare(after, everywhere) > 0 ? after : everywhere;
  }

  /** As long as nothing is missing anywhere, that is so until now. */
  #keptEverywhere(): readonly ReadUpTo[] {
    const { isLineUp, link } = this.#ports;
    if (!this.#isComplete || !this.#backfill.isSettled || !isLineUp()) return [];
    this.#everywhere = idsByTime.at(link.context.clock.now());
    return [{ place: EVERYWHERE, last: this.#everywhere }];
  }

  #asPeopleKnowIt(place: string): string {
    const name = this.#conversationNames.get(place);
    if (name !== undefined) return `#${name}`;
    return chatTypeOf(place) === 'direct' ? `the direct chat ${place}` : `the channel ${place}`;
  }

  /** Looks for conversations in which something was written for the first time. Never rejects. */
  async #discover(): Promise<void> {
    const { client, link } = this.#ports;
    const { context, random, signal } = link;
    const gap = this.#gaps;
    for (let failures = 1; !signal.aborted && gap === this.#gaps; failures += 1) {
      try {
        const { conversations, isCut } = await conversationsOf(client, signal);
        if (gap !== this.#gaps) return;
        const since = this.#everywhere ?? idsByTime.at(context.clock.now());
        for (const { id, name } of conversations) {
          if (name !== undefined) this.#conversationNames.set(id, name);
          this.#backfill.found(id, since);
        }
        this.#isComplete = true;
        if (isCut) await notifyGap(context, [`all but ${conversations.length} conversations`]);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const { reason, retryAfterMs } = callFailure(error);
        if (failures === 1) context.log.warn('slack: conversations not listed, trying again', { reason });
        await sleep(context.clock, retryAfterMs ?? backoffMs(failures, RETRY, random), signal).catch(() => {});
      }
    }
  }
}

function unreadable({ unreadable: raw, error }: Exclude<SlackData, PlacedPost>, chatId: string): Received {
  return { raw, failure: unknownShape(error), chatId };
}
