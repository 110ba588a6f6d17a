import { SAY_BUTTON, type InboundMessage } from './messages.ts';

/** Prefixes of the ids of the buttons under an approval question; the question's code follows. */
export const APPROVAL_BUTTONS = { approve: 'approve:', always: 'always:', deny: 'deny:' } as const;

/** Prefix of the ids of the buttons under a question with choices: `ask:CODE:NUMBER`, the number of the choice. */
export const CHOICE_BUTTON = 'ask:';

/** In the place of the number: the answer is the value of the action, in the person's own words. */
export const TEXT_OF_CHOICE = 'text';

/** The taint of a conversation at the time when its model made a button; as `TaintBits`. */
interface ButtonTaint {
  readonly untrusted: boolean;
  readonly private: boolean;
}

/** Prefix of the id of a model's button: `w`, the taint bits as one digit, `:`. Telegram allows 64 bytes, so 61 are left. */
const WORDS = /^w(?<bits>[0-3]):/u;

/** The id of a button that a model made: a press sends the label as a message, which is never read as a command. */
export function labelButton(label: string, held: ButtonTaint): string {
  return `w${(held.untrusted ? 1 : 0) + (held.private ? 2 : 0)}:${label}`;
}

/** The message text of a press; empty when the button only answers a question. */
export function textOfPress(id: string): string {
  if (id.startsWith(SAY_BUTTON)) return id.slice(SAY_BUTTON.length);
  const prefix = WORDS.exec(id)?.[0];
  return prefix === undefined ? '' : id.slice(prefix.length);
}

/** The taint that a press of a model's button brings with it; null for every other message. */
export function taintOfButton({ action }: Pick<InboundMessage, 'action'>): ButtonTaint | null {
  const digit = WORDS.exec(action?.id ?? '')?.groups?.['bits'];
  if (digit === undefined) return null;
  const bits = Number(digit);
  return { untrusted: (bits & 1) !== 0, private: (bits & 2) !== 0 };
}
