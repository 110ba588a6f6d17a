import { systemRandom } from '../../core/api.ts';
import {
  channelOptions,
  PlatformChannel,
  SendError,
  type OutgoingPart,
  type ReactionChange,
  type ReactionTarget,
  type Platform,
  configuredOwners,
} from '../../core/api-channels.ts';
import { slackMarkup } from './markup.ts';
import { connect, type SlackConnection } from './connection.ts';
import { callFailure, toSendError } from './errors.ts';
import { downloadFile, slackAlbum, uploadFiles } from './files.ts';
import { slackOptions, type SlackOptions } from './options.ts';
import { editPost, findEarlier, isApproval, postPrivately, postText } from './outgoing.ts';
import { chatTypeOf } from './post.ts';
import { react, slackReactions } from './reactions.ts';
import { openUploadClient } from './web-client.ts';

/** Slack takes every message that begins with a slash for a command of its own. */
const COMMAND_PREFIX = '/assistant ';

/** The channel of an entry. */
export function openSlack(name: string, settings: Readonly<Record<string, unknown>>): PlatformChannel<SlackConnection> {
  return new PlatformChannel(name, slack(channelOptions(name, settings, slackOptions)), systemRandom);
}

/** A Slack bot: events over Socket Mode, everything else over the Web API. */
export function slack(options: SlackOptions): Platform<SlackConnection> {
  return {
    kind: 'slack',
    shows: { maxLength: 11_900, buttons: true, threads: true, media: true },
    commandPrefix: COMMAND_PREFIX,
    settlesResends: true,
    markup: slackMarkup,
    groups: options.groups,
    connect: (link) => connect(options, COMMAND_PREFIX, link),
    send: (connection, part, signal) => send(options, connection, part, signal),
    edit: ({ client }, part, signal) => editPost(client, part, signal),
    react: (connection, target, change, signal) => reactOrSay(connection, { target, change, signal }),
    stateReactions: slackReactions,
    album: slackAlbum,
    download: ({ client, context }, source, limits) =>
      downloadFile(source, limits, { client, options, clock: context.clock }),
    toSendError,
  };
}

/** Without the scope it says so once, in the status, and asks Slack no more. */
async function reactOrSay(
  { client, reactions }: SlackConnection,
  {
    target,
    change,
    signal,
  }: { readonly target: ReactionTarget; readonly change: ReactionChange; readonly signal: AbortSignal },
): Promise<void> {
  if (reactions.isRefused) throw new SendError('permanent', 'the app may not set reactions');
  try {
    await react(client, target, change, signal);
  } catch (error) {
    if (callFailure(error).code === 'missing_scope') reactions.refused();
    throw error;
  }
}

async function send(
  options: SlackOptions,
  { client, context }: SlackConnection,
  given: OutgoingPart,
  signal: AbortSignal,
): Promise<string> {
  if (given.onlyTo !== undefined) {
    const shown = await postPrivately(client, given, { people: [given.onlyTo], signal });
    if (shown !== null) return shown;
    throw new SendError('permanent', 'the bot is not in this conversation, so it cannot show a person anything there');
  }
  const earlier = given.resend !== undefined ? await findEarlier(client, given, signal) : null;
  const part = earlier === null || typeof earlier === 'string' ? given : earlier;
  const [file] = part.media;
  if (typeof earlier === 'string') {
    if (file === undefined) await editPost(client, { ...part, platformId: earlier }, signal);
    return earlier;
  }
  if (file !== undefined)
    return await uploadFiles(openUploadClient({ ...options, permit: context.permit }), part, signal);
  if (isApproval(part) && chatTypeOf(part.chatId) === 'group') {
    const people = [...new Set([...configuredOwners(options), ...context.pairedOwners()])];
    const shown = await postPrivately(client, part, { people, signal });
    if (shown !== null) return shown;
  }
  return await postText(client, part, signal);
}
