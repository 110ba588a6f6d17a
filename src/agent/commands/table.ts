import type { InboundMessage } from '../../bus/messages.ts';
import { atLeast } from '../../security/access.ts';
import { nearest } from '../../util/text.ts';
import type { Command } from './command.ts';
import { modelCommand } from './model.ts';
import { newCommand } from './new.ts';
import { retryCommand } from './retry.ts';
import { statusCommand } from './status.ts';
import { usageCommand } from './usage.ts';

const help: Command = {
  name: 'help',
  description: 'what I understand',
  role: 'guest',
  priority: true,
  interrupts: false,
  run: async ({ message }) =>
    [
      'Write what you want, in your own words. I can also take these commands:',
      ...COMMANDS.filter((command) => atLeast(message.role, command.role)).map(
        (command) => `- /${command.name}: ${command.description}`,
      ),
      '- /stop: stop what is running here and drop what waits',
    ].join('\n'),
};

/** Every chat command but /stop, which acts where messages are accepted (journal/stop.ts). */
const COMMANDS: readonly Command[] = [help, newCommand, retryCommand, statusCommand, usageCommand, modelCommand];

/** Other words for a command. `start` is what Telegram sends when a chat is opened. */
const ALIASES: Readonly<Record<string, string>> = { start: 'help', reset: 'new', clear: 'new' };

/** A message whose first word is `/word`. Paths such as `/etc/hosts` are not commands; nor are other people's words. */
export function isCommand(message: InboundMessage): boolean {
  return parse(message) !== null;
}

export type FoundCommand =
  | { readonly type: 'command'; readonly command: Command; readonly args: string }
  | { readonly type: 'refused'; readonly reason: string };

/** The command that a message asks for; null when it is an ordinary message. */
export function findCommand(message: InboundMessage): FoundCommand | null {
  const parsed = parse(message);
  if (parsed === null) return null;
  const name = ALIASES[parsed.name] ?? parsed.name;
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command === undefined) {
    const guess = nearest(name, [...COMMANDS.map((candidate) => candidate.name), 'stop']);
    const hint = guess === undefined ? '' : ` Did you mean /${guess}?`;
    return { type: 'refused', reason: `There is no command /${parsed.name}.${hint} /help lists what there is.` };
  }
  if (!atLeast(message.role, command.role)) {
    return { type: 'refused', reason: `/${name} is for the ${command.role} only.` };
  }
  return { type: 'command', command, args: parsed.args };
}

function parse({ text, untrusted }: InboundMessage): { readonly name: string; readonly args: string } | null {
  if (untrusted) return null;
  const match = /^\/(?<name>[a-z][\w-]*)(?:@\w+)?(?:\s+(?<args>[\s\S]*))?$/iu.exec(text.trim());
  if (match?.groups === undefined) return null;
  return { name: (match.groups['name'] ?? '').toLowerCase(), args: (match.groups['args'] ?? '').trim() };
}
