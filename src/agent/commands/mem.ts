import type { InboundMessage } from '../../bus/messages.ts';
import type { Command } from './command.ts';

interface MemPorts {
  /** Archives the conversation of a message with a note; returns what to say. `stop`: nobody waits any more. */
  readonly archive: (message: InboundMessage, note: string, stop: AbortSignal) => Promise<string>;
}

export const memCommand = ({ archive }: MemPorts): Command => ({
  name: 'mem',
  description: 'put this conversation into memory now; `/mem text` adds a note to it',
  role: 'owner',
  priority: false,
  interrupts: false,
  run: ({ message, args, signal }) => archive(message, args, signal),
});
