import { ONLY_TO, type InboundDraft, type Media, type ReplyReference } from '../../bus/messages.ts';
import { OWN, type AccessDecision } from '../../security/access/access.ts';
import { nothing, type InboundResult } from './inbound-result.ts';

/** The sender and chat of a message, button press or command, and whether the sender may write there. */
export interface SenderAccess extends Pick<
  InboundDraft,
  'channel' | 'account' | 'chatId' | 'threadId' | 'chatType' | 'sender' | 'receivedAt'
> {
  readonly decision: AccessDecision;
}

/** The content of a message. */
export interface Content extends Pick<InboundDraft, 'text' | 'media' | 'untrusted' | 'shared' | 'replyTo'> {
  /** Key of this edit of the message; undefined: it is no edit. */
  readonly edit: string | undefined;
  /** Further metadata. */
  readonly metadata?: InboundDraft['metadata'];
}

/** The text of a message that is meant for the assistant and in which nothing can be read. */
export const UNREAD = '[nothing in this message can be read here]';

/**
 * Makes an `InboundResult` of a message. `read` is called only when the sender may write, so that the content of others is
 * not read; it returns null for a message without content. An edit that does not address the bot is `nothing`.
 */
export function writtenBy(
  by: SenderAccess,
  {
    messageId,
    isMeant,
    isEdit,
  }: { /** The platform's. */ readonly messageId: string; readonly isMeant: boolean; readonly isEdit: boolean },
  read: () => Content | null,
): InboundResult {
  const { decision, ...who } = by;
  const { account, sender, chatId, chatType } = who;
  const externalId = `m:${messageId}`;
  if (!decision.allowed) {
    const { reason } = decision;
    const passed = isEdit || reason === OWN ? {} : { passed: { account, chatId, externalId, reason } };
    if (decision.stranger === null || !isMeant) return { type: 'nothing', ...passed };
    return { type: 'stranger', sender, chatId, where: chatType, ...passed };
  }
  if (isEdit && !isMeant) return nothing;
  const content = read();
  if (content === null) return nothing;
  const { edit, media, replyTo, metadata } = content;
  const { text, untrusted, shared = '' } = withoutOwnWords(content);
  const draft: InboundDraft = {
    ...who,
    role: decision.role,
    text,
    media,
    ...(replyTo === undefined ? {} : { replyTo }),
    mentioned: isMeant,
    context: [],
    externalId,
    origin: 'user',
    untrusted,
    ...(shared === '' ? {} : { shared }),
    metadata: { messageId, ...metadata },
  };
  return {
    type: isMeant ? 'message' : 'overheard',
    draft: edit === undefined ? draft : { ...draft, ...editedTo(text, { externalId, messageId, edit }) },
  };
}

/** The files of a quoted message that the assistant looks at: pictures, and voice messages of others. */
export function quotedFiles(files: readonly Media[], quoted: ReplyReference | undefined): readonly Media[] {
  if (quoted === undefined) return [];
  const { author = 'other', senderName = 'somebody' } = quoted;
  return files
    .filter(({ kind, speech }) => kind === 'image' || (speech === true && author === 'other'))
    .map((file) => ({ ...file, quotedFrom: senderName }));
}

/** If the sender wrote nothing, the text of others is the message. */
function withoutOwnWords({ text, untrusted, shared = '' }: Content): Pick<Content, 'text' | 'untrusted' | 'shared'> {
  return text === '' && shared !== '' ? { text: shared, untrusted: true } : { text, untrusted, shared };
}

/** The fields of an edit: it has its own key and no files. */
function editedTo(
  text: string,
  { externalId, messageId, edit }: { readonly externalId: string; readonly messageId: string; readonly edit: string },
): Pick<InboundDraft, 'text' | 'media' | 'externalId' | 'edits'> {
  return {
    text: `[edited an earlier message, which now says:]\n${text}`,
    media: [],
    externalId: `e:${messageId}:${edit}`,
    edits: { externalId, text },
  };
}

interface Act extends Pick<InboundDraft, 'text' | 'action' | 'replyTo'> {
  readonly id: string;
  /** The reply is shown to nobody else; see `ONLY_TO`. @default everybody may see it */
  readonly onlyTo?: string;
}

/** Makes the draft of an action such as a button press, which always addresses the bot. Null: the sender may not write. */
export function actOf(by: SenderAccess, act: Act): InboundDraft | null {
  const { decision, ...who } = by;
  if (!decision.allowed) return null;
  const { id, text, action, replyTo, onlyTo } = act;
  return {
    ...who,
    role: decision.role,
    text,
    media: [],
    mentioned: true,
    context: [],
    externalId: `b:${id}`,
    origin: 'user',
    untrusted: false,
    ...(action === undefined ? {} : { action }),
    ...(replyTo === undefined ? {} : { replyTo }),
    metadata: onlyTo === undefined ? {} : { [ONLY_TO]: onlyTo },
  };
}
