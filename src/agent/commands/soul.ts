import type { InboundMessage } from '../../bus/messages.ts';
import { readSoul, soulQuestion } from '../../memory/files/soul.ts';
import { diffLines } from '../../util/line-diff.ts';
import { cut, plural } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';

interface SoulPorts {
  /** SOUL.md; empty when there is none. */
  readonly read: () => Promise<string>;
  /** Replaces SOUL.md and keeps the old text as a version. False if the file is no longer `before`. */
  readonly replace: (text: string, before: string) => Promise<boolean>;
  /** Asks the session's model one question, without the conversation. */
  readonly ask: (
    question: { readonly system: string; readonly text: string },
    message: InboundMessage,
  ) => Promise<{ readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string }>;
}

const SHOWN_CHANGES = 30;
const SHOWN_LINE = 300;

export const soulCommand = ({ read, replace, ask }: SoulPorts): ChatCommand => ({
  name: 'soul',
  description: 'show my personality file SOUL.md; `/soul wish` changes it as you wish',
  role: 'owner',
  priority: false,
  interrupts: false,
  run: async ({ message, args }) => {
    const soul = await read();
    if (args === '')
      return soul.trim() === ''
        ? 'SOUL.md is empty. Write `/soul` and how you want me to be, to begin it.'
        : soul.trim();
    const answer = await ask(soulQuestion(soul, args), message);
    if (!answer.ok) return kept(answer.reason);
    const next = readSoul(answer.text);
    if (!next.ok) return kept(`${next.problem}.`);
    const changes = diffLines(soul.trim(), next.text.trim()).filter(({ line }) => line.trim() !== '');
    if (changes.length === 0) return 'SOUL.md says that already, so I changed nothing.';
    if (!(await replace(next.text, soul))) return kept('the file was changed at the same moment.');
    const shown = changes.slice(0, SHOWN_CHANGES).map(({ sign, line }) => `${sign} ${cut(line, SHOWN_LINE)}`);
    const more = changes.length - shown.length;
    const rest = more === 0 ? [] : [`… and ${plural(more, 'more line')}`];
    return ['I changed SOUL.md; this applies from my next answer on:', '~~~', ...shown, ...rest, '~~~'].join('\n');
  },
});

function kept(reason: string): string {
  return `I did not change SOUL.md: ${reason}`;
}
