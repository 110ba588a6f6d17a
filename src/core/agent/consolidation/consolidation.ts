import type { InboundMessage } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import type { ConsolidationRow, ConsolidationDraft, Consolidations } from '../../journal/consolidations.ts';
import { noteEntry, tagOf } from '../../memory/consolidation/conversation-text.ts';
import { renderHistory } from '../../memory/files/history-file.ts';
import { asRole, seesPrivate, weakest } from '../../security/access/access.ts';
import type { TapeCall } from '../../tools/tape.ts';
import { raceAbort, deadline } from '../../util/clock.ts';
import { Slots } from '../../util/slots.ts';
import { OwnerQuestions } from './memory-change.ts';
import { readProgress } from './record.ts';
import { runConsolidation, type ConsolidationOutcome } from './run.ts';
import { SizePlanner, type GrownReport } from './size.ts';
import { BackgroundWork } from '../side-calls/background-work.ts';
import { SideCalls } from '../side-calls/side-calls.ts';
import type { MemResult } from '../commands/mem.ts';
import type { Outline } from '../context/fit.ts';
import { resetDraft } from '../commands/session-commands.ts';
import { endedTurns, readSpan, unconsolidated, type TurnSpan } from '../../memory/consolidation/session-span.ts';
import type { Session } from '../../session/session.ts';
import { consolidatedOf } from './position.ts';
import { leftOutText } from './refused-part.ts';

export interface ResetOptions {
  /** @default true */
  readonly consolidate?: boolean;
  /** @default null */
  readonly during?: TapeCall | null;
  /** Id of the reset; a second reset with the same id does nothing. @default a new id */
  readonly id?: string;
}

/** The session, model, system prompt and tools of a session's next request. */
export type NextRequest = Omit<Outline, 'turnId'>;

/** The person who waits for a consolidation. */
interface Asked {
  readonly message?: InboundMessage;
  readonly stop?: AbortSignal;
}

const AT_ONCE = 2;
const MOST_ROUNDS = 5;
const LONGEST_WAIT_MS = 30_000;
/** Wait after the first failure and after the second. */
const RETRY_MS = [60_000, 600_000] as const;
const BUDGET_RETRY_MS = 3_600_000;

/**
 * Writes parts of conversations into the memory: in the background when a conversation is too long or was reset, at
 * once for /mem. One consolidation at a time per session. Start it before the channels; dispose of it before sessions
 * and journal.
 */
export class Consolidation implements AsyncDisposable {
  readonly #app: App;
  readonly #calls: SideCalls;
  readonly #borders = new Slots(1);
  readonly #planner: SizePlanner;
  readonly #work: BackgroundWork;
  readonly #consolidating = new Map<string, Promise<void>>();
  readonly #questions: OwnerQuestions;

