import { type Media, isPicture, withAddress } from '../../core/api-channels.ts';
import { cut, plural } from '../../core/api.ts';
import { readRich } from './rich-text.ts';
import { oddKinds, unreadKind } from './unread-kind.ts';
import { richFile, type TelegramFile, type TelegramShown } from './update.ts';

/** The largest file that a bot can download, bytes. */
export const LARGEST_DOWNLOAD = 20 * 1024 * 1024;
const LONGEST_NAME = 200;

/** The attachments of a message. */
export interface TelegramAttachments {
  readonly media: readonly Media[];
  /** One text in brackets for each thing that is not a file (a place, a poll) and for each file that is too large. */
  readonly words: readonly string[];
}

/** Reads the photos, files, voice messages, places, contacts and so on of a message. */
export function attachmentsOf(message: TelegramShown): TelegramAttachments {
  const files = filesOf(message);
  const large = files.filter(({ size = 0 }) => size > LARGEST_DOWNLOAD);
  return {
    media: files.filter((file) => !large.includes(file)),
    words: [...large.map(tooLarge), ...wordsOf(message)],
  };
}

/** One text in brackets for each attachment of a message, for a message that is only quoted. */
export function namedAttachments(message: TelegramShown): readonly string[] {
  return [
    ...filesOf(message).map(({ kind, name }) => (name === undefined ? `[${kind}]` : `[${kind} ${name}]`)),
    ...wordsOf(message),
  ];
}

function filesOf(message: TelegramShown): readonly Media[] {
  const { photo, document, voice, audio, video, video_note, animation, live_photo, rich_message: rich } = message;
  const picture = photo?.at(-1);
  return [
    ...(picture === undefined ? [] : [mediaOf(picture, 'image', 'image/jpeg')]),
    ...(voice === undefined ? [] : [{ ...mediaOf(voice, 'audio', 'audio/ogg'), speech: true }]),
    ...(audio === undefined ? [] : [{ ...mediaOf(audio, 'audio', 'audio/mpeg'), speech: true }]),
    ...(video_note === undefined ? [] : [{ ...mediaOf(video_note, 'video', 'video/mp4'), speech: true }]),
    ...(video === undefined ? [] : [mediaOf(video, 'video', 'video/mp4')]),
    ...(animation === undefined ? [] : [mediaOf(animation, 'video', 'video/mp4')]),
    ...(live_photo === undefined ? [] : [mediaOf(live_photo, 'video', 'video/mp4')]),
    ...readRich(rich?.blocks ?? []).files.flatMap((block) => filesOf(richFile.safeParse(block).data ?? {})),
    // An animation comes with a document that is the same file.
    ...(document === undefined || animation !== undefined ? [] : [documentOf(document)]),
  ];
}

function documentOf(document: TelegramFile): Media {
  return mediaOf(document, isPicture(document.mime_type) ? 'image' : 'document', 'application/octet-stream');
}

function mediaOf(file: TelegramFile, kind: Media['kind'], usual: string): Media {
  return {
    kind,
    mediaType: file.mime_type ?? usual,
    path: '',
    source: file.file_id,
    ...(file.file_name === undefined ? {} : { name: cut(file.file_name, LONGEST_NAME) }),
    ...(file.file_size === undefined ? {} : { size: file.file_size }),
  };
}

function tooLarge({ kind, name, size = 0 }: Media): string {
  const what = name === undefined ? kind : `${kind} ${JSON.stringify(name)}`;
  return `[${what} has ${Math.ceil(size / 1024 ** 2)} MB; bots get files up to 20 MB]`;
}

function wordsOf(message: TelegramShown): readonly string[] {
  const { sticker, venue, location, contact, poll, dice, rich_message: rich, reply_markup: markup } = message;
  const words = [
    ...(rich === undefined ? [] : [readRich(rich.blocks).text]),
    ...checklistWords(message),
    ...(sticker === undefined
      ? []
      : [sticker.emoji === undefined ? '[sticker]' : `[sticker ${cut(sticker.emoji, 20)}]`]),
    ...(venue === undefined ? [] : [`[place: ${cut(venue.title, LONGEST_NAME)}, ${cut(venue.address, LONGEST_NAME)}]`]),
    ...(location === undefined ? [] : [`[location: ${location.latitude}, ${location.longitude}]`]),
    ...(contact === undefined
      ? []
      : [`[contact: ${[contact.first_name, contact.last_name, contact.phone_number].filter(Boolean).join(' ')}]`]),
    ...(poll === undefined ? [] : [pollWords(poll)]),
    ...(dice === undefined ? [] : [`[${dice.emoji}: ${dice.value}]`]),
    ...(markup?.inline_keyboard.flat() ?? []).flatMap(({ text, url }) =>
      url === undefined ? [] : [`[button: ${withAddress(text, url)}]`],
    ),
  ];
  const isRead = words.length > 0 || (message.text ?? message.caption ?? '') !== '' || filesOf(message).length > 0;
  const kinds = isRead ? oddKinds(message) : [unreadKind(message) ?? []].flat();
  return [...words, ...kinds.map((kind) => `[${kind.replaceAll('_', ' ')}: messages of this kind can't be read here]`)];
}

/** With the votes, where there are any. */
function pollWords({
  question,
  options,
  total_voter_count: voters = 0,
  is_closed: isClosed,
}: NonNullable<TelegramShown['poll']>): string {
  const choices = options.map(({ text, voter_count: votes = 0 }) =>
    voters === 0 ? cut(text, 60) : `${cut(text, 60)}: ${votes}`,
  );
  const state = [voters === 0 ? '' : `; ${plural(voters, 'voter')}`, isClosed === true ? '; closed' : ''].join('');
  return `[poll: ${cut(question, LONGEST_NAME)} (${choices.join(' / ')}${state})]`;
}

function checklistWords({
  checklist,
  checklist_tasks_added: added,
  checklist_tasks_done: done,
}: TelegramShown): readonly string[] {
  const names = (tasks: readonly { readonly text: string }[]): string => tasks.map(({ text }) => text).join(', ');
  const changed = (what: string, ids: readonly number[] | undefined): string[] => {
    const { title = '', tasks = [] } = done?.checklist_message?.checklist ?? {};
    const texts = (ids ?? []).map((id) => ({ text: tasks.find((task) => task.id === id)?.text ?? `item ${id}` }));
    return texts.length === 0 ? [] : [`[in the checklist ${title}, ${what}: ${names(texts)}]`];
  };
  return [
    ...(checklist === undefined
      ? []
      : [
          `[checklist: ${checklist.title}]`,
          ...checklist.tasks.map((task) => `[${task.completion_date === undefined ? ' ' : 'x'}] ${task.text}`),
        ]),
    ...(added === undefined
      ? []
      : [`[in the checklist ${added.checklist_message?.checklist?.title ?? ''}, added: ${names(added.tasks)}]`]),
    ...changed('ticked off', done?.marked_as_done_task_ids),
    ...changed('not done after all', done?.marked_as_not_done_task_ids),
  ];
}
