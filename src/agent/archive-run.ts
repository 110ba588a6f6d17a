import type { ArchiveRow, Archives, ArchiveState } from '../journal/archives.ts';
import { rawEntries, rawSummary, tagOf } from '../memory/consolidate.ts';
import { renderHistory, type HistoryEntry } from '../memory/history.ts';
import { endBeforeNewest } from '../memory/plan.ts';
import type { Session } from '../session/session.ts';
import type { Sessions } from '../session/sessions.ts';
import { errorCode, errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Slots } from '../util/slots.ts';
import { changeMemory, readToRewrite, type MemoryFiles } from './archive-memory.ts';
import { anchorOf } from './archive-anchor.ts';
import { answeredPart, nextPart, placeOf, type ArchivePlace } from './archive-place.ts';
import { finishedProgress, readProgress, type ArchiveAnswer, type ArchiveProgress } from './archive-progress.ts';
import {
  askToArchive,
  fitsAnswer,
  type ArchivePart,
  type ArchiveReply,
  type QuestionPorts,
} from './archive-question.ts';
import type { OwnCall } from './own-calls.ts';
import type { ChosenModel } from './turn-context.ts';

export interface ArchiveRunPorts extends QuestionPorts {
  readonly archives: Archives;
  readonly sessions: Pick<Sessions, 'open'>;
  readonly memory: MemoryFiles;
  /** The model that answers in a session, and the tokens that it reads. */
  readonly modelOf: (session: Session) => Promise<{ readonly model: ChosenModel; readonly window: number }>;
  /** Whatever moves the beginning of a history takes this one slot. */
  readonly borders: Slots;
  /** Zone of HISTORY.md. */
  readonly timezone: string | null;
  readonly log: Logger;
}

export type ArchiveOutcome =
  /** Everything is where it belongs; `questions` are left for the owner. */
  | { readonly outcome: 'done'; readonly progress: ArchiveProgress; readonly own: boolean }
  /** The history has moved on: there is nothing to archive any more. */
  | { readonly outcome: 'dropped' }
  /** `held`: no budget is left. The row stays as it is, to be tried again. */
  | { readonly outcome: 'failed'; readonly held: boolean; readonly reason: string };

/** After so many failures in a row the turns are written down as they are. */
const MOST_FAILURES = 3;
/** Bad texts in the owner's hands; trying again changes nothing. */
const NO_MEMORY: ReadonlySet<string> = new Set(['memory-unreadable', 'memory-too-large']);

/**
 * Takes one archive from where it stands to its end. After each step it is written down what was done, so that it can
 * be killed anywhere and taken up again: HISTORY.md gets each paragraph once, the tape its anchor once. Rejects when
 * the process stops or a disk fails; then it is to be taken up again later.
 */
export async function runArchive(
  row: ArchiveRow,
  ports: ArchiveRunPorts,
  message?: OwnCall['message'],
): Promise<ArchiveOutcome> {
  const session = await ports.sessions.open(row.session);
  const run = new ArchiveRun(row, ports, { session, message, ...(await ports.modelOf(session)) });
  return await run.finish();
}

type Gone = 'gone' | 'retracted';

interface RunFacts {
  readonly session: Session;
  readonly message: OwnCall['message'];
  readonly model: ChosenModel;
  readonly window: number;
}

class ArchiveRun {
  readonly #row: ArchiveRow;
  readonly #ports: ArchiveRunPorts;
  readonly #facts: RunFacts;
  #progress: ArchiveProgress;
  #failures: number;
  #own: boolean;

  constructor(row: ArchiveRow, ports: ArchiveRunPorts, facts: RunFacts) {
    this.#row = row;
    this.#ports = ports;
    this.#facts = facts;
    this.#progress = readProgress(row);
    this.#failures = row.failures;
    this.#own = row.direct && row.role === 'owner';
  }

