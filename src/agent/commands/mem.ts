import type { InboundMessage } from '../../bus/messages.ts';
import { oneLine, plural } from '../../util/text.ts';
import type { Command } from './command.ts';

/** What became of a /mem. */
export type MemResult =
  | { readonly result: 'nothing-new' | 'stopped' }
  | {
      readonly result: 'failed';
      readonly reason: string;
      /** That is kept all the same. @default none */ readonly note?: string;
    }
  | {
      readonly result: 'archived';
      /** None: only the note was new. */
      readonly exchanges: number;
      /** What the owner added; null: nothing. */
      readonly note: string | null;
      /** `not-here`: this chat does not change MEMORY.md. `asked`: the owner is asked whether it may change. */
      readonly memory: 'changed' | 'unchanged' | 'asked' | 'not-here';
    };

interface MemPorts {
  /** Archives the conversation of a message with a note. `stop` aborts when nobody waits any more. */
  readonly consolidate: (message: InboundMessage, note: string, stop: AbortSignal) => Promise<MemResult>;
}

/** Characters of a note that the reply repeats. */
const LONGEST_NOTE = 300;
const MEMORY = {
  changed: 'MEMORY.md was brought up to date.',
  unchanged: 'MEMORY.md stays as it is.',
  asked: 'MEMORY.md changes only if you agree.',
  'not-here': 'MEMORY.md is only written from your direct chats.',
} as const;

export const memCommand = ({ consolidate }: MemPorts): Command => ({
  name: 'mem',
  description: 'put this conversation into memory now; `/mem text` adds a note to it',
  role: 'owner',
  priority: false,
  interrupts: false,
  run: async ({ message, args, signal }) => sentence(await consolidate(message, args, signal)),
});

function sentence(consolidated: MemResult): string {
  switch (consolidated.result) {
    case 'nothing-new':
      return 'There is nothing new to archive since the last time.';
    case 'stopped':
      return 'I stopped archiving.';
    case 'failed':
      return consolidated.note === undefined
        ? `I could not archive this: ${consolidated.reason} /mem tries again.`
        : `${kept(consolidated.note)} I could not archive the conversation: ${consolidated.reason} /mem tries again.`;
    case 'archived': {
      const { exchanges, memory, note } = consolidated;
      return [
        ...(note === null ? [] : [kept(note)]),
        ...(exchanges === 0 ? [] : [`I archived ${plural(exchanges, 'exchange')} in HISTORY.md.`]),
        MEMORY[memory],
      ].join(' ');
    }
  }
}

function kept(note: string): string {
  return `I kept your note “${oneLine(note, LONGEST_NOTE)}” in HISTORY.md.`;
}
