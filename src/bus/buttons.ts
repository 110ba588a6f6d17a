import { SAY_BUTTON, type InboundMessage } from './messages.ts';

/** Ids of the buttons under a question whether something may run: one of these and the question's code. */
export const APPROVAL_BUTTONS = { approve: 'approve:', always: 'always:', deny: 'deny:' } as const;

/** Ids of the buttons under a question with choices: this, its code, `:`, and the number of the choice. */
export const CHOICE_BUTTON = 'ask:';

/** What a conversation held when a model made a button, as in security/access/taint.ts. */
interface HeldThen {
  readonly untrusted: boolean;
  readonly private: boolean;
}

/** `w`, the bits as one digit, a colon; it leaves 61 of the 64 bytes that the strictest platform takes. */
const WORDS = /^w(?<bits>[0-3]):/u;

/** The id of a button whose label a model chose: a press says the label, as words and never as a command. */
export function wordsButton(label: string, held: HeldThen): string {
  return `w${(held.untrusted ? 1 : 0) + (held.private ? 2 : 0)}:${label}`;
}

/** What a press says; empty when the button is no one's words. */
export function saidByPress(id: string): string {
  if (id.startsWith(SAY_BUTTON)) return id.slice(SAY_BUTTON.length);
  const prefix = WORDS.exec(id)?.[0];
  return prefix === undefined ? '' : id.slice(prefix.length);
}

/** For a press of a button whose label a model chose: what its conversation held then. Null for everything else. */
export function heldAtButton({ action }: Pick<InboundMessage, 'action'>): HeldThen | null {
  const digit = WORDS.exec(action?.id ?? '')?.groups?.['bits'];
  if (digit === undefined) return null;
  const bits = Number(digit);
  return { untrusted: (bits & 1) !== 0, private: (bits & 2) !== 0 };
}
