import { textOfPress } from '../bus/buttons.ts';
import type { PairedRole } from '../bus/messages.ts';
import { ChannelError, SendError, type Channel } from '../channels/channel.ts';
import { InboundGate } from '../channels/inbound/gate.ts';
import { groupOptions } from '../channels/inbound/group-talk.ts';
import { commonMarkLiteral, commonMarkParts } from '../channels/markup/commonmark.ts';
import { escapeHtml, plainText, toHtml } from '../channels/markup/html.ts';
import { literalParts } from '../channels/markup/literal.ts';
import { toSpans } from '../channels/markup/markdown.ts';
import { plainMarkup } from '../channels/markup/markup.ts';
import { toParts } from '../channels/markup/parts.ts';
import { splitRanges } from '../channels/markup/split.ts';
import type { ChannelKit, PluginChannel } from './plugin.ts';
import { decideAccess, type AccessSettings } from '../security/access/access.ts';
import type { Clock } from '../util/clock.ts';

interface Entry {
  readonly name: string;
  readonly settings: Readonly<Record<string, unknown>>;
  /** The people and groups of the entry. */
  readonly access: AccessSettings | undefined;
}

/** Opens a plugin's channel with a kit of its own, and adds what the channel leaves to the assistant. */
export async function openWithKit(open: PluginChannel['open'], { name, settings, access }: Entry): Promise<Channel> {
  const gate = new InboundGate(name, groupOptions.parse(settings['groups']));
  let clock: Clock | undefined;
  const groupMessage: ChannelKit['groupMessage'] = (draft, context) => {
    ({ clock } = context);
    return gate.take({ type: draft.mentioned ? 'message' : 'overheard', draft }, context).draft;
  };
  const kit = {
    SendError,
    ChannelError,
    plainParts,
    html,
    markdownParts: commonMarkParts,
    literalParts: commonMarkLiteral,
    roleOf: roleOf(access),
    groupMessage,
    textOfPress,
  };
  const channel = withPlain(await open(name, settings, kit));
  const noted =
    <Part extends Parameters<Channel['send']>[0], T>(call: (part: Part, signal: AbortSignal) => Promise<T>) =>
    async (part: Part, signal: AbortSignal): Promise<T> => {
      const sent = await call(part, signal);
      if (clock !== undefined) gate.sent(part, clock.now());
      return sent;
    };
  const send = channel.send.bind(channel);
  const edit = channel.edit?.bind(channel);
  return Object.assign(channel, { send: noted(send), ...(edit === undefined ? {} : { edit: noted(edit) }) });
}

const plainParts: ChannelKit['plainParts'] = (markdown, maxLength) =>
  plainMarkup.render(markdown).flatMap((text) => split(text, maxLength));

/** Characters of markup and text together, for each character that shows. */
const MOST_MARKUP = 3;

const html: ChannelKit['html'] = {
  parts: (markdown, maxLength) =>
    toParts(toSpans(markdown, isWebAddress), {
      limit: maxLength,
      render: toHtml,
      load: (part) => part.length / (MOST_MARKUP * maxLength),
    }),
  literal: (text, maxLength) =>
    literalParts(text, { limit: maxLength, escapedLimit: MOST_MARKUP * maxLength, line: escapeHtml }),
  text: plainText,
};

function isWebAddress(href: string): boolean {
  return /^https?:\/\/./iu.test(href);
}

function roleOf(settings: AccessSettings | undefined): ChannelKit['roleOf'] {
  return ({ senderId, isBot, isSelf, chatType, chatId }, pairedRole) => {
    const decision = decideAccess({
      via: 'channel',
      settings,
      pairedRole: (id) => asPaired(pairedRole(id)),
      chatType,
      chatId,
      sender: { id: senderId, isBot, isSelf },
    });
    if (decision.allowed) return decision.role;
    return decision.stranger === null ? 'nobody' : 'stranger';
  };
}

/** The channel, with a `plain` that shows a text as it is where the plugin brings none. */
function withPlain(channel: Channel): Channel {
  if (typeof channel.plain === 'function') return channel;
  const { maxLength } = channel.capabilities;
  const plain: Channel['plain'] = (text) => (text.trim() === '' ? [] : split(text, maxLength));
  return Object.assign(channel, { plain });
}

function split(text: string, maxLength: number): readonly string[] {
  return splitRanges(text, maxLength).map(({ start, end }) => text.slice(start, end));
}

function asPaired(paired: unknown): PairedRole | undefined {
  if (paired === 'owner' || paired === 'guest') return paired;
  return paired === 'trusted' || paired === true ? 'trusted' : undefined;
}
