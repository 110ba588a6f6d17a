import type { Hooks } from '../agent/hooks/hooks.ts';
import type { Channel, ChannelError, SendError } from '../channels/channel.ts';
import type { Tool } from '../tools/tool.ts';

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
}

/** A kind of channel. */
export interface PluginChannel {
  /** What stands as `kind` in `config.channels`; the kinds of the assistant itself cannot be replaced. */
  readonly kind: string;
  /** Which form of text it shows, one sentence that tells the model what to write. */
  readonly shows: string;
  /** The channel of one entry; `settings` is the entry. Throws with one sentence when it cannot work like that. */
  readonly open: (
    name: string,
    settings: Readonly<Record<string, unknown>>,
    kit: ChannelKit,
  ) => Channel | Promise<Channel>;
}

/** What a package brings. It runs in the assistant's process, with all of its rights. */
export interface Plugin {
  readonly name: string;
  readonly channels?: readonly PluginChannel[] | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly hooks?: Hooks | undefined;
  /** Its hooks are a guard: where one fails or hangs, what it should have decided about is refused. @default false */
  readonly guard?: boolean | undefined;
}

/** Gives a plugin its type; the module's default export is what this returns. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
