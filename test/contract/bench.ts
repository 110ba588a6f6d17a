import type { Assistant } from '../../src/app.ts';
import type { PluginPackage } from '../support/plugin-package.ts';

/**
 * What the contract suite needs of a platform. A platform joins the suite with one file that fills this in over its
 * double, and one test file that hands it to `describeChannel`.
 */
export interface PlatformBench {
  /** The `kind` of the channel. */
  readonly kind: string;
  /** The package that brings the kind. @default the assistant has it itself */
  readonly plugin?: PluginPackage;
  /** What the platform, or our channel for it, does not have, each with the reason; what needs it is listed as skipped. */
  readonly lacks: Readonly<Partial<Record<Ability, string>>>;
  /** A bot with a platform of its own that nobody has written to. */
  openBot(facts: BotFacts): Promise<BotBench>;
}

export type Ability =
  /** More people than the owner: lists of ids, pairing, strangers. */
  | 'people'
  /** Several bots of this kind in one configuration. */
  | 'instances'
  | 'groups'
  | 'threads'
  /** Messages of other bots reach it. */
  | 'bots'
  /** People edit what they wrote. */
  | 'edits'
  /** People answer a message, or a part of it. */
  | 'replies'
  | 'forwards'
  | 'buttons'
  | 'files'
  | 'albums'
  /** The bot reacts to messages, and is told how people react to its own. */
  | 'reactions'
  | 'stickers'
  /** Locations and contacts. */
  | 'places'
  /** Markdown becomes the platform's own markup. */
  | 'markup'
  /** The platform can refuse a message for its markup alone. */
  | 'refused markup'
  /** A message has a longest length. */
  | 'limit'
  /** Answers are shown while they are written. */
  | 'previews'
  | 'typing'
  /** The platform shows a menu of commands. */
  | 'menu'
  /** There is a connection that can fail, and a server that can refuse. */
  | 'network'
  /** What is written while nobody listens is kept and can be had later. */
  | 'backlog';

export interface BotFacts {
  /** The key in `config.channels`. */
  readonly name: string;
  /** Its credentials are not those that the platform gave out. */
  readonly wrongCredentials?: boolean;
}

export interface Person {
  /** The platform's immutable id, as the configuration lists it. */
  readonly id: string;
  readonly name: string;
  readonly isBot: boolean;
}

export interface Place {
  /** As in `InboundMessage`. */
  readonly chatId: string;
  readonly threadId?: string;
  readonly type: 'direct' | 'group';
}

export interface OfferedFile {
  readonly kind: 'image' | 'voice' | 'document';
  readonly name: string;
  readonly bytes: Uint8Array;
  /** What the platform says of its size, where that is not the truth. Bytes. */
  readonly claimedSize?: number;
}

export interface UserMessage {
  readonly by: Person;
  readonly text: string;
  /** The bot is mentioned in the platform's own way; in a direct chat that is never needed. */
  readonly mention?: boolean;
  /** The id of a message here, the person's or the assistant's. */
  readonly replyTo?: string;
  /** The part of it that was marked. */
  readonly quote?: string;
  /** Somebody else wrote it. */
  readonly forwarded?: boolean;
  readonly files?: readonly OfferedFile[];
  readonly special?: { readonly sticker: string } | { readonly location: readonly [number, number] };
}

/** A message of the assistant's as people see it now. */
export interface Seen {
  readonly id: string;
  /** Without markup, as it is read. */
  readonly text: string;
  /** With the platform's own markup. */
  readonly raw: string;
  /** What it said before each edit, oldest first. */
  readonly before: readonly string[];
  readonly replyTo: string | undefined;
  readonly threadId: string | undefined;
  /** Labels, in reading order. */
  readonly buttons: readonly string[];
  readonly file: { readonly kind: string; readonly name: string; readonly bytes: Uint8Array } | undefined;
}

/** What happens to calls that send a message or edit one. */
export type Fault =
  /** Too many: to be tried again after one second. */
  | 'throttled'
  /** The platform's own error, in its own form. */
  | 'server-error'
  /** The connection breaks; the message was not taken. */
  | 'lost-before'
  /** The message is taken, then the connection breaks. */
  | 'lost-after'
  /** Refused for good: blocked, removed from the chat. */
  | 'blocked'
  /** No answer ever, nothing taken. */
  | 'hang'
  /** The markup is refused, its words would not be. */
  | 'markup-refused';

/** One bot and its platform. Ids and chats that it makes are new each time. */
export interface BotBench extends AsyncDisposable {
  /** What stands under `config.channels.<name>` beside people, groups and `stream`. */
  readonly config: Readonly<Record<string, unknown>>;
  /** As the platform calls the bot. */
  readonly botName: string;
  /** Called after each start of the assistant, and with undefined before it stops. */
  connect(assistant: Assistant | undefined): void;
  person(name: string, options?: { readonly isBot?: boolean }): Person;
  /** Where this person talks to the bot alone. The same place each time, unless the platform has more of them. */
  direct(person: Person): Place;
  group(): Place;
  thread(group: Place): Place;
  /** Somebody writes; returns the message's id. */
  sends(place: Place, userMessage: UserMessage): string;
  /** The messages of an album, sent as one. */
  album(place: Place, by: Person, files: readonly OfferedFile[], caption: string): void;
  edits(place: Place, id: string, by: Person, text: string): void;
  /** Somebody presses the button with this label. */
  presses(place: Place, seen: Seen, label: string, by: Person): void;
  /** Somebody reacts to a message of the assistant's, or takes that back. Left out: `lacks` names `reactions`. */
  reacts?(place: Place, seen: Seen, by: Person, emoji: string, options?: { readonly takenBack?: boolean }): void;
  /** The assistant's own reactions on a message of somebody's. Left out: as `reacts`. */
  marks?(place: Place, id: string): readonly string[];
  /** The bot's own words come back to it, as some platforms do. */
  echoes(place: Place, text: string): void;
  /** The platform hands a message out once more. */
  repeats(id: string): void;
  /** The assistant's messages there as they stand now, oldest first. */
  seen(place: Place): readonly Seen[];
  /** How often "typing" was shown there. */
  typed(place: Place): number;
  /** How many files the assistant asked for. */
  fetched(): number;
  /** The next `times` sends or edits in this chat go wrong so. */
  fault(place: Place, fault: Fault, times?: number): void;
  /** Cuts every open connection; new ones are taken. */
  cut(): void;
  /** The names in the platform's menu. */
  menu(): readonly string[];
}
