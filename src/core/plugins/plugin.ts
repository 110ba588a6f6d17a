import type { Channel, ChannelContext, ChannelError, SendError } from '../channels/channel.ts';
import type { Provider } from '../providers/provider.ts';
import type { ChannelSettingsKind } from '../config/schema/channels.ts';
import type { ChannelSetup } from '../setup/platform.ts';
import type { Extension } from '../extension.ts';
import type { ChatAddress } from '../tools/tool.ts';

type InboundDraft = Parameters<ChannelContext['accept']>[0][number];

/** Somebody who speaks, and where. */
export interface Speaker {
  /** The platform's immutable id. */
  readonly senderId: string;
  readonly isBot: boolean;
  /** It is the assistant's own account. */
  readonly isSelf: boolean;
  readonly chatType: 'direct' | 'group';
  readonly chatId: string;
}

/** What a channel of a plugin cannot do without and should not make itself. */
export interface ChannelKit {
  readonly SendError: typeof SendError;
  readonly ChannelError: typeof ChannelError;
  /** Markdown as plain text in parts of at most `maxLength` UTF-16 units. */
  readonly plainParts: (markdown: string, maxLength: number) => readonly string[];
  readonly html: HtmlKit;
  /**
   * Markdown as parts of at most `maxLength` UTF-16 units for a platform that reads Markdown itself. Each stands alone, a block
   * of code that is cut is closed and opened again; signs and tags in the text are written as entities.
   */
  readonly markdownParts: (markdown: string, maxLength: number) => readonly string[];
  /** The same for a text whose own Markdown is not to be read; for `Channel.plain`. */
  readonly literalParts: (text: string, maxLength: number) => readonly string[];
  /**
   * The role of a sender, by the people and groups of the channel's entry in the configuration. Messages of a
   * `stranger` must not be passed on; in a direct chat call `context.requestPairing` instead. A `nobody` gets no answer
   * at all.
   */
  readonly roleOf: (
    speaker: Speaker,
    /** Pass `context.pairedRole`; with `context.isPaired`, paired people are `trusted`, but paired guests are strangers. */
    pairedRole: (senderId: string) => 'owner' | 'trusted' | 'guest' | boolean | undefined,
  ) => 'owner' | 'trusted' | 'guest' | 'stranger' | 'nobody';
  /**
   * Decides by the entry's `groups` whether a message gets an answer. Returns the draft to write, with the messages before
   * it as context; null: none, the message is kept in memory as context of a later one. `draft.mentioned` says whether it
   * addresses the assistant. Messages of direct chats and pressed buttons are returned as they are.
   */
  readonly groupMessage: (
    draft: InboundDraft,
    context: Pick<ChannelContext, 'clock' | 'log' | 'passOver'>,
  ) => InboundDraft | null;
  /** The text of a message that a pressed button sends; empty when the button only answers a question. */
  readonly textOfPress: (buttonId: string) => string;
}

/**
 * Text as HTML for platforms that show it. A part stands alone, shows at most `maxLength` UTF-16 units and is itself at most
 * three times as long; its tags are `b`, `i`, `s`, `code`, `pre`, `blockquote` and `a` with a web address, and its lines end
 * with line breaks, not with tags.
 */
export interface HtmlKit {
  /** Markdown, for `Channel.render`. HTML in it is shown as text. */
  readonly parts: (markdown: string, maxLength: number) => readonly string[];
  /** Text as it is, for `Channel.plain`. */
  readonly literal: (text: string, maxLength: number) => readonly string[];
  /** What a part shows, without its tags. */
  readonly text: (part: string) => string;
}

/** A kind of channel. */
export interface PluginChannel {
  /** What stands as `kind` in `config.channels`; the kinds of the assistant itself cannot be replaced. */
  readonly kind: string;
  /** Which form of text it shows, one sentence that tells the model what to write. */
  readonly shows: string;
  /** Its keys in an entry of the configuration, which are then checked and documented as those of the core. @default it checks them itself */
  readonly config?: ChannelSettingsKind;
  /** How `assistant init` sets one up; needs `config`. @default it does not offer it */
  readonly setup?: ChannelSetup;
  /** The channel of one entry; `settings` is the entry. Throws with one sentence when it cannot work like that. */
  readonly open: (
    name: string,
    settings: Readonly<Record<string, unknown>>,
    kit: ChannelKit,
  ) => Channel | Promise<Channel>;
}

/** Who gave a command, and where. */
export interface CommandCall {
  /** The text after the command, trimmed. */
  readonly args: string;
  readonly sessionKey: string;
  readonly chat: ChatAddress;
  /** `id` is the platform's immutable one. */
  readonly sender: { readonly id: string; readonly name?: string };
  readonly role: 'owner' | 'trusted' | 'guest';
  /** Aborts on /stop and when the process ends. */
  readonly signal: AbortSignal;
}

/** A chat command: it runs without the model. */
export interface PluginCommand {
  /** Without the slash: at most 32 small letters, digits and "_". Names of the assistant's own commands cannot be used. */
  readonly name: string;
  /** One line for /help and the menus of platforms. */
  readonly description: string;
  /** The lowest role that may give it. @default 'owner' */
  readonly role?: 'owner' | 'trusted' | 'guest';
  /** The reply, in Markdown. The message of an error is sent to the person. */
  readonly run: (call: CommandCall) => string | Promise<string>;
}

/** A kind of provider. Its models are `<entry>/<model>` for an entry with this kind, or `<kind>/<model>` without one. */
export interface PluginProvider {
  /** What stands as `kind` in `config.providers`; the presets of the assistant cannot be replaced. */
  readonly kind: string;
  /**
   * Opens one entry, at its first call. `settings` is the entry, with one `apiKey` or none. Throws with one sentence when it
   * cannot work like that. What `chat` yields is held to the contract of `Provider`: an event of a wrong form, an error that is
   * thrown and an end that is missing become one `error` event.
   */
  readonly open: (
    name: string,
    settings: Readonly<Record<string, unknown>>,
  ) => Pick<Provider, 'chat'> | Promise<Pick<Provider, 'chat'>>;
}

/** What the plugin serves over HTTP under `/plugins/<package name>/`. Host and origin are checked before, as everywhere. */
export interface PluginRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Begins with a slash, e.g. `/status`; `:name` stands for one part. Of a package it lies below `/plugins/<name>`. */
  readonly path: string;
  /**
   * Makes the route public: it then needs no login, and this decides who may call it, e.g. by a secret in a header that it
   * compares in constant time. False or an error is answered with 401 and slows the caller down. @default the login of the API
   */
  readonly allows?: (request: Request, part: RoutePart) => boolean | Promise<boolean>;
  /** What a caller is told who is not let in. @default `route-refused` */
  readonly refusal?: { readonly code: string; readonly message: string };
  /**
   * Answers within 30 s. The request has no cookie, and without `allows` no `Authorization`; its body has at most 1 MB, and without
   * `allows` it is JSON.
   */
  readonly handle: (request: Request, part: RoutePart) => Response | Promise<Response>;
}

/** What stands for `:name` in the path of a request. */
export type RoutePart = (name: string) => string;

/** What a package brings. It runs in the assistant's process, with all of its rights. */
export type Plugin = Extension;

/** Gives a kind of provider its type, for `Plugin.providers` and for a program that brings its own. */
export function defineProvider(provider: PluginProvider): PluginProvider {
  return provider;
}
