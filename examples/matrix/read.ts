import type { InboundDraft, Media } from 'assistantd';
import type { IRoomEvent } from 'matrix-js-sdk';

/** What people write: any JSON. */
export type Content = Readonly<Record<string, unknown>>;

interface Scene extends Pick<InboundDraft, 'channel' | 'account' | 'chatId' | 'chatType' | 'role' | 'receivedAt'> {
  /** What joined members are called, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Events that this one answers or replaces, as far as they can be had. */
  readonly originals: ReadonlyMap<string, IRoomEvent>;
  readonly commands: ReadonlySet<string>;
}

/** Bytes of a file that are fetched at most, MB; characters of a quote. */
const [LARGEST, LONGEST_QUOTE] = [25, 1_000];
const FILES = { 'm.image': 'image', 'm.audio': 'audio', 'm.video': 'video', 'm.file': 'document' } as const;
const fields = (value: unknown): Content => Object(value);
const words = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Ids of the events that an event replaces, answers, and in whose thread it is; empty: none. `others`: the first two. */
export function relationsOf({ content }: IRoomEvent) {
  const relation = fields(content['m.relates_to']);
  const by = (type: string): string => (relation['rel_type'] === type ? words(relation['event_id']) : '');
  const replaces = by('m.replace');
  // In a thread most answers are for clients that know no threads.
  const answers = relation['is_falling_back'] === true ? '' : words(fields(relation['m.in_reply_to'])['event_id']);
  return { replaces, answers, thread: by('m.thread'), others: [replaces, answers].filter((id) => id !== '') };
}

/** The content of an event after its newest edit. */
export function newestOf({ content, unsigned }: IRoomEvent): Content {
  const edit = fields(fields(fields(unsigned)['m.relations'])['m.replace']);
  return fields(fields(edit['content'])['m.new_content'] ?? content);
}

/** An event as a message; null: it says nothing. */
export function readEvent(event: IRoomEvent, { names, originals, commands, ...scene }: Scene): InboundDraft | null {
  const { account, chatType } = scene;
  const { event_id: id, sender, origin_server_ts: sentAt } = event;
  const { replaces, answers, thread } = relationsOf(event);
  const [original, answered] = [originals.get(replaces), originals.get(answers)];
  const said = replaces === '' ? event.content : fields(event.content['m.new_content']);
  const { text: whole, media } = saidIn(event.type, said);
  const { isNamed, text: asked } = withoutName(said, whole, [account, names.get(account) ?? account]);
  const mentioned = chatType === 'direct' || isNamed || answered?.sender === account;
  if (asked === '' && media.length === 0 && !isNamed) return null;
  const text = asked.replace(/^!(\w+)/u, (all, command: string) => (commands.has(command) ? `/${command}` : all));
  const nameOf = (who: string): string => names.get(who) ?? who;
  const threadId = original === undefined ? thread : relationsOf(original).thread;
  const quote =
    answered &&
    ({
      senderName: nameOf(answered.sender),
      text: saidIn(answered.type, newestOf(answered)).text.slice(0, LONGEST_QUOTE),
      author: answered.sender === account ? 'assistant' : answered.sender === sender ? 'sender' : 'other',
      sentAt: answered.origin_server_ts,
    } as const);
  const about = { ...scene, mentioned, text, media, context: [], origin: 'user' as const, untrusted: false };
  const draft: InboundDraft = {
    ...about,
    ...(threadId === '' ? {} : { threadId }),
    sender: { id: sender, name: nameOf(sender), username: sender, isBot: said['msgtype'] === 'm.notice' },
    ...(answers === '' ? {} : { replyTo: { externalId: `m:${answers}`, ...quote } }),
    externalId: `m:${id}`,
    metadata: { messageId: replaces || id, sentAt },
  };
  if (replaces === '') return draft;
  // Nobody can edit what somebody else wrote.
  if (original?.sender !== sender || !mentioned) return null;
  const edited = { media: [], externalId: `e:${replaces}:${id}`, edits: { externalId: `m:${replaces}`, text } };
  return { ...draft, ...edited, text: `[edited an earlier message, which now says:]\n${text}` };
}

/** Whether a message names the bot: by a mention, a link to it, or at its beginning; and the text without that. */
function withoutName(said: Content, whole: string, names: readonly string[]): { isNamed: boolean; text: string } {
  const any = names.map((name) => RegExp.escape(name)).join('|');
  const text = whole.replace(new RegExp(String.raw`^\s*@?(?:${any})(?:[\s,:;!?.]+|$)`, 'iu'), '');
  const ids = fields(said['m.mentions'])['user_ids'];
  const isMentioned = Array.isArray(ids) && ids.includes(names[0]);
  const isLinked = words(said['formatted_body']).includes(`"https://matrix.to/#/${names[0]}"`);
  return { isNamed: text !== whole || isLinked || isMentioned, text };
}

function saidIn(type: string, said: Content): { readonly text: string; readonly media: readonly Media[] } {
  // Older clients repeat in front what they answer.
  const body = words(said['body']).replace(/^(?:> .*\n)+\n/u, '');
  const [, kind] = Object.entries(FILES).find(([one]) => one === said['msgtype']) ?? [];
  const [, north, east] = /^geo:([\d.-]+),([\d.-]+)/u.exec(words(said['geo_uri'])) ?? [];
  if (type === 'm.sticker') return { text: `[sticker ${body}]`, media: [] };
  if (north !== undefined) return { text: `[location: ${north}, ${east}]`, media: [] };
  if (kind === undefined) return { text: said['msgtype'] === 'm.emote' ? `* ${body}` : body, media: [] };
  const name = words(said['filename']) || body;
  const { mimetype, size: given } = fields(said['info']);
  const size = Number(given) || 0;
  const text = name === body ? '' : `${body}\n`;
  const megabytes = Math.ceil(size / 1024 ** 2);
  const note = `[${kind} ${JSON.stringify(name)} has ${megabytes} MB; files are fetched up to ${LARGEST} MB]`;
  if (megabytes > LARGEST) return { text: text + note, media: [] };
  const file = { kind, path: '', source: words(said['url']), name, size, speech: kind === 'audio' };
  return { text: text.trim(), media: [{ ...file, mediaType: words(mimetype) || 'application/octet-stream' }] };
}
