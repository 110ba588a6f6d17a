import { configuredOwners, decideAccess } from '../../security/access/access.ts';
import { deadline, raceAbort } from '../../util/clock.ts';
import type { Random } from '../../util/random.ts';
import {
  ChannelError,
  SendError,
  type Channel,
  type ChannelContext,
  type ChannelHealth,
  type OutgoingPart,
} from '../channel.ts';
import { GroupTalk } from '../inbound/group-talk.ts';
import { slackMarkup } from '../markup/slack.ts';
import { UnknownSenders } from '../inbound/unknown-senders.ts';
import { appTokenRefused, botTokenRefused, callFailure, isTokenRefused, toSendError } from './errors.ts';
import { downloadFile, uploadFile } from './files.ts';
import { addListeners } from './home.ts';
import { EventReader } from './event-reader.ts';
import { isAppTokenRefused } from './reconnect.ts';
import type { SlackOptions } from './options.ts';
import { editPost, findEarlier, isApproval, postPrivately, postText } from './outgoing.ts';
import { botAccount, chatTypeOf, type BotAccount } from './post.ts';
import { JournalingReceiver, openApp } from './receiver.ts';
import { missingScopes, openClient, openUploadClient, type SlackClient } from './web-client.ts';

const HELLO_DEADLINE_MS = 15_000;

/** A connection to Slack, from start to disposal. */
interface Connection {
  readonly client: SlackClient;
  readonly context: ChannelContext;
}

/** A Slack bot: events over Socket Mode, everything else over the Web API. */
export class SlackChannel implements Channel {
  readonly name: string;
  readonly kind = 'slack';
  readonly capabilities = {
    maxLength: 11_900,
    edit: true,
    typing: false,
    buttons: true,
    threads: true,
    media: true,
    reactions: false,
    drafts: false,
  };
  /** Slack takes every message that begins with a slash for a command of its own. */
  readonly commandPrefix = '/assistant ';
  readonly settlesResends = true;
  readonly #options: SlackOptions;
  readonly #random: Random;
  readonly #strangers: UnknownSenders;
  readonly #talk: GroupTalk;
  #connection: Connection | undefined;
  #state: ChannelHealth['state'] = 'stopped';
  /** Of the line, of reading what came. */
  #troubles: { line?: string | undefined; reading?: string | undefined } = {};
  #heardAt: number | undefined;

  constructor(name: string, options: SlackOptions, random: Random) {
    this.name = name;
    this.#options = options;
    this.#random = random;
    this.#strangers = new UnknownSenders(name);
    this.#talk = new GroupTalk(options.groups);
  }

