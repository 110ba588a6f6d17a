import type { App } from '../../app.ts';
import type { ConsolidationRow } from '../../journal/consolidations.ts';
import { mergeFacts } from '../../memory/consolidation/merge-facts.ts';
import type { MemoryStore } from '../../memory/files/store.ts';
import { previewOf } from '../../files/preview.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { raceAbort } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { outboundTo } from '../outgoing.ts';
import type { MemoryChange, MemoryQuestion } from './record.ts';

/** Where a change of MEMORY.md comes from, and what is done when the file is another one meanwhile. */
interface Changing {
  readonly app: App;
  /** The conversation that it comes from. */
  readonly session: string;
  /** Where the facts that an update of a text brings were told. */
  readonly toldIn: (base: string, update: string) => MemoryChange['told'];
  /** Stores the change before it is tried, so that it is known after a crash. */
  readonly keep: (change: MemoryChange) => Promise<void>;
  /** Asks the model for a new text of the file as it is now; null: no change; undefined: the model gave no answer. */
  readonly askAgain: (now: { readonly text: string; readonly hash: string }) => Promise<string | null | undefined>;
}

/** Reads MEMORY.md for a model that rewrites it; null, and a log line, when it cannot be read or `fits` is false. */
export async function readToRewrite(
  { memory, log }: App,
  fits: (text: string) => boolean,
): Promise<{ readonly text: string; readonly hash: string } | null> {
  try {
    const now = await memory.read();
    if (fits(now.text)) return now;
    log.warn('consolidation: MEMORY.md is too long for the model to rewrite, so nothing is added; shorten it');
  } catch (error) {
    log.warn('memory: MEMORY.md stays as it is', { reason: errorMessage(error) });
  }
  return null;
}

const MOST_TRIES = 6;
const REASON = 'consolidation';

/**
 * Writes a new text of MEMORY.md. If the file was changed meanwhile, the model is asked once more; if it gives no answer or the
 * file changed again, the two changes are merged. Returns a `MemoryQuestion` if the owner has to decide. Repeatable after a crash.
 */
export async function changeMemory(
  first: MemoryChange,
  { app: { memory, log }, session, toldIn, keep, askAgain }: Changing,
): Promise<'unchanged' | 'changed' | MemoryQuestion> {
  let change = first;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    if (isSame(change.update, change.base)) return 'unchanged';
    if (change.untrusted) return { ...change, why: 'untrusted' };
    const by = { how: 'consolidation', session, told: change.told } as const;
    const replaced = await memory.replace(change.update, { ifHash: change.hash, reason: REASON, by });
    if (replaced.ok) return 'changed';
    if (replaced.why === 'shrinks') return { ...change, why: 'shrinks' };
    const now = await memory.read();
    if (isSame(now.text, change.update)) return 'changed';
    const again = change.askedAgain ? undefined : await askAgain(now);
    // "No change" the second time doesn't take back what the first answer added, e.g. when the file was deleted.
    const update = again ?? mergeFacts(change.base, change.update, now.text);
    const told = again == null ? change.told : toldIn(now.text, again);
    change = { ...change, base: now.text, hash: now.hash, update, askedAgain: true, told };
    await keep(change);
  }
  await memory.propose(change.update, REASON);
  log.warn('consolidation: MEMORY.md kept changing, so the new text is kept as a proposal');
  return 'unchanged';
}

/**
 * Asks the owner about a change and writes it if they agree; else keeps it as a proposal and returns a sentence for them.
 * `callId` is the same when it is asked again after a restart.
 */
async function settleQuestion(
  question: MemoryQuestion,
  { sessionKey, callId, signal }: Record<'sessionKey' | 'callId', string> & { readonly signal: AbortSignal },
  { memory, journal, questions, log }: App,
): Promise<{ readonly agreed: true } | { readonly agreed: false; readonly sentence: string }> {
  const { why, base: before, update: after } = question;
  const target = journal.consolidations.lastMessage(sessionKey);
  const asked = questions.approve(
    { sessionKey, callId, signal, target },
    {
      title: 'Rewrite MEMORY.md',
      detail: previewOf(before, after),
      reason:
        why === 'shrinks'
          ? 'It would lose more than half.'
          : 'It comes from a conversation that contains text by other people or from the web.',
    },
  );
  const { approved } = await raceAbort(asked, signal);
  try {
    if (approved && (await putAgreed(question, sessionKey, memory))) return { agreed: true };
  } catch (error) {
    // For example a text that is too long: it is only kept as a proposal.
    log.error('consolidation: agreed change of MEMORY.md failed', { reason: errorMessage(error) });
  }
  const id = await memory.propose(
    after,
    why === 'shrinks' ? `${REASON}, shorter by more than half` : `${REASON}, not trusted`,
  );
  const because =
    why === 'shrinks'
      ? 'the new text would have lost more than half of it'
      : 'the new text comes from a conversation that contains text by other people or from the web';
  return {
    agreed: false,
    sentence: `I did not change MEMORY.md, because ${because}. The new text is kept; to use it, run \`${assistantCommand(`memory restore ${id}`)}\`.`,
  };
}

async function putAgreed(
  { base, hash, update, told }: MemoryQuestion,
  session: string,
  memory: MemoryStore,
): Promise<boolean> {
  const by = { how: 'consolidation', session, told } as const;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const now = await memory.read();
    const text = now.hash === hash ? update : mergeFacts(base, update, now.text);
    const replaced = await memory.replace(text, {
      ifHash: now.hash,
      reason: `${REASON}, agreed`,
      allowShrink: true,
      by,
    });
    if (replaced.ok) return true;
  }
  return false;
}

function isSame(a: string, b: string): boolean {
  return a.trim() === b.trim();
}

/** Sends a notice to the chat of a session, once for each id. */
export async function notify(
  { journal, bus, clock }: App,
  sessionKey: string,
  { id, text }: { readonly id: string; readonly text: string },
): Promise<void> {
  const last = journal.consolidations.lastMessage(sessionKey);
  if (last !== undefined) await bus.publishOutbound(outboundTo(last, { id, kind: 'notice', text }, clock.now()));
}

/** Asks the owner about changes of MEMORY.md that a consolidation may not make alone. Nothing waits for the answers. */
export class OwnerQuestions {
  readonly #app: App;
  readonly #signal: AbortSignal;
  readonly #asking = new Set<string>();

  /** `signal` aborts when the process stops. */
  constructor(app: App, signal: AbortSignal) {
    this.#app = app;
    this.#signal = signal;
  }

  isAsking(consolidationId: string): boolean {
    return this.#asking.has(consolidationId);
  }

  /** Asks the questions one after another, then marks the consolidation as done. Rejects when the process stops. */
  async ask(
    { id, session }: Pick<ConsolidationRow, 'id' | 'session'>,
    questions: readonly MemoryQuestion[],
  ): Promise<void> {
    this.#asking.add(id);
    try {
      for (const [n, question] of questions.entries()) {
        const asked = { sessionKey: session, callId: `archive:${id}:${n}`, signal: this.#signal };
        const settled = await settleQuestion(question, asked, this.#app);
        if (!settled.agreed) await notify(this.#app, session, { id: `${asked.callId}:kept`, text: settled.sentence });
      }
      await this.#app.journal.consolidations.save(id, { state: 'done' });
    } finally {
      this.#asking.delete(id);
    }
  }
}
