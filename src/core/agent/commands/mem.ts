import type { App } from '../../app.ts';
import { oneLine, plural, sentences } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';

/** The result of /mem. */
export type MemResult =
  | { readonly result: 'nothing-new' | 'stopped' }
  | {
      readonly result: 'failed';
      readonly reason: string;
      /** The note, if it was saved anyway. */ readonly note?: string;
    }
  | {
      readonly result: 'saved';
      /** Number of exchanges that were summarized; 0: only the note was new, or the provider refused all of them. */
      readonly exchanges: number;
      /** What the provider refused, in words; null: nothing. */
      readonly refused: string | null;
      /** The note that the owner added; null: none. */
      readonly note: string | null;
      /** `not-here`: this chat never changes MEMORY.md. `asked`: the owner was asked whether it may change. */
      readonly memory: 'changed' | 'unchanged' | 'asked' | 'not-here';
    };

/** Characters of a note that the reply repeats. */
const LONGEST_NOTE = 300;
const MEMORY = {
  changed: 'I updated MEMORY.md.',
  unchanged: 'MEMORY.md stays as it is.',
  asked: 'MEMORY.md changes only if you approve it: see my question.',
  'not-here': 'MEMORY.md is only written from your direct chats.',
} as const;

export const memCommand = ({ consolidation, redact }: App): ChatCommand => ({
  name: 'mem',
  description: 'save this conversation to memory now; `/mem text` adds a note',
  role: 'owner',
  priority: false,
  interrupts: false,
  run: async ({ message, args, signal }) => sentence(await consolidation.mem(message, redact(args), signal)),
});

function sentence(consolidated: MemResult): string {
  switch (consolidated.result) {
    case 'nothing-new':
      return 'There is nothing new to save to memory since the last time.';
    case 'stopped':
      return 'I stopped; this conversation is not in memory yet.';
    case 'failed':
      return consolidated.note === undefined
        ? sentences(`I could not save this conversation to memory: ${consolidated.reason}`, '/mem tries again.')
        : sentences(
            kept(consolidated.note),
            `I could not save the conversation: ${consolidated.reason}`,
            '/mem tries again.',
          );
    case 'saved': {
      const { exchanges, refused, memory, note } = consolidated;
      return [
        ...(note === null ? [] : [kept(note)]),
        ...(exchanges === 0 ? [] : [`I saved a summary of ${plural(exchanges, 'exchange')} in HISTORY.md.`]),
        ...(refused === null ? [] : [`The provider refused ${refused}, so I left that out.`]),
        MEMORY[memory],
      ].join(' ');
    }
  }
}

function kept(note: string): string {
  return `I saved your note “${oneLine(note, LONGEST_NOTE)}” in HISTORY.md.`;
}
