import { decideAccess, ChannelError, type ChannelContext, type Link, emojisOf } from '../../core/api-channels.ts';
import { raceAbort } from '../../core/api.ts';
import { appTokenRefused, botTokenRefused, callFailure, isTokenRefused } from './errors.ts';
import { EventReader } from './event-reader.ts';
import { addListeners } from './home.ts';
import type { SlackOptions } from './options.ts';
import { botAccount, type BotAccount } from './post.ts';
import { JournalingReceiver, openApp } from './receiver.ts';
import { isAppTokenRefused } from './reconnect.ts';
import { unknownEmoji } from './reactions.ts';
import { missingScopes, openSlackClient, type SlackClient } from './web-client.ts';

/** A connection to Slack. */
export interface SlackConnection extends AsyncDisposable {
  readonly client: SlackClient;
  readonly context: ChannelContext;
  readonly reactions: {
    /** The app lacks the scope for them. */
    isRefused: boolean;
    /** Call it when Slack says so. */
    readonly refused: () => void;
  };
}

/** Identifies the bot, opens Socket Mode, and backfills what was posted meanwhile. */
export async function connect(options: SlackOptions, commandPrefix: string, link: Link): Promise<SlackConnection> {
  const { name, context, report } = link;
  const client = openSlackClient({ ...options, permit: context.permit });
  const me = await hello(client, link);
  /** Whether events can arrive now. */
  const line = { isUp: false };
  const reader = new EventReader({ options, me, client, link, isLineUp: () => line.isUp });
  reader.lost();
  const receiver = new JournalingReceiver({
    options,
    link,
    take: (type, body) => reader.take(type, body),
    report: (trouble) => {
      line.isUp = trouble === undefined;
      report('connection', trouble);
    },
    lost: () => reader.lost(),
    connected: () => {
      line.isUp = true;
      reader.connected();
    },
  });
  addListeners(openApp(receiver, { options: { ...options, permit: context.permit }, me }), {
    name: me.user,
    commands: context.commands,
    commandPrefix,
    roleOf: (id) => roleOf(id, options, context),
    log: context.log,
  });
  const { over } = await receiver.start().catch((error: unknown) => {
    const failure = callFailure(error);
    if (isAppTokenRefused(error)) throw appTokenRefused(name, failure);
    throw new ChannelError(failure.reason, { retry: true });
  });
  const ended = over.then(
    (error) => error !== null && context.fail(error),
    (error: unknown) => context.fail(new ChannelError(callFailure(error).reason, { retry: true })),
  );
  const unknown = unknownEmoji(emojisOf(options.reactions));
  if (unknown.length > 0) {
    report(
      'reactions',
      `No name in Slack is known for ${unknown.join(' ')}: write the name, such as ":eyes:", in channels.${name}.reactions.`,
      'running',
    );
  }
  const reactions = {
    isRefused: false,
    refused: (): void => {
      reactions.isRefused = true;
      report(
        'reactions',
        `The Slack app of channel "${name}" may not set reactions: add the scope reactions:write under "OAuth & Permissions" and install it again, or set channels.${name}.reactions.show to false.`,
        'running',
      );
    },
  };
  return {
    client,
    context,
    reactions,
    [Symbol.asyncDispose]: async () => {
      line.isUp = false;
      await Promise.all([ended, reader[Symbol.asyncDispose]()]);
    },
  };
}

async function hello(client: SlackClient, { name, context, signal }: Link): Promise<BotAccount> {
  try {
    const answer = await raceAbort(client.auth.test(), signal);
    const missing = missingScopes(answer.response_metadata?.scopes);
    if (missing.length > 0)
      context.log.warn(
        `slack: the app of channel "${name}" lacks scopes: add ${missing.join(', ')} under "OAuth & Permissions" and install it again`,
      );
    return botAccount.parse(answer);
  } catch (error) {
    const failure = callFailure(error);
    if (isTokenRefused(failure)) throw botTokenRefused(name, failure);
    throw new ChannelError(failure.reason, { retry: true });
  }
}

/** The role of the person who opens the app's home; null: they may not write. */
function roleOf(id: string, options: SlackOptions, context: ChannelContext): 'owner' | 'other' | null {
  const decision = decideAccess({
    via: 'channel',
    settings: options,
    chatType: 'direct',
    chatId: id,
    sender: { id, isBot: false, isSelf: false },
    pairedRole: context.pairedRole,
  });
  if (!decision.allowed) return null;
  return decision.role === 'owner' ? 'owner' : 'other';
}
