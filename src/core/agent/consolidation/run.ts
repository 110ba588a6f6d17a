import type { App } from '../../app.ts';
import type { ConsolidationRow, ConsolidationReason } from '../../journal/consolidations.ts';
import {
  noteEntry,
  rawEntries,
  rawSummary,
  withoutAssistant,
  tagOf,
  withNote,
  LONGEST_SUMMARY,
  summaryOf,
} from '../../memory/consolidation/conversation-text.ts';
import { renderHistory, STRANGERS_TAG, type HistoryEntry } from '../../memory/files/history-file.ts';
import { toldIn } from '../../memory/facts/told.ts';
import { endBeforeNewest } from '../../memory/consolidation/session-span.ts';
import type { Session } from '../../session/session.ts';
import { errorCode, errorMessage } from '../../util/errors.ts';
import type { Slots } from '../../util/slots.ts';
import { changeMemory, notify, readToRewrite } from './memory-change.ts';
import { answeredPart, nextPart, positionOf, type ConsolidationPosition } from './position.ts';
import { askAroundRefused, leftOutText, type LeftOut } from './refused-part.ts';
import { fitsAnswer, type Asking, type ConsolidationPart, type ConsolidationReply } from './question.ts';
import {
  RecordWriter,
  type ConsolidationAnswer,
  type ConsolidationProgress,
  type MemoryChange,
  type MemoryQuestion,
} from './record.ts';
import { cleanModel } from '../side-calls/clean-model.ts';
import type { SideCall } from '../side-calls/side-calls.ts';
import type { ChosenModel } from '../turn/current-turn.ts';
import type { EntryDraft } from '../../session/entry.ts';

/** Of the model's window. */
const SUMMARY_SHARE = 0.05;

const SHORTEST_SUMMARY = 1_000;

const CHARACTERS_PER_TOKEN = 3.6;

/** How a consolidation is run. */
interface Running extends Asking {
  /** One slot for all changes of the beginning of a history, so that they run one after another. */
  readonly borders: Slots;
}

export type ConsolidationOutcome =
  /** Everything is written; `progress.questions` are left for the owner. */
  | {
      readonly outcome: 'done';
      readonly progress: ConsolidationProgress;
      readonly own: boolean;
      /** What the provider refused, where the person who asked was not told yet. */
      readonly leftOut: LeftOut | null;
    }
  /** The history has changed, so there is nothing left to consolidate. */
  | { readonly outcome: 'dropped' }
  /** `held`: no budget is left. The row stays as it is, to be tried again. */
  | { readonly outcome: 'failed'; readonly held: boolean; readonly reason: string };

/** After this many failures in a row, the turns are written into HISTORY.md without a summary. */
const MOST_FAILURES = 3;
/** Errors of the file MEMORY.md that only the owner can correct; a retry is useless. */
const NO_MEMORY: ReadonlySet<string> = new Set(['memory-unreadable', 'memory-too-large']);

/**
 * Runs one consolidation from its present step to its end. Each step is recorded in its row, so that it can be
 * continued after a kill: HISTORY.md gets each paragraph once, the tape its anchor once. Rejects when the process stops
 * or the disk fails; then call it again later.
 */
export async function runConsolidation(
  row: ConsolidationRow,
  running: Running,
  message?: SideCall['message'],
): Promise<ConsolidationOutcome> {
  const { app } = running;
  const session = await app.sessions.open(row.session);
  const model = cleanModel(app, app.journal.settings.model(row.session));
  const name = { provider: model.providerName, model: model.model };
  const { window } = await app.contextWindow.report({ session, model: name, system: [], tools: [] });
  return await new ConsolidationRun(row, running, { session, message, model, window }).finish();
}

/** Whether there was untrusted content before or in a part: later text may repeat it. */
function hasStrangers({ span, turns }: ConsolidationPosition, part: ConsolidationPart): boolean {
  if (span.summary?.untrusted === true) return true;
  const end = turns.findIndex((turn) => turn.end === part.turns.at(-1)?.end);
  return turns.slice(0, end === -1 ? turns.length : end + 1).some((turn) => turn.untrusted);
}

type Gone = 'gone' | 'retracted';

interface RunFacts {
  readonly session: Session;
  readonly message: SideCall['message'];
  readonly model: ChosenModel;
  readonly window: number;
}

class ConsolidationRun {
  readonly #record: RecordWriter;
  readonly #app: App;
  readonly #running: Running;
  readonly #facts: RunFacts;
  #own: boolean;
  #leftOut: LeftOut | null = null;

  constructor(row: ConsolidationRow, running: Running, facts: RunFacts) {
    this.#app = running.app;
    this.#record = new RecordWriter(row, this.#app.journal.consolidations);
    this.#running = running;
    this.#facts = facts;
    this.#own = row.direct && row.role === 'owner';
  }

