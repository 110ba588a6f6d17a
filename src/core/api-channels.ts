/** For channels: the contract, what all platforms share, and Markdown to markup. */
export { albumsOf } from './channels/album.ts';
export { ChannelError, SendError } from './channels/channel.ts';
export type {
  ChannelContext,
  MenuCommand,
  OutgoingPart,
  ReactionChange,
  ReactionDraft,
  ReactionTarget,
  Resend,
} from './channels/channel.ts';
export { withoutAnswered } from './channels/inbound/answered-before.ts';
export { isPicture } from './channels/inbound/attachments.ts';
export type { Missed, Pace, RawEvent } from './channels/inbound/backfill-ports.ts';
export { Backfill } from './channels/inbound/backfill.ts';
export { isSaid, withAddress } from './channels/inbound/card-text.ts';
export { actOf, quotedFiles, UNREAD, writtenBy } from './channels/inbound/draft.ts';
export type { SenderAccess } from './channels/inbound/draft.ts';
export { notifyGap } from './channels/inbound/gap-notice.ts';
export { groupOptions } from './channels/inbound/group-talk.ts';
export { nothing, startsWithName, unknownShape } from './channels/inbound/inbound-result.ts';
export type { InboundResult } from './channels/inbound/inbound-result.ts';
export type { IdOrder } from './channels/inbound/read-cursors.ts';
export { receive } from './channels/inbound/writer.ts';
export type { Received } from './channels/inbound/writer.ts';
export { renderRows } from './channels/markup/blocks.ts';
export type { Dialect } from './channels/markup/blocks.ts';
export { literalLine, literalParts } from './channels/markup/literal.ts';
export { toSpans } from './channels/markup/markdown.ts';
export type { Markup } from './channels/markup/markup.ts';
export { toParts } from './channels/markup/parts.ts';
export { renderPieces, toPieces } from './channels/markup/pieces.ts';
export type { PieceDialect } from './channels/markup/pieces.ts';
export { toRows } from './channels/markup/rows.ts';
export { spanText } from './channels/markup/spans.ts';
export type { Span } from './channels/markup/spans.ts';
export { permittedRequests } from './channels/permitted-requests.ts';
export type { Link, Platform } from './channels/platform.ts';
export { channelOptions } from './channels/registry.ts';
export { PlatformChannel } from './channels/platform.ts';
export { textOfPress } from './bus/buttons.ts';
export { ON_MESSAGE } from './bus/commands.ts';
export { ONLY_TO } from './bus/messages.ts';
export type { Media, PairedRole, ReplyReference, Sender } from './bus/messages.ts';
export { opinionOf } from './bus/reactions.ts';
export type { StateReactions } from './bus/reactions.ts';
export type { ChannelSettings } from './config/schema/channels.ts';
export type { AccessSettings } from './security/access/access.ts';
export { decideAccess } from './security/access/access.ts';
export { createGuardedFetch } from './security/fetch/fetch.ts';
export type { Permit } from './util/permit.ts';
export { textIn } from './config/schema/channels.ts';
export { APPROVAL_BUTTONS } from './bus/buttons.ts';
export { withCommandPrefix } from './bus/commands.ts';
export { RESEND_MARK } from './bus/messages.ts';
export type { ContextMessage } from './bus/messages.ts';
export type { ReadUpTo, Stranger } from './channels/channel.ts';
export type { OpenItems } from './channels/markup/blocks.ts';
export { escapeHtml, plainText, toHtml } from './channels/markup/html.ts';
export { parseLine, tokenText } from './channels/markup/parser.ts';
export type { LayoutRow } from './channels/markup/rows.ts';
export { emojisOf, reactionOptions } from './channels/reaction-options.ts';
export { configuredOwners } from './security/access/access.ts';
export { backoffMs } from './util/backoff.ts';
export { isAbort } from './util/errors.ts';
export { http, https } from './util/http.ts';
export { timeOfId } from './util/ids.ts';
export { ALWAYS_PERMITTED, NotPermitted } from './util/permit.ts';
export { systemClock } from './util/clock.ts';
