import type { InboundMessage } from '../../bus/messages.ts';
import { plural } from '../../util/text.ts';
import type { Command } from './command.ts';

/** What became of a /mem. */
export type MemResult =
  | { readonly result: 'nothing-new' | 'stopped' }
  | { readonly result: 'failed'; readonly reason: string }
  | {
      readonly result: 'archived';
      /** None: only the note was new. */
      readonly exchanges: number;
      /** `not-here`: this chat does not change MEMORY.md. `asked`: the owner is asked whether it may change. */
      readonly memory: 'changed' | 'unchanged' | 'asked' | 'not-here';
    };

interface MemPorts {
  /** Archives the conversation of a message with a note. `stop` aborts when nobody waits any more. */
  readonly archive: (message: InboundMessage, note: string, stop: AbortSignal) => Promise<MemResult>;
}

const MEMORY = {
  changed: 'MEMORY.md was brought up to date.',
  unchanged: 'MEMORY.md stays as it is.',
  asked: 'MEMORY.md changes only if you agree.',
  'not-here': 'MEMORY.md is only written from your direct chats.',
} as const;

export const memCommand = ({ archive }: MemPorts): Command => ({
  name: 'mem',
  description: 'put this conversation into memory now; `/mem text` adds a note to it',
  role: 'owner',
  priority: false,
  interrupts: false,
  run: async ({ message, args, signal }) => sentence(await archive(message, args, signal)),
});

function sentence(archived: MemResult): string {
  switch (archived.result) {
    case 'nothing-new':
      return 'There is nothing new to archive since the last time.';
    case 'stopped':
      return 'I stopped archiving.';
    case 'failed':
      return `I could not archive this: ${archived.reason} /mem tries again.`;
    case 'archived': {
      const { exchanges, memory } = archived;
      const what = exchanges === 0 ? 'your note' : plural(exchanges, 'exchange');
      return `I archived ${what} in HISTORY.md. ${MEMORY[memory]}`;
    }
  }
}
