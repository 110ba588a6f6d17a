import type { AssistantPart, ModelMessage, ReasoningPart, UserPart } from './provider.ts';

export type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

/** What the model wrote, and everything that came after it until it wrote again. Never changes once it is made. */
export interface Exchange {
  /** Null where the transcript begins. */
  readonly assistant: readonly AssistantPart[] | null;
  readonly results: readonly ToolMessage[];
  readonly user: readonly UserPart[];
}

/** Who is sent a transcript. */
export interface Reader {
  /** The key in `config.providers`: reasoning of another provider or model is left out. */
  readonly provider: string;
  readonly model: string;
  /** What the API takes for the id of a call. */
  readonly legalId: RegExp;
}

export interface Exchanges {
  readonly exchanges: readonly Exchange[];
  /** The id of a call on the wire, by our call id. */
  readonly idOf: (callId: string) => string;
}

/** A transcript as one reader got it. */
interface Kept {
  readonly messages: readonly ModelMessage[];
  readonly exchanges: readonly Exchange[];
  /** Index of the message with which the last exchange begins: it may get more. */
  readonly lastBegins: number;
  /** The id of each call on the wire, by our call id. Only grows. */
  readonly ids: Map<string, string>;
  /** The ids on the wire that are taken. */
  readonly used: Set<string>;
}

/**
 * By the first message of a conversation, then by reader. A request mostly extends the one before, and the messages are
 * the same objects, so that only what was added is read. An entry goes with its conversation.
 */
const kept = new WeakMap<ModelMessage, Map<string, Kept>>();

/** Readers of one conversation that are remembered; more are failovers of failovers. */
const MOST_READERS = 4;

/**
 * Cuts a legal transcript into exchanges: neighbouring messages of one side become one, tool results first. Blank
 * texts and reasoning of another provider or model are left out, lone surrogates replaced. An exchange that was in
 * the request before is the same object, so that what is made of it can be kept.
 */
export function readExchanges(messages: readonly ModelMessage[], reader: Reader): Exchanges {
  const [first] = messages;
  const name = `${reader.provider}\0${reader.model}\0${reader.legalId.source}`;
  const before = first === undefined ? undefined : kept.get(first)?.get(name);
  const read = readOn(messages, reader, before !== undefined && isExtended(before, messages) ? before : null);
  if (first !== undefined) keep(first, name, read);
  const { exchanges, ids } = read;
  return { exchanges, idOf: (callId) => ids.get(callId) ?? callId };
}

/** Remembers what an API's dialect makes of each exchange. `make` must depend on nothing but the exchange. */
export function perExchange<Made>(
  make: (exchange: Exchange, idOf: Exchanges['idOf']) => Made,
): (exchange: Exchange, idOf: Exchanges['idOf']) => Made {
  const made = new WeakMap<Exchange, { readonly value: Made }>();
  return (exchange, idOf) => {
    const known = made.get(exchange);
    if (known !== undefined) return known.value;
    const value = make(exchange, idOf);
    made.set(exchange, { value });
    return value;
  };
}

function isExtended({ messages: before }: Kept, messages: readonly ModelMessage[]): boolean {
  return messages.length >= before.length && before.every((message, at) => message === messages[at]);
}

function keep(first: ModelMessage, name: string, read: Kept): void {
  // The bytes of images are read for one request and not kept in memory for the next.
  if (read.messages.some(holdsBytes)) return;
  const readers = kept.get(first) ?? new Map<string, Kept>();
  if (!readers.has(name) && readers.size >= MOST_READERS) readers.clear();
  kept.set(first, readers.set(name, read));
}

function holdsBytes(message: ModelMessage): boolean {
  if (message.role === 'assistant') return false;
  const parts: readonly UserPart[] = message.role === 'tool' ? (message.images ?? []) : message.content;
  return parts.some((part) => part.type === 'image' && 'data' in part);
}

