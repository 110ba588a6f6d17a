import { COMMAND_NAMES } from '../../bus/commands.ts';
import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { Origins } from '../../bus/origins.ts';
import { atLeast } from '../../security/access/access.ts';
import { nearest } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';
import { parseCommand } from './parse.ts';

/** Other names of commands. */
const ALIASES: Readonly<Record<string, string>> = { reset: 'new', clear: 'new' };

/** Whether the assistant has a command of this name, or another name of one. */
export function isBuiltInCommand(name: string): boolean {
  return COMMAND_NAMES.includes(name) || Object.hasOwn(ALIASES, name);
}

export type FoundCommand =
  | { readonly type: 'command'; readonly command: ChatCommand; readonly args: string }
  | { readonly type: 'refused'; readonly reason: string };

export interface CommandTableOptions {
  readonly origins: Origins;
  /** In the order in which /help shows them. */
  readonly commands: readonly ChatCommand[];
  /** Those of plugins now. @default none */
  readonly plugged?: () => readonly ChatCommand[];
  /** Makes the command for a message `,NAME …`, which runs the tool NAME directly. @default such messages are ordinary ones */
  readonly comma?: (name: string) => ChatCommand;
  /** One sentence that a channel has no owner, with the next step; null when it has one. @default always null */
  readonly ownerless?: (channel: string) => string | null;
  /** Names of the skills that people may call as `/name`. A message that calls one begins an ordinary turn. */
  readonly skills?: () => Promise<ReadonlySet<string>>;
}

/** All commands of a chat. /stop, /approve and /deny act when the message is accepted; here they are only listed. */
export class CommandTable {
  readonly #options: CommandTableOptions;

  constructor(options: CommandTableOptions) {
    this.#options = options;
  }

  /** The commands that a role may use, in the order of /help. */
  of(role: Role): readonly ChatCommand[] {
    return this.#all().filter((command) => atLeast(role, command.role));
  }

  /** Finds the command that a message calls. `unknown`: no command has that name, but a skill may. Null: an ordinary message. */
  find(message: InboundMessage): FoundCommand | 'unknown' | null {
    if (this.#options.origins.of(message.origin).mayCommand !== true) return null;
    const parsed = parseCommand(message);
    if (parsed === null) return null;
    const { type, args } = parsed;
    if (type === 'comma') return this.#comma(parsed.name, args, message);
    const name = ALIASES[parsed.name] ?? parsed.name;
    const command = this.#all().find((candidate) => candidate.name === name);
    if (command === undefined) return parsed.colon ? null : 'unknown';
    if (!atLeast(message.role, command.role)) {
      return this.#refused(message, `/${name} is for the ${command.role} only.`);
    }
    return { type: 'command', command, args };
  }

  /** As `find`, but `unknown` is decided: null when a skill has that name, else a refusal with the nearest name as a hint. */
  async resolve(message: InboundMessage): Promise<FoundCommand | null> {
    const found = this.find(message);
    if (found !== 'unknown') return found;
    const name = parseCommand(message)?.name ?? '';
    const skills = (await this.#options.skills?.()) ?? new Set<string>();
    if (skills.has(name)) return null;
    const guess = nearest(name, [...this.of(message.role).map((command) => command.name), ...skills]);
    const hints = [...(guess === undefined ? [] : [`Did you mean /${guess}?`]), '/help lists what there is.'];
    const hint = guess === 'help' ? hints[0] : hints.join(' ');
    return { type: 'refused', reason: `There is no command /${name}. ${hint}` };
  }

  /** Names of the commands that only an owner may use. */
  ownersOnly(): readonly string[] {
    return this.#all().flatMap(({ name, role }) => (role === 'owner' ? [name] : []));
  }

  #all(): readonly ChatCommand[] {
    return [...this.#options.commands, ...(this.#options.plugged?.() ?? [])];
  }

  /** Refuses with `reason`. A trusted person in a direct chat also reads how to get an owner, if the channel has none. */
  #refused({ role, channel, chatType }: InboundMessage, reason: string): FoundCommand {
    // A command that a trusted person may not use is for owners.
    const why = chatType === 'direct' && role === 'trusted' ? (this.#options.ownerless?.(channel) ?? null) : null;
    return { type: 'refused', reason: why === null ? reason : `${reason} ${why}` };
  }

  #comma(name: string, args: string, message: InboundMessage): FoundCommand | null {
    const command = this.#options.comma?.(name);
    if (command === undefined) return null;
    if (atLeast(message.role, command.role)) return { type: 'command', command, args };
    return this.#refused(message, `,${name} runs a tool directly; that is for the ${command.role} only.`);
  }
}
