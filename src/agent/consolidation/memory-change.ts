import { mergeFacts } from '../../memory/consolidation/merge-facts.ts';
import type { MemoryStore } from '../../memory/files/store.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { raceAbort } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { MemoryChange, MemoryQuestion } from './progress.ts';

/** What archiving needs of the memory on disk. */
export type MemoryFiles = Pick<MemoryStore, 'read' | 'replace' | 'propose' | 'appendRendered'>;

/** A change of MEMORY.md that only the owner may decide. */
export interface MemoryRequest {
  /** The same question again, after a restart too, has the same id. */
  readonly id: string;
  readonly session: string;
  /** `shrinks`: more than half of it would be lost. `untrusted`: it was made from words of strangers. */
  readonly why: 'shrinks' | 'untrusted';
  readonly before: string;
  readonly after: string;
}

/** True only when the owner agrees; silence is no. */
export type ConfirmMemory = (request: MemoryRequest, signal: AbortSignal) => Promise<boolean>;

export interface MemoryPorts {
  readonly memory: MemoryFiles;
  readonly log: Logger;
}

interface ChangePorts extends MemoryPorts {
  /** Keeps what is about to be tried, so that a crash after it is seen. */
  readonly keep: (change: MemoryChange) => Promise<void>;
  /** What the model makes of the text as it is now; undefined when it cannot say. */
  readonly askAgain: (now: { readonly text: string; readonly hash: string }) => Promise<string | null | undefined>;
}

/** MEMORY.md for a model that will write it anew; null when it cannot be read or `fits` says no. */
export async function readToRewrite(
  { memory, log }: MemoryPorts,
  fits: (text: string) => boolean,
): Promise<{ readonly text: string; readonly hash: string } | null> {
  try {
    const now = await memory.read();
    if (fits(now.text)) return now;
    log.warn('MEMORY.md is too long for the model to write it anew, so nothing is added to it: shorten it');
  } catch (error) {
    log.warn('memory: MEMORY.md stays as it is', { reason: errorMessage(error) });
  }
  return null;
}

const MOST_TRIES = 6;
const REASON = 'consolidation';

/**
 * Puts a new text of MEMORY.md in its place. When the file was changed meanwhile the model is asked once more, and
 * after that the change is merged. May be repeated after a crash.
 */
export async function changeMemory(
  first: MemoryChange,
  ports: ChangePorts,
): Promise<'unchanged' | 'changed' | MemoryQuestion> {
  const { memory, log } = ports;
  let change = first;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    if (isSame(change.update, change.base)) return 'unchanged';
    if (change.untrusted) return { ...change, why: 'untrusted' };
    const replaced = await memory.replace(change.update, { ifHash: change.hash, reason: REASON });
    if (replaced.ok) return 'changed';
    if (replaced.why === 'shrinks') return { ...change, why: 'shrinks' };
    const now = await memory.read();
    if (isSame(now.text, change.update)) return 'changed';
    const again = change.askedAgain ? undefined : await ports.askAgain(now);
    const update = again === undefined ? mergeFacts(change.base, change.update, now.text) : (again ?? now.text);
    change = { ...change, base: now.text, hash: now.hash, update, askedAgain: true };
    await ports.keep(change);
  }
  await memory.propose(change.update, REASON);
  log.warn('MEMORY.md was changed all the time, so the new text is kept as a proposal');
  return 'unchanged';
}

/** What became of a question that the owner was asked; the sentence is for them. */
export async function settleQuestion(
  question: MemoryQuestion,
  request: Pick<MemoryRequest, 'id' | 'session'>,
  ports: MemoryPorts & { readonly confirm: ConfirmMemory | null; readonly signal: AbortSignal },
): Promise<{ readonly agreed: true } | { readonly agreed: false; readonly sentence: string }> {
  const { memory, confirm, signal, log } = ports;
  const { why, base: before, update: after } = question;
  const asked = confirm === null ? false : raceAbort(confirm({ ...request, why, before, after }, signal), signal);
  const agreed = await asked;
  try {
    if (agreed && (await putAgreed(question, memory))) return { agreed: true };
  } catch (error) {
    // A text that is too long, say: it can only be kept beside.
    log.error('an agreed change of MEMORY.md could not be made', { reason: errorMessage(error) });
  }
  const id = await memory.propose(
    after,
    why === 'shrinks' ? `${REASON}, shorter by more than half` : `${REASON}, not trusted`,
  );
  const because =
    why === 'shrinks'
      ? 'the new one would have lost more than half of it'
      : 'the new one comes from words that are not yours';
  return {
    agreed: false,
    sentence: `I left MEMORY.md as it is, because ${because}. The new one is kept; to take it, run \`${assistantCommand(`memory restore ${id}`)}\`.`,
  };
}

async function putAgreed({ base, hash, update }: MemoryQuestion, memory: MemoryFiles): Promise<boolean> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const now = await memory.read();
    const text = now.hash === hash ? update : mergeFacts(base, update, now.text);
    const replaced = await memory.replace(text, { ifHash: now.hash, reason: `${REASON}, agreed`, allowShrink: true });
    if (replaced.ok) return true;
  }
  return false;
}

function isSame(a: string, b: string): boolean {
  return a.trim() === b.trim();
}