  async start(context: ChannelContext, signal: AbortSignal): Promise<AsyncDisposable> {
    this.#state = 'starting';
    const stop = new AbortController();
    const until = AbortSignal.any([signal, stop.signal]);
    try {
      const client = openClient(this.#options);
      const me = await this.#hello(client, context, until);
      const intake = this.#openIntake({ client, context }, me, until);
      intake.lost();
      const receiver = this.#openReceiver(context, intake);
      addListeners(openApp(receiver, { options: this.#options, me }), {
        name: me.user,
        commands: context.commands,
        commandPrefix: this.commandPrefix,
        roleOf: (id) => this.#roleOf(id, context),
        log: context.log,
      });
      const { over } = await receiver.start(until).catch((error: unknown) => {
        const failure = callFailure(error);
        if (isAppTokenRefused(error)) throw appTokenRefused(this.name, failure);
        throw new ChannelError(failure.reason, { retry: true });
      });
      this.#connection = { client, context };
      this.#state = 'running';
      this.#troubles = {};
      this.#heardAt = context.clock.now();
      const ended = over.then(
        (error) => error !== null && context.fail(error),
        (error: unknown) => context.fail(new ChannelError(callFailure(error).reason, { retry: true })),
      );
      intake.connected();
      return {
        [Symbol.asyncDispose]: async () => {
          stop.abort();
          this.#connection = undefined;
          this.#state = 'stopped';
          await Promise.all([ended, intake[Symbol.asyncDispose]()]);
        },
      };
    } catch (error) {
      stop.abort();
      this.#state = 'stopped';
      throw error;
    }
  }

  render(markdown: string): readonly string[] {
    return slackMarkup.render(markdown);
  }

  plain(text: string): readonly string[] {
    return slackMarkup.literal(text);
  }

  async send(part: OutgoingPart, signal: AbortSignal): Promise<{ readonly platformId: string }> {
    const { client } = this.#connected();
    try {
      const platformId = await this.#send(client, part, signal);
      this.#noteAnswered(part);
      return { platformId };
    } catch (error) {
      throw toSendError(error);
    }
  }

  /** Replaces text and buttons of a message. */
  async edit(part: OutgoingPart & { readonly platformId: string }, signal: AbortSignal): Promise<void> {
    const { client } = this.#connected();
    try {
      await editPost(client, part, signal);
    } catch (error) {
      throw toSendError(error);
    }
    this.#noteAnswered(part);
  }

  async download(
    source: string,
    { maxBytes }: { readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { client, context } = this.#connected();
    return await downloadFile(source, { maxBytes, signal }, { client, options: this.#options, clock: context.clock });
  }

  health(): ChannelHealth {
    const trouble = this.#troubles.line ?? this.#troubles.reading;
    return {
      state: this.#state === 'running' && trouble !== undefined ? 'reconnecting' : this.#state,
      ...(trouble === undefined ? {} : { detail: trouble }),
      ...(this.#heardAt === undefined ? {} : { lastInboundAt: this.#heardAt }),
    };
  }

  async #hello(client: SlackClient, { clock, log }: ChannelContext, signal: AbortSignal): Promise<BotAccount> {
    using limit = deadline(clock, HELLO_DEADLINE_MS, 'Asking Slack for the bot');
    try {
      const answer = await raceAbort(client.auth.test(), AbortSignal.any([signal, limit.signal]));
      const missing = missingScopes(answer.response_metadata?.scopes);
      if (missing.length > 0)
        log.warn(
          `the Slack app of channel "${this.name}" lacks scopes: add ${missing.join(', ')} under "OAuth & Permissions" and install it again`,
        );
      return botAccount.parse(answer);
    } catch (error) {
      const failure = callFailure(error);
      if (isTokenRefused(failure)) throw botTokenRefused(this.name, failure);
      throw new ChannelError(failure.reason, { retry: true });
    }
  }

  #openIntake({ client, context }: Connection, me: BotAccount, signal: AbortSignal): EventReader {
    return new EventReader({
      channel: this.name,
      options: this.#options,
      me,
      client,
      context,
      talk: this.#talk,
      strangers: this.#strangers,
      random: this.#random,
      report: (trouble) => {
        this.#troubles.reading = trouble;
      },
      isLineUp: () => this.#state === 'running' && this.#troubles.line === undefined,
      signal,
    });
  }

  #openReceiver(context: ChannelContext, intake: EventReader): JournalingReceiver {
    return new JournalingReceiver({
      name: this.name,
      options: this.#options,
      context,
      random: this.#random,
      take: (type, body) => intake.take(type, body),
      heard: () => {
        this.#heardAt = context.clock.now();
      },
      report: (trouble) => {
        this.#troubles.line = trouble;
      },
      lost: () => intake.lost(),
      connected: () => intake.connected(),
    });
  }

  async #send(client: SlackClient, given: OutgoingPart, signal: AbortSignal): Promise<string> {
    const earlier = given.resend !== undefined ? await findEarlier(client, given, signal) : null;
    const part = earlier === null || typeof earlier === 'string' ? given : earlier;
    const [file] = part.media;
    if (typeof earlier === 'string') {
      if (file === undefined) await editPost(client, { ...part, platformId: earlier }, signal);
      return earlier;
    }
    if (file !== undefined) return await uploadFile(openUploadClient(this.#options), part, file, signal);
    if (isApproval(part) && chatTypeOf(part.chatId) === 'group') {
      const shown = await postPrivately(client, part, { people: this.#owners(), signal });
      if (shown !== null) return shown;
    }
    return await postText(client, part, signal);
  }

  /** An answer is there: whoever asked may go on without a mention. */
  #noteAnswered(part: OutgoingPart): void {
    if (part.kind === 'answer') this.#talk.answered(part, this.#connected().context.clock.now());
  }

  #owners(): readonly string[] {
    return [...new Set([...configuredOwners(this.#options), ...this.#connected().context.pairedOwners()])];
  }

  #roleOf(id: string, context: ChannelContext): 'owner' | 'other' | null {
    const decision = decideAccess({ ...this.#question(id), pairedRole: (who) => context.pairedRole(who) });
    if (!decision.allowed) return null;
    return decision.role === 'owner' ? 'owner' : 'other';
  }

  #question(id: string): Extract<Parameters<typeof decideAccess>[0], { readonly via: 'channel' }> {
    const sender = { id, isBot: false, isSelf: false };
    return { via: 'channel', settings: this.#options, chatType: 'direct', chatId: id, sender };
  }

  #connected(): Connection {
    if (this.#connection === undefined) throw new SendError('retryable', `channel "${this.name}" is not running`);
    return this.#connection;
  }
}
