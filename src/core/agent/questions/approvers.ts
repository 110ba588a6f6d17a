import type { AskedRequest } from '../../journal/questions.ts';

/** The answer of a person at a terminal: yes, no, yes from now on, or no with a reason. */
export type Reply = boolean | 'always' | { readonly reason: string };

/**
 * Asks the person at a terminal. Rejects when the terminal is closed or the signal aborts; with `approver-gone` when
 * somebody else has to be asked.
 */
export type Approver = (request: AskedRequest & { readonly id: string }, signal: AbortSignal) => Promise<Reply>;