  async finish(): Promise<ArchiveOutcome> {
    const { session } = this.#facts;
    if (session.window.some((entry) => entry.id === this.#anchorId)) await this.#settle(true);
    while (!this.#progress.settled) {
      const place = await this.#place();
      if (typeof place === 'string') return await this.#leave(place);
      if (this.#progress.answer !== null) {
        await this.#write(this.#progress.answer, answeredPart(this.#row, this.#progress, place));
        continue;
      }
      const part = nextPart(this.#row, this.#progress, { place, window: this.#facts.window });
      if (part === null) {
        const gone = await this.#close();
        if (gone !== null) return await this.#leave(gone);
        continue;
      }
      const failure = await this.#ask(part);
      if (failure !== null) return failure;
    }
    if (this.#progress.questions.length === 0) await this.#end('done');
    return { outcome: 'done', progress: this.#progress, own: this.#own };
  }

  /** Step 1: the model says what is left of a part; null when that is written down. */
  async #ask(part: ArchivePart): Promise<ArchiveOutcome | null> {
    const { archives, log } = this.#ports;
    const fits = (text: string): boolean => fitsAnswer(text, this.#facts.window);
    const now = part.own ? await readToRewrite(this.#ports, fits) : null;
    const reply = await this.#question(part, now?.text ?? null);
    if (reply.ok) {
      const { entry, update } = reply;
      const untrusted = part.turns.some((turn) => turn.untrusted);
      const memory =
        now === null || update === null
          ? null
          : { base: now.text, hash: now.hash, update, untrusted, askedAgain: false };
      const at = part.turns.at(-1)?.at ?? this.#ports.clock.now();
      await this.#answered(part, {
        entry,
        memory,
        paragraphs: this.#rendered([{ at, text: entry, ...this.#tag(part) }]),
      });
      return null;
    }
    const { held, reason } = reply;
    if (held) return { outcome: 'failed', held, reason };
    this.#failures += 1;
    log.warn('a model could not say what to remember', { ...this.#about, failures: this.#failures, reason });
    await archives.save(this.#row.id, { failures: this.#failures });
    if (this.#failures < MOST_FAILURES || this.#row.reason === 'mem') return { outcome: 'failed', held, reason };
    log.warn('a part of a conversation goes into HISTORY.md as it was said', this.#about);
    const paragraphs = this.#rendered(rawEntries(part.turns).map((entry) => ({ ...entry, ...this.#tag(part) })));
    await this.#answered(part, { entry: rawSummary(part.turns), memory: null, paragraphs });
    return null;
  }

  async #answered(part: ArchivePart, said: Pick<ArchiveAnswer, 'entry' | 'memory' | 'paragraphs'>): Promise<void> {
    const answer = {
      ...said,
      upTo: part.turns.at(-1)?.end ?? null,
      turns: part.turns.map((turn) => turn.id),
      noted: part.note !== null,
    };
    await this.#save({ answer });
  }

  /** Steps 2 and 3: what the model said goes into HISTORY.md and MEMORY.md. */
  async #write(answer: ArchiveAnswer, part: ArchivePart): Promise<void> {
    const { memory } = this.#ports;
    await memory.appendRendered(answer.paragraphs);
    const changed = answer.memory === null ? 'unchanged' : await this.#changeMemory(answer, part);
    const { entries, turns, doneTo, noted, questions } = this.#progress;
    this.#failures = 0;
    await this.#save({
      answer: null,
      entries: [...entries, answer.entry],
      turns: [...turns, ...answer.turns],
      doneTo: answer.upTo ?? doneTo,
      noted: noted || answer.noted,
      ...(typeof changed === 'object' ? { questions: [...questions, changed] } : {}),
      ...(changed === 'changed' ? { memory: 'changed' } : {}),
    });
  }

  async #changeMemory(answer: ArchiveAnswer, part: ArchivePart): ReturnType<typeof changeMemory> {
    const { memory, log } = this.#ports;
    if (answer.memory === null) return 'unchanged';
    try {
      return await changeMemory(answer.memory, {
        memory,
        log,
        keep: (change) => this.#save({ answer: { ...answer, memory: change } }),
        askAgain: async ({ text }) => {
          if (!fitsAnswer(text, this.#facts.window)) return undefined;
          const reply = await this.#question(part, text);
          return reply.ok ? reply.update : undefined;
        },
      });
    } catch (error) {
      if (!NO_MEMORY.has(errorCode(error) ?? '')) throw error;
      log.warn('MEMORY.md stays as it is', { ...this.#about, reason: errorMessage(error) });
      return 'unchanged';
    }
  }

  /** Step 4: the anchor; null when there is nothing more to do on the tape. */
  #close(): Promise<Gone | null> {
    return this.#ports.borders.run(async () => {
      const place = await this.#place();
      if (typeof place === 'string') return place;
      const { reason, upTo } = this.#row;
      const end = reason === 'new' ? null : reason === 'mem' ? endBeforeNewest(place.turns) : upTo;
      if (end !== null) {
        const { session, window } = this.#facts;
        const { entries } = this.#progress;
        await session.append([anchorOf(place, { id: this.#anchorId, upTo: end, reason, entries, window })]);
      }
      await this.#settle(end !== null);
      return null;
    });
  }

  #settle(anchored: boolean): Promise<void> {
    return this.#save({ settled: true, anchored });
  }

  /** The history moved on. What is in HISTORY.md by now counts as archived, unless it was taken back. */
  async #leave(why: Gone): Promise<ArchiveOutcome> {
    const { entries, doneTo, questions } = this.#progress;
    const isKept = why === 'gone' && entries.length > 0;
    if (isKept && doneTo !== null) await this.#ports.archives.save(this.#row.id, { upTo: doneTo });
    if (isKept && questions.length > 0) {
      await this.#settle(false);
      return { outcome: 'done', progress: this.#progress, own: this.#own };
    }
    await this.#end(isKept ? 'done' : 'dropped');
    return { outcome: 'dropped' };
  }

  #question(part: ArchivePart, memory: string | null): Promise<ArchiveReply> {
    const { model, window, message } = this.#facts;
    this.#own = part.own;
    const call: OwnCall = {
      id: this.#anchorId,
      sessionKey: this.#row.session,
      role: part.role,
      ...(message === undefined ? {} : { message }),
    };
    return askToArchive({ part, memory, model, window, call }, this.#ports);
  }

  #tag(part: ArchivePart): { readonly tag?: string } {
    return part.own ? {} : { tag: tagOf(this.#row.session, part.role) };
  }

  #rendered(entries: readonly HistoryEntry[]): string[] {
    return entries.flatMap((entry) => renderHistory(entry, this.#ports.timezone) ?? []);
  }

  #place(): Promise<ArchivePlace | Gone> {
    return placeOf(this.#row, this.#progress, { session: this.#facts.session, archives: this.#ports.archives });
  }

  async #save(change: Partial<ArchiveProgress>): Promise<void> {
    this.#progress = { ...this.#progress, ...change };
    const state = this.#progress.answer === null && !this.#progress.settled ? 'pending' : 'answered';
    const result = JSON.stringify(this.#progress);
    await this.#ports.archives.save(this.#row.id, { state, result, failures: this.#failures });
  }

  async #end(state: Extract<ArchiveState, 'done' | 'dropped'>): Promise<void> {
    const result = JSON.stringify(finishedProgress(this.#progress));
    await this.#ports.archives.save(this.#row.id, { state, result });
  }

  get #anchorId(): string {
    return `archive:${this.#row.id}`;
  }

  get #about(): Record<string, unknown> {
    return { session: this.#row.session, archive: this.#row.id };
  }
}