  constructor(app: App) {
    this.#app = app;
    this.#calls = new SideCalls(app, 'memory');
    this.#planner = new SizePlanner(app);
    this.#work = new BackgroundWork(app, {
      atOnce: AT_ONCE,
      name: 'consolidation: background run',
      onFailure: (key) => this.#retryIn(RETRY_MS[0], key),
    });
    this.#questions = new OwnerQuestions(app, this.#work.signal);
  }

  /** Continues, in the background, the consolidations that an earlier process left. */
  start(): void {
    const sessions = new Set(this.#app.journal.consolidations.open().map((row) => row.session));
    for (const key of sessions) void this.#work.background(key, () => this.#finishOpen(key));
  }

  /** Call it after a turn was closed: begins a consolidation in the background if the conversation is too long, and indexes it. */
  afterTurn(request: NextRequest): void {
    this.#consolidateIfDue(request);
    this.#app.search.scheduleSync();
  }

  #consolidateIfDue(request: NextRequest): void {
    const { session } = request;
    if (this.#consolidating.has(session.key) || this.#work.signal.aborted) return;
    void this.#work.beside(session.key, async () => {
      if (this.#planner.isDue(session, await this.#grown(request))) await this.#begin(request);
      else await this.#saveDropped(session);
    });
  }

  /** Consolidates what a trim dropped, however little it is, when it left no more than the newest turn. */
  async #saveDropped(session: Session): Promise<void> {
    const { trim, messages } = session.history();
    const upTo = trim?.dropUpTo ?? null;
    const { consolidations } = this.#app.journal;
    if (upTo === null || new Set(messages.map(({ turn }) => turn)).size > 1) return;
    if (this.#openRows(session.key).length > 0 || this.#consolidating.has(session.key)) return;
    const { fresh } = await freshTurns(session, consolidations);
    if (!fresh.some(({ end }) => end === upTo)) return;
    await consolidations.begin(draftOf(this.#app, session.key, 'size', { upTo }));
    void this.#work.background(session.key, () => this.#finishOpen(session.key));
  }

  /** Call it before a turn's first model call: if the request would not fit, waits at most 30 s for a consolidation. */
  async beforeTurn(request: NextRequest): Promise<void> {
    if (!(await this.#app.contextWindow.overflows(request))) return;
    using limit = deadline(this.#app.clock, LONGEST_WAIT_MS, 'waiting for consolidation');
    await raceAbort(this.#begin(request), AbortSignal.any([limit.signal, this.#work.signal])).catch(() => {});
  }

  /**
   * Resets a session: earlier messages leave its history and, unless `consolidate` is false, are written into the
   * memory in the background. `during`: the turn that asks for it, which stays in the history. `id` makes it safe to
   * repeat.
   */
  async resetSession(
    sessionKey: string,
    reason: string,
    { consolidate = true, during = null, id: given }: ResetOptions = {},
  ): Promise<void> {
    const { sessions, newId } = this.#app;
    const { consolidations } = this.#app.journal;
    const session = await sessions.open(sessionKey);
    await this.#borders.run(async () => {
      const named = given ?? (during === null ? undefined : `reset:${during.callId}`);
      const id = named ?? newId();
      const { fresh } = await freshTurns(session, consolidations);
      const isBegun = named !== undefined && consolidations.open(sessionKey).some((row) => row.upTo === id);
      if (consolidate && fresh.length > 0 && !isBegun) {
        await consolidations.begin(draftOf(this.#app, sessionKey, 'new', { turns: fresh, upTo: id }));
      }
      await session.append([{ ...resetDraft(reason, during), id }]);
    });
    void this.#work.background(sessionKey, () => this.#finishOpen(sessionKey));
  }

  /**
   * Consolidates a conversation now, for /mem, with a note of the person. `stop` aborts when the person no longer
   * waits.
   */
  async mem(message: InboundMessage, text: string, stop?: AbortSignal): Promise<MemResult> {
    const { sessions } = this.#app;
    const { consolidations } = this.#app.journal;
    const { sessionKey, role, chatType } = message;
    const note = text.trim() === '' ? null : text;
    return await this.#work.inLane(sessionKey, async () => {
      // Finish a half done consolidation first: else its part would be consolidated twice.
      for (const row of this.#openRows(sessionKey)) if (row.state === 'answered') await this.#finish(row);
      const { turns, fresh } = await freshTurns(await sessions.open(sessionKey), consolidations);
      if (fresh.length === 0 && note === null) return { result: 'nothing-new' };
      const row = await consolidations.begin({
        ...draftOf(this.#app, sessionKey, 'mem', { upTo: turns.at(-1)?.end ?? null, note }),
        direct: chatType === 'direct',
        role: weakest(role, ...fresh.map((turn) => asRole(turn.role))),
      });
      try {
        const done = resultOf(await this.#finish(row, { message, stop }), fresh.length, note);
        if (done.result !== 'failed' || note === null) return done;
        await this.#keepNote(note, row);
        return { ...done, note };
      } catch (error) {
        if (stop?.aborted !== true || this.#work.signal.aborted) throw error;
        await this.#giveUp(row);
        return { result: 'stopped' };
      }
    });
  }

  /** Keeps the note of a /mem whose model call failed. */
  async #keepNote(note: string, { direct, session, role }: ConsolidationRow): Promise<void> {
    const { memory, clock, config } = this.#app;
    const tag = direct && role === 'owner' ? '' : tagOf(session, role);
    const paragraph = renderHistory({ ...noteEntry(note, clock.now()), tag }, config.agent.timezone);
    if (paragraph !== undefined) await memory.appendRendered([paragraph]);
  }

  /** Resolves when no consolidation is running. */
  idle(): Promise<void> {
    return this.#work.idle();
  }

  /** Stops; unfinished consolidations are continued at the next start. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#work[Symbol.asyncDispose]();
  }

  /** Returns the running consolidation of a session, or begins one. */
  #begin(request: NextRequest): Promise<void> {
    const { key } = request.session;
    const running = this.#consolidating.get(key);
    if (running !== undefined) return running;
    const work = this.#work
      .background(key, () => this.#consolidate(request))
      .finally(() => this.#consolidating.delete(key));
    this.#consolidating.set(key, work);
    return work;
  }

  async #consolidate(request: NextRequest): Promise<void> {
    const { session } = request;
    const { log } = this.#app;
    const { consolidations } = this.#app.journal;
    const before = await this.#grown(request);
    let now = before;
    if (!this.#planner.isDue(session, now)) return;
    for (let round = 0; round < MOST_ROUNDS && this.#planner.isLong(now); round += 1) {
      const open = this.#openRows(session.key).find((row) => row.reason === 'size');
      const upTo =
        open === undefined ? await this.#planner.plan(session, now, before.conversation - now.conversation) : null;
      if (open === undefined && upTo === null) break;
      const row = open ?? (await consolidations.begin(draftOf(this.#app, session.key, 'size', { upTo })));
      const { outcome } = await this.#finish(row);
      if (outcome === 'failed') return;
      now = await this.#grown(request);
    }
    const shrank = this.#planner.review(session, before.conversation, now.conversation);
    const facts = { session: session.key, before: before.conversation, after: now.conversation };
    if (shrank) log.info('memory: older parts of a conversation consolidated', facts);
    else log.debug('consolidation: conversation not shortened', facts);
  }

  async #grown(request: NextRequest): Promise<GrownReport> {
    return await this.#planner.measure(request.session, await this.#app.contextWindow.report(request));
  }

  async #finishOpen(key: string): Promise<void> {
    for (const row of this.#openRows(key)) {
      const result = await this.#finish(row);
      if (result.outcome !== 'failed' || row.reason !== 'new') continue;
      const failures = this.#app.journal.consolidations.get(row.id)?.failures ?? 1;
      this.#retryIn(result.held ? BUDGET_RETRY_MS : (RETRY_MS[failures - 1] ?? BUDGET_RETRY_MS), key);
    }
  }

  async #finish(row: ConsolidationRow, { message, stop }: Asked = {}): Promise<ConsolidationOutcome> {
    const signal = AbortSignal.any([this.#work.signal, ...(stop === undefined ? [] : [stop])]);
    const now = this.#app.journal.consolidations.get(row.id) ?? row;
    const running = { app: this.#app, calls: this.#calls, borders: this.#borders, signal };
    const result = await runConsolidation(now, running, message);
    if (result.outcome === 'done' && result.progress.questions.length > 0) {
      const { questions } = result.progress;
      void this.#work.beside(row.session, () => this.#questions.ask(row, questions));
    }
    if (result.outcome === 'failed' && row.reason === 'mem') await this.#giveUp(row);
    return result;
  }

  /** Ends a /mem that failed, without another attempt; the parts that it has consolidated stay so. */
  async #giveUp({ id }: ConsolidationRow): Promise<void> {
    const { consolidations } = this.#app.journal;
    const row = consolidations.get(id);
    const doneTo = row === undefined ? null : readProgress(row).doneTo;
    await consolidations.save(id, doneTo === null ? { state: 'dropped' } : { state: 'done', upTo: doneTo });
  }

  #openRows(key: string): readonly ConsolidationRow[] {
    return this.#app.journal.consolidations.open(key).filter((row) => !this.#questions.isAsking(row.id));
  }

  #retryIn(ms: number, key: string): void {
    this.#work.later(key, ms, () => this.#finishOpen(key));
  }
}

function resultOf(outcome: ConsolidationOutcome, exchanges: number, note: string | null): MemResult {
  switch (outcome.outcome) {
    case 'failed':
      return { result: 'failed', reason: outcome.reason };
    case 'dropped':
      return { result: 'nothing-new' };
    case 'done': {
      const { progress, own, leftOut } = outcome;
      const memory = !own ? 'not-here' : progress.questions.length > 0 ? 'asked' : progress.memory;
      const refused = leftOut === null ? null : leftOutText(leftOut);
      return { result: 'saved', exchanges: exchanges - (leftOut?.turns ?? 0), refused, memory, note };
    }
  }
}

/** The ended turns since the last summary (`turns`), and those of them that are not in memory yet (`fresh`). */
async function freshTurns(
  session: Session,
  consolidations: Consolidations,
): Promise<{ readonly turns: readonly TurnSpan[]; readonly fresh: readonly TurnSpan[] }> {
  const turns = endedTurns(await readSpan(session));
  return { turns, fresh: unconsolidated(turns, consolidatedOf(session.key, turns, consolidations).consolidated) };
}

/** Makes the row of a consolidation of these turns; chat and person are those of the newest message. */
function draftOf(
  { journal: { consolidations }, newId }: App,
  session: string,
  reason: ConsolidationDraft['reason'],
  {
    turns = [],
    upTo,
    note = null,
  }: { readonly turns?: readonly TurnSpan[]; readonly upTo: string | null; readonly note?: string | null },
): ConsolidationDraft {
  const last = consolidations.lastMessage(session);
  const role = weakest(...turns.map((turn) => asRole(turn.role)), ...(last === undefined ? [] : [last.role]));
  const direct =
    last !== undefined &&
    seesPrivate({ role: 'owner', chatType: last.chatType, who: `${last.channel}:${last.sender.id}` });
  return { id: newId(), session, reason, role, direct, upTo, note };
}
