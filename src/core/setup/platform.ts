import { text, type Option } from '../cli/values.ts';
import type { PluginChannel } from '../plugins/plugin.ts';
import type { Clock } from '../util/clock.ts';
import type { Asker } from './asker.ts';

/** What the platform said of a token; a string is what is wrong with it, `offline` why no one could be asked. */
export type Checked<Facts = BotFacts> = { readonly facts: Facts } | string | { readonly offline: string };

/** What a platform says of a bot once it took its token. */
export interface BotFacts {
  /** How people find it there; '' has no name. */
  readonly name: string;
  /** A switch without which it does not work, and where it is. Undefined: it is on. */
  readonly missing?: string;
  /** The account that made the bot, which is probably its owner's. */
  readonly maker?: { readonly id: string; readonly name: string };
  /** The link that adds it to a place where it can write to its owner. */
  readonly invitation?: string;
}

/** A bot as setup and doctor reach it. */
export interface Bot {
  /** Its entry in the configuration, with the tokens to use. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
}

interface TokenStep {
  /** Begins the sentence that it is right. */
  readonly title: string;
  readonly question: string;
  /** Asks the platform about this token in the bot's settings. Never rejects. */
  readonly check: (bot: Bot) => Promise<Checked>;
}

/** The person who sent the code. */
export interface CodeSender {
  readonly id: string;
  /** '' is not known. */
  readonly name: string;
}

/** A chat platform as data for the one script of `assistant init`; doctor asks it about tokens, too. */
export interface Platform {
  /** Says where a bot and its tokens come from. */
  readonly explain: (person: Asker) => void | Promise<void>;
  /** The tokens by their keys in an entry, in the order in which they are asked for. Facts count from the first. */
  readonly tokens: Readonly<Record<string, TokenStep>>;
  /** How the owner proves their account with a code. @default by being the bot's maker */
  readonly code?: {
    /** How to send it; said before "That makes you its owner.". */
    readonly send: (name: string, code: string) => string;
    /**
     * Waits for a direct message for which `isCode` is true, and consumes it. A string says why there can be none. Rejects
     * with what it likes when `signal` aborts.
     */
    readonly sender: (
      bot: Bot,
      isCode: (text: string | undefined) => boolean,
      signal: AbortSignal,
    ) => Promise<CodeSender | string>;
    /** Said when it did not come in time. */
    readonly missed: string;
  };
  /** Asks for the owner's id where nothing else found it. @default the platform is left out */
  readonly idQuestion?: string;
  /** Whether the invitation was followed. @default there is none */
  readonly isInvited?: (bot: Bot) => Promise<boolean>;
  /** Writes to the owner. Rejects if it cannot. */
  readonly greet: (bot: Bot, owner: string, words: string) => Promise<void>;
}

/** How `assistant init` sets up a channel of this kind, whose `config` has its title and its usual variables. */
export interface ChannelSetup {
  /** As in "on Discord". */
  readonly where: string;
  /** What its tokens are called in the help, by their keys. `botToken` of Slack is the option `--slack-bot-token-env`. */
  readonly tokens: Readonly<Record<string, string>>;
  /** The id that makes a person the owner, `--discord-owner`. */
  readonly owner: {
    /** What it is called in the help. */
    readonly title: string;
    readonly form: RegExp;
    /** Said of one that has another form. */
    readonly problem: string;
  };
  /** Loaded when it is set up or examined. */
  readonly platform: () => Promise<Platform>;
}

/** The option that names the environment variable of a token. */
export const tokenOption = (kind: string, key: string): string =>
  `${kind}${key.charAt(0).toUpperCase()}${key.slice(1)}Env`;

/** The option that makes a person the owner. */
export const ownerOption = (kind: string): string => `${kind}Owner`;

/** The options that a kind of channel adds to `assistant init`, by their names. */
export function setupOptions({
  kind,
  setup,
}: Pick<PluginChannel, 'kind' | 'setup'>): Readonly<Record<string, Option<string | undefined>>> {
  if (setup === undefined) return {};
  const tokens = Object.entries(setup.tokens).map(([key, title]) => [
    tokenOption(kind, key),
    text('<variable>', `the environment variable that holds ${title}`),
  ]);
  const owner = text('<id>', `${setup.owner.title}: it makes you the owner there`);
  return Object.fromEntries([...tokens, [ownerOption(kind), owner]]);
}
