import type { InboundDraft } from '../../bus/messages.ts';
import type { Random } from '../../util/random.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { ChannelContext } from '../channel.ts';
import type { GroupTalk } from '../group-talk.ts';
import { heardOf } from '../reading.ts';
import type { Strangers } from '../strangers.ts';
import { untilWritten } from '../until-written.ts';
import { namesNeeded, readCommand, readPost, readPress, type ReadingContext } from './inbound.ts';
import { Names } from './names.ts';
import type { SlackOptions } from './options.ts';
import { commandBody, eventBody, placedPost, pressBody, timeOf, type BotAccount, type PlacedPost } from './post.ts';
import { Threads } from './threads.ts';
import type { SlackClient } from './web-client.ts';

/** Messages that wait for a journal that can not be written; more are left to Slack. */
const MOST_WAITING = 2_000;
/** Posts that are remembered, so that what comes in several ways is read once. */
const MOST_POSTS = 5_000;

export interface IntakePorts {
  readonly channel: string;
  readonly options: SlackOptions;
  readonly me: BotAccount;
  readonly client: SlackClient;
  readonly context: ChannelContext;
  readonly talk: GroupTalk;
  readonly strangers: Strangers;
  readonly random: Random;
  /** Undefined: all is well. */
  readonly report: (trouble: string | undefined) => void;
  /** Ends all waiting. */
  readonly signal: AbortSignal;
}

/** Reads what Slack brings and writes it down. The posts of a conversation keep their order. */
export class Intake {
  readonly #ports: IntakePorts;
  readonly #names: Names;
  readonly #threads: Threads;
  readonly #commands: ReadonlySet<string>;
  readonly #seen = new RecentMap<string, true>(MOST_POSTS);
  /** The last work of each conversation that has any. */
  readonly #lanes = new Map<string, Promise<void>>();
  #waiting = 0;

  constructor(ports: IntakePorts) {
    this.#ports = ports;
    const { client, context } = ports;
    this.#names = new Names(client, context.clock);
    this.#threads = new Threads({ client, names: this.#names, clock: context.clock, log: context.log });
    this.#commands = new Set(context.commands.map(({ name }) => name));
  }

  /** Resolves when what was brought is on disk, or is nothing to us: Slack may be told. Rejects when it is not. */
  async take(type: string, body: unknown): Promise<void> {
    switch (type) {
      case 'events_api': {
        const event = eventBody.safeParse(body);
        const placed = event.success ? placedPost(event.data) : undefined;
        if (placed !== undefined) await this.takePost(placed, { live: true });
        break;
      }
      case 'interactive': {
        const press = pressBody.safeParse(body);
        if (press.success)
          await this.#act(press.data.channel.id, press.data.user.id, (reading) => readPress(press.data, reading));
        break;
      }
      case 'slash_commands': {
        const command = commandBody.safeParse(body);
        if (command.success) {
          const { channel_id: chatId, user_id: userId } = command.data;
          await this.#act(chatId, userId, (reading) => readCommand(command.data, reading));
        }
        break;
      }
      default:
    }
  }

  /** `live`: it was written just now; else it was found later, and no stranger is offered anything for it. */
  takePost(placed: PlacedPost, { live }: { readonly live: boolean }): Promise<void> {
    return this.#inTurn(placed.chatId, () => this.#takePost(placed, live));
  }

  async #takePost(placed: PlacedPost, live: boolean): Promise<void> {
    const { context, talk, strangers } = this.#ports;
    const { post, chatId, before } = placed;
    const key = `${chatId}:${post.ts}:${before === null ? '' : (post.edited?.ts ?? '')}`;
    if (this.#seen.get(key) === true) return;
    const now = context.clock.now();
    const reading = this.#reading(live ? now : Math.min(now, timeOf(post.ts)));
    await this.#names.learn(namesNeeded(placed, reading));
    const read = readPost(placed, reading);
    if (read.type === 'stranger') {
      this.#seen.set(key, true);
      if (!live) return;
      const { sender, where } = read;
      // Who lets them in should know whom.
      if (where === 'direct') await this.#names.learn([sender.id]);
      const name = this.#names.nameOf(sender.id);
      strangers.note({ ...sender, ...(name === undefined ? {} : { name }) }, now, context.log);
      if (where === 'direct') await context.knock({ senderId: sender.id, name, chatId });
    } else if (read.type !== 'nothing') {
      const heard = heardOf(read, talk);
      if (heard !== null) {
        const earlier = await this.#threads.before(placed, reading);
        await this.#accept({ ...heard, ...(earlier.length === 0 ? {} : { context: earlier }) });
      }
      this.#seen.set(key, true);
    }
  }

  async #act(chatId: string, userId: string, read: (reading: ReadingContext) => InboundDraft | null): Promise<void> {
    await this.#inTurn(chatId, async () => {
      const reading = this.#reading(this.#ports.context.clock.now());
      if (read(reading) === null) return;
      await this.#names.learn([userId]);
      const draft = read(reading);
      if (draft !== null) await this.#accept(draft);
    });
  }

  #reading(now: number): ReadingContext {
    const { channel, me, options, context } = this.#ports;
    return {
      channel,
      me,
      access: options,
      pairedRole: (id) => context.pairedRole(id),
      nameOf: (id) => (id === me.user_id ? me.user : this.#names.nameOf(id)),
      commands: this.#commands,
      now,
    };
  }

  /** Tried until it is written: Slack would bring it again only three times. */
  async #accept(draft: InboundDraft): Promise<void> {
    const { context, random, report, signal } = this.#ports;
    let waits = false;
    const mayWait = (): boolean => {
      if (!waits && this.#waiting < MOST_WAITING) {
        waits = true;
        this.#waiting += 1;
      }
      return waits;
    };
    try {
      await untilWritten(() => context.accept([draft]), { ...context, random, report, signal, mayWait });
    } finally {
      if (waits) this.#waiting -= 1;
    }
  }

  #inTurn(chatId: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#lanes.get(chatId) ?? Promise.resolve()).then(work);
    const settled = done.catch(() => {});
    this.#lanes.set(chatId, settled);
    void settled.then(() => {
      if (this.#lanes.get(chatId) === settled) this.#lanes.delete(chatId);
    });
    return done;
  }
}
