import type { InboundMessage, Role } from '../../bus/messages.ts';
import { atLeast } from '../../security/access/access.ts';
import { nearest } from '../../util/text.ts';
import type { Command } from './command.ts';
import { parseCommand } from './parse.ts';

/** Other words for a command. `start` is what Telegram sends when a chat is opened. */
const ALIASES: Readonly<Record<string, string>> = { start: 'help', reset: 'new', clear: 'new' };

export type FoundCommand =
  | { readonly type: 'command'; readonly command: Command; readonly args: string }
  | { readonly type: 'refused'; readonly reason: string };

export interface CommandTableOptions {
  /** In the order in which /help shows them. */
  readonly commands: readonly Command[];
  /** The command that runs a tool directly, for `,name`. */
  readonly comma?: (name: string) => Command;
  /** A sentence about a channel on which nobody is owner; null: somebody is. @default nothing is known of that */
  readonly ownerless?: (channel: string) => string | null;
  /** Skills that people may call as `/name`; a message that does is an ordinary one. */
  readonly skills?: () => Promise<ReadonlySet<string>>;
}

/** Every chat command; some act where messages are accepted and are only listed here (answers.ts). */
export class CommandTable {
  readonly #options: CommandTableOptions;

  constructor(options: CommandTableOptions) {
    this.#options = options;
  }

  /** What a role may use. */
  of(role: Role): readonly Command[] {
    return this.#options.commands.filter((command) => atLeast(role, command.role));
  }

  /** The command that a message asks for at once; `unknown` may still be a skill; null: an ordinary message. */
  find(message: InboundMessage): FoundCommand | 'unknown' | null {
    const parsed = parseCommand(message);
    if (parsed === null) return null;
    const { type, args } = parsed;
    if (type === 'comma') return this.#comma(parsed.name, args, message);
    const name = ALIASES[parsed.name] ?? parsed.name;
    const command = this.#options.commands.find((candidate) => candidate.name === name);
    if (command === undefined) return parsed.colon ? null : 'unknown';
    if (!atLeast(message.role, command.role)) {
      return this.#refused(message, `/${name} is for the ${command.role} only.`, command);
    }
    return { type: 'command', command, args };
  }

  /** The same, with skills looked up: a skill's name makes an ordinary message. */
  async resolve(message: InboundMessage): Promise<FoundCommand | null> {
    const found = this.find(message);
    if (found !== 'unknown') return found;
    const name = parseCommand(message)?.name ?? '';
    const skills = (await this.#options.skills?.()) ?? new Set<string>();
    if (skills.has(name)) return null;
    const guess = nearest(name, [...this.of(message.role).map((command) => command.name), ...skills]);
    const hint = guess === undefined ? '' : ` Did you mean /${guess}?`;
    return { type: 'refused', reason: `There is no command /${name}.${hint} /help lists what there is.` };
  }

  /** What only owners may use, by name. */
  ownersOnly(): readonly string[] {
    return this.#options.commands.flatMap(({ name, role }) => (role === 'owner' ? [name] : []));
  }

  /** Somebody who may be the owner and is not, because nobody is, is told what to set. */
  #refused({ role, channel, chatType }: InboundMessage, reason: string, command: Command): FoundCommand {
    const isOwnersOnly = chatType === 'direct' && role === 'trusted' && command.role === 'owner';
    const why = isOwnersOnly ? (this.#options.ownerless?.(channel) ?? null) : null;
    return { type: 'refused', reason: why === null ? reason : `${reason} ${why}` };
  }

  #comma(name: string, args: string, message: InboundMessage): FoundCommand | null {
    const command = this.#options.comma?.(name);
    if (command === undefined) return null;
    if (atLeast(message.role, command.role)) return { type: 'command', command, args };
    return this.#refused(message, `,${name} runs a tool directly; that is for the ${command.role} only.`, command);
  }
}