  async finish(): Promise<ConsolidationOutcome> {
    const record = this.#record;
    const { session, window } = this.#facts;
    if (session.window.some((entry) => entry.id === record.anchorId)) await record.settle(true);
    while (!record.progress.settled) {
      const place = await this.#place();
      if (typeof place === 'string') return await this.#leave(place);
      if (record.progress.answer !== null) {
        await this.#write(record.progress.answer, answeredPart(record.row, record.progress, place));
        continue;
      }
      const part = nextPart(record.row, record.progress, { place, window });
      if (part === null) {
        const gone = await this.#close();
        if (gone !== null) return await this.#leave(gone);
        continue;
      }
      const failure = await this.#ask(part, hasStrangers(place, part));
      if (failure !== null) return failure;
    }
    if (record.progress.questions.length === 0) await record.end('done');
    return this.#done();
  }

  /** Step 1: the model summarises a part. Null: its answer is recorded; else why the consolidation ends here. */
  async #ask(part: ConsolidationPart, untrusted: boolean): Promise<ConsolidationOutcome | null> {
    const { log, clock } = this.#app;
    const record = this.#record;
    const fits = (text: string): boolean => fitsAnswer(text, this.#facts.window);
    const now = part.own ? await readToRewrite(this.#app, fits) : null;
    const reply = await this.#question(part, now?.text ?? null);
    // The owner's note is kept even if the model left it out.
    const { note } = part;
    const noted = note === null ? [] : this.#paragraphs(part, false, [noteEntry(note, clock.now())]);
    const memoryWith = (update: string | null): MemoryChange | null => {
      if (now === null) return null;
      const { text: base, hash } = now;
      const told = toldIn(part.turns, base, update ?? '');
      if (update !== null) return { base, hash, update, untrusted, askedAgain: false, told };
      const noted = { base, hash, update: withNote(base, note ?? ''), untrusted: false, askedAgain: false, told: [] };
      return note === null ? null : noted;
    };
    if (reply.ok) {
      const { entry, update } = reply;
      const at = part.turns.at(-1)?.at ?? clock.now();
      await record.answered(part, {
        entry,
        memory: memoryWith(update),
        paragraphs: [...noted, ...this.#paragraphs(part, untrusted, [{ at, text: entry }])],
      });
      return null;
    }
    const { held, reason } = reply;
    if (reply.scripted === true) {
      const paragraphs = this.#paragraphs(part, untrusted, rawEntries(withoutAssistant(part.turns)));
      const entry = rawSummary(part.turns);
      await record.answered(part, { entry, memory: memoryWith(null), paragraphs: [...noted, ...paragraphs] });
      return null;
    }
    if (held) return { outcome: 'failed', held, reason };
    const failures = await record.failed();
    log.warn('consolidation: model gave no usable answer', {
      ...record.facts,
      failures,
      reason: reply.problem ?? reason,
    });
    if (failures < MOST_FAILURES || record.row.reason === 'mem') return { outcome: 'failed', held, reason };
    log.warn('consolidation: conversation written into HISTORY.md unsummarised', record.facts);
    const paragraphs = this.#paragraphs(part, untrusted, rawEntries(part.turns));
    await record.answered(part, { entry: rawSummary(part.turns), memory: null, paragraphs });
    return null;
  }

  /** Steps 2 and 3: the answer is written into HISTORY.md and MEMORY.md. */
  async #write(answer: ConsolidationAnswer, part: ConsolidationPart): Promise<void> {
    await this.#app.memory.appendRendered(answer.paragraphs);
    const changed = answer.memory === null ? 'unchanged' : await this.#changeMemory(answer, answer.memory, part);
    const { questions } = this.#record.progress;
    await this.#record.written(answer, {
      ...(typeof changed === 'object' ? { questions: [...questions, changed] } : {}),
      ...(changed === 'changed' ? { memory: 'changed' } : {}),
    });
  }

  async #changeMemory(
    answer: ConsolidationAnswer,
    change: MemoryChange,
    part: ConsolidationPart,
  ): Promise<'unchanged' | 'changed' | MemoryQuestion> {
    try {
      return await changeMemory(change, {
        app: this.#app,
        session: this.#record.row.session,
        toldIn: (base, update) => toldIn(part.turns, base, update),
        keep: (next) => this.#record.save({ answer: { ...answer, memory: next } }),
        askAgain: async ({ text }) => {
          if (!fitsAnswer(text, this.#facts.window)) return undefined;
          const reply = await this.#question(part, text);
          return reply.ok ? reply.update : undefined;
        },
      });
    } catch (error) {
      if (!NO_MEMORY.has(errorCode(error) ?? '')) throw error;
      this.#app.log.warn('memory: MEMORY.md stays as it is', { ...this.#record.facts, reason: errorMessage(error) });
      return 'unchanged';
    }
  }

  /** Step 4: appends the anchor. Null: done; else why it cannot be appended. */
  #close(): Promise<Gone | null> {
    return this.#running.borders.run(async () => {
      const place = await this.#place();
      if (typeof place === 'string') return place;
      const { row, progress, anchorId: id } = this.#record;
      const { session, window } = this.#facts;
      const { reason } = row;
      const upTo = reason === 'new' ? null : reason === 'mem' ? endBeforeNewest(place.turns) : row.upTo;
      const { entries } = progress;
      if (upTo !== null) await session.append([anchorOf(place, { id, upTo, reason, entries, window })]);
      await this.#record.settle(upTo !== null);
      return null;
    });
  }

  /**
   * Ends a consolidation whose history has changed. Parts in HISTORY.md count as consolidated, unless their turns were
   * retracted.
   */
  async #leave(why: Gone): Promise<ConsolidationOutcome> {
    const { entries, doneTo, questions } = this.#record.progress;
    const isKept = why === 'gone' && entries.length > 0;
    if (isKept && questions.length > 0) {
      await this.#record.endEarly(doneTo);
      return this.#done();
    }
    await this.#record.end(isKept ? 'done' : 'dropped', isKept ? doneTo : null);
    return { outcome: 'dropped' };
  }

  #done(): ConsolidationOutcome {
    return { outcome: 'done', progress: this.#record.progress, own: this.#own, leftOut: this.#leftOut };
  }

  async #question(part: ConsolidationPart, memory: string | null): Promise<ConsolidationReply> {
    const { model, window, message } = this.#facts;
    const { row, anchorId: id } = this.#record;
    this.#own = part.own;
    const call = { id, sessionKey: row.session, role: part.role, ...(message === undefined ? {} : { message }) };
    const reply = await askAroundRefused({ part, memory, model, window, call }, this.#running);
    if (reply.leftOut !== null) await this.#tellRefused(reply.leftOut, model);
    return reply;
  }

  /** Only the owner's own chat learns what was refused, and /mem in its reply; for others it is in the log. */
  async #tellRefused(leftOut: LeftOut, { providerName, model }: ChosenModel): Promise<void> {
    const what = leftOutText(leftOut);
    this.#app.log.warn('consolidation: provider refused a part of the conversation', {
      ...this.#record.facts,
      leftOut: what,
    });
    if (this.#record.row.reason === 'mem') {
      const { memory = false, turns = 0 } = this.#leftOut ?? {};
      this.#leftOut = { memory: memory || leftOut.memory, turns: turns + leftOut.turns };
      return;
    }
    if (!this.#own) return;
    const text = `While I was saving an older part of this conversation, ${providerName}/${model} refused ${what}. I saved the rest without it.`;
    await notify(this.#app, this.#record.row.session, { id: `${this.#record.anchorId}:refused`, text });
  }

  #paragraphs(part: ConsolidationPart, untrusted: boolean, entries: readonly HistoryEntry[]): string[] {
    const tags = [
      ...(part.own ? [] : [tagOf(this.#record.row.session, part.role)]),
      ...(untrusted ? [STRANGERS_TAG] : []),
    ];
    const tag = tags.join(', ');
    const { timezone } = this.#app.config.agent;
    return entries.flatMap((entry) => renderHistory({ ...entry, tag }, timezone) ?? []);
  }

  #place(): Promise<ConsolidationPosition | Gone> {
    const { row, progress } = this.#record;
    const { consolidations } = this.#app.journal;
    return positionOf(row, progress, { session: this.#facts.session, consolidations });
  }
}

/** Makes the anchor for the consolidated turns: the present summary and the new entries, with their taint. */
export function anchorOf(
  { span, turns, unsummarised }: ConsolidationPosition,
  facts: {
    readonly id: string;
    readonly upTo: string;
    readonly reason: ConsolidationReason;
    /** The entries of this consolidation. */
    readonly entries: readonly string[];
    /** Tokens that the model reads. */
    readonly window: number;
  },
): EntryDraft {
  const { id, upTo, reason, entries, window } = facts;
  const longest = Math.max(SHORTEST_SUMMARY, Math.floor(SUMMARY_SHARE * CHARACTERS_PER_TOKEN * window));
  const covered = [...turns, ...(span.summary === null ? [] : [span.summary])];
  return {
    id,
    kind: 'anchor',
    turn: null,
    summary: summaryOf(span.summary?.text ?? null, [...unsummarised, ...entries], Math.min(longest, LONGEST_SUMMARY)),
    upTo,
    reason,
    ...(covered.some((part) => part.untrusted) ? { untrusted: true } : {}),
    ...(covered.some((part) => part.private) ? { private: true } : {}),
  };
}