/** Reads a transcript from the last exchange of `before` on; null: from its beginning. */
function readOn(messages: readonly ModelMessage[], reader: Reader, before: Kept | null): Kept {
  const exchanges = before === null ? [] : before.exchanges.slice(0, -1);
  const { ids, used } = before ?? { ids: new Map<string, string>(), used: new Set<string>() };
  let begins = before?.lastBegins ?? 0;
  for (let at = begins; ; begins = at) {
    at += 1;
    while (at < messages.length && !beginsExchange(messages, at)) at += 1;
    const part = messages.slice(begins, at);
    nameCalls(part, { ids, used, legal: reader.legalId });
    exchanges.push(exchangeOf(part, reader));
    if (at >= messages.length) return { messages, exchanges, lastBegins: begins, ids, used };
  }
}

function beginsExchange(messages: readonly ModelMessage[], at: number): boolean {
  return messages[at]?.role === 'assistant' && messages[at - 1]?.role !== 'assistant';
}

function exchangeOf(messages: readonly ModelMessage[], owner: Reader): Exchange {
  const answers = messages.filter((message) => message.role === 'assistant');
  return {
    assistant:
      answers.length === 0
        ? null
        : answers.flatMap(({ content }) => content.flatMap((part) => cleanAssistantPart(part, owner))),
    results: messages.flatMap((message) =>
      message.role === 'tool' ? [{ ...message, output: message.output.toWellFormed() }] : [],
    ),
    user: messages.flatMap((message) => (message.role === 'user' ? cleanUserParts(message.content) : [])),
  };
}

function cleanAssistantPart(part: AssistantPart, owner: Reader): AssistantPart[] {
  if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text.toWellFormed() }];
  return part.type === 'tool-call' || isOwn(part, owner) ? [part] : [];
}

function isOwn(part: ReasoningPart, owner: Reader): boolean {
  return part.provider === owner.provider && part.model === owner.model;
}

/** A message that says nothing keeps its place, so that what follows does not move. */
function cleanUserParts(parts: readonly UserPart[]): readonly UserPart[] {
  const kept = parts.flatMap((part): UserPart[] => {
    if (part.type === 'image')
      return [isImage(part.mediaType) ? part : { type: 'text', text: leftOut(part.mediaType) }];
    return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text.toWellFormed() }];
  });
  return kept.length > 0 ? kept : [{ type: 'text', text: '(an empty message)' }];
}

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;

export type ImageType = (typeof IMAGE_TYPES)[number];

/** The kinds of images that the APIs take. */
export function isImage(mediaType: string): mediaType is ImageType {
  return IMAGE_TYPES.some((type) => type === mediaType);
}

export function leftOut(mediaType: string): string {
  return `(an image of type ${mediaType.toWellFormed()} was left out: the model cannot read it)`;
}

/**
 * Gives each call its id on the wire: the provider's own where it is legal and new in this transcript, else one made
 * from ours. Depends on nothing after the call, so that a growing transcript keeps its bytes.
 */
function nameCalls(
  messages: readonly ModelMessage[],
  { ids, used, legal }: Pick<Kept, 'ids' | 'used'> & { readonly legal: RegExp },
): void {
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.content) {
      // An exchange that is read again has its ids already.
      if (part.type !== 'tool-call' || ids.has(part.callId)) continue;
      const own = part.providerCallId;
      const id = legal.test(own) && !used.has(own) ? own : derivedId(part.callId, { used, legal });
      ids.set(part.callId, id);
      used.add(id);
    }
  }
}

function derivedId(callId: string, { used, legal }: { used: ReadonlySet<string>; legal: RegExp }): string {
  const base = callId.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(-40) || 'call';
  // Where only short ids without signs are legal, a number stands for ours.
  const short = !legal.test(base);
  let id = short ? shortId(base, 1) : base;
  for (let n = 2; used.has(id); n += 1) id = short ? shortId(base, n) : `${base.slice(0, 39 - String(n).length)}-${n}`;
  return id;
}

/** Nine letters and digits that depend on nothing but `base` and `n`. */
function shortId(base: string, n: number): string {
  let sum = 5381n;
  for (const character of `${base}#${n}`) sum = (sum * 33n + BigInt(character.codePointAt(0) ?? 0)) % 36n ** 9n;
  return sum.toString(36).padStart(9, '0');
}
