import type { ConsolidationRow, Consolidations } from '../../journal/consolidations.ts';
import { settleQuestion, type ConfirmMemory, type MemoryPorts } from './memory-change.ts';
import type { MemoryQuestion } from './progress.ts';

export interface OwnerQuestionPorts extends MemoryPorts {
  readonly consolidations: Consolidations;
  /** Asks the owner whether MEMORY.md may change so; null: no one can be asked, which is a no. */
  readonly confirm: ConfirmMemory | null;
  /** Tells the people of a session something; the same id is told once. */
  readonly notify: (sessionKey: string, notice: { readonly id: string; readonly text: string }) => Promise<void>;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

/** What archives left for the owner to decide; nothing else waits for it. */
export class OwnerQuestions {
  readonly #ports: OwnerQuestionPorts;
  readonly #asking = new Set<string>();

  constructor(ports: OwnerQuestionPorts) {
    this.#ports = ports;
  }

  isAsking(consolidationId: string): boolean {
    return this.#asking.has(consolidationId);
  }

  /** Asks one question after another; with the last the archive is done. Rejects when the process stops. */
  async ask(
    { id, session }: Pick<ConsolidationRow, 'id' | 'session'>,
    questions: readonly MemoryQuestion[],
  ): Promise<void> {
    const { consolidations, notify } = this.#ports;
    this.#asking.add(id);
    try {
      for (const [n, question] of questions.entries()) {
        const asked = { id: `archive:${id}:${n}`, session };
        const settled = await settleQuestion(question, asked, this.#ports);
        if (!settled.agreed) await notify(session, { id: `${asked.id}:kept`, text: settled.sentence });
      }
      await consolidations.save(id, { state: 'done' });
    } finally {
      this.#asking.delete(id);
    }
  }
}
