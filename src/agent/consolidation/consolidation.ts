import type { InboundMessage } from '../../bus/messages.ts';
import type { ConsolidationRow, ConsolidationDraft, Consolidations } from '../../journal/consolidations.ts';
import { noteEntry, tagOf } from '../../memory/consolidation/consolidate.ts';
import { renderHistory } from '../../memory/files/history-file.ts';
import { asRole, weakest } from '../../security/access/access.ts';
import type { RunningTurn } from '../../tools/tape.ts';
import { raceAbort, deadline } from '../../util/clock.ts';
import type { IdFactory } from '../../util/ids.ts';
import { Slots } from '../../util/slots.ts';
import { OwnerQuestions, type OwnerQuestionPorts } from './owner-question.ts';
import { readProgress } from './progress.ts';
import { runConsolidation, type ConsolidationOutcome, type ConsolidationRunPorts } from './run.ts';
import { SizePlanner, type GrownReport } from './size.ts';
import { BackgroundWork } from '../side-calls/background-work.ts';
import type { MemResult } from '../commands/mem.ts';
import type { ContextWindow, Outline } from '../context/fit.ts';
import { resetDraft } from '../commands/session-commands.ts';
import type { ChosenModel } from '../turn/turn-ports.ts';
import { unconsolidated } from '../../memory/consolidation/chunking.ts';
import { endedTurns, readSpan, type TurnSpan } from '../../memory/consolidation/session-span.ts';
import type { Session } from '../../session/session.ts';
import { consolidatedOf } from './position.ts';

export interface ConsolidationPorts
  extends Omit<ConsolidationRunPorts, 'signal' | 'borders' | 'modelOf'>, Omit<OwnerQuestionPorts, 'signal'> {
  /** The model that was chosen for a session. */
  readonly sessionModel: (sessionKey: string) => ChosenModel;
  readonly context: Pick<ContextWindow, 'report' | 'overflows'>;
  readonly newId: IdFactory;
  /** `memory.consolidateAt` */
  readonly consolidateAt: number;
}

export interface ResetOptions {
  /** @default true */
  readonly consolidate?: boolean;
  /** @default null */
  readonly during?: RunningTurn | null;
  /** Names the reset: a second one of this id is none. @default one of its own */
  readonly id?: string;
}

/** What the next request of a session is made of. */
export type NextRequest = Omit<Outline, 'turnId'>;

/** Who waits for an archive. */
interface Asked {
  readonly message?: InboundMessage | undefined;
  readonly stop?: AbortSignal | undefined;
}

const AT_ONCE = 2;
const MOST_ROUNDS = 5;
const LONGEST_WAIT_MS = 30_000;
/** After the first failure and after the second. */
const RETRY_MS = [60_000, 600_000] as const;
const BUDGET_RETRY_MS = 3_600_000;

/**
 * Puts what leaves a conversation into memory: in the background when it grows too long or begins afresh, at once for
 * /mem. One archive at a time per session. Start it before channels open; dispose it before sessions and journal.
 */
export class Consolidation implements AsyncDisposable {
  readonly #ports: ConsolidationPorts;
  readonly #run: ConsolidationRunPorts;
  readonly #planner: SizePlanner;
  readonly #work: BackgroundWork;
  readonly #consolidating = new Map<string, Promise<void>>();
  readonly #questions: OwnerQuestions;

  constructor(ports: ConsolidationPorts) {
    this.#ports = ports;
    this.#planner = new SizePlanner(ports);
    this.#work = new BackgroundWork({
      ...ports,
      atOnce: AT_ONCE,
      name: 'archiving a conversation',
      onFailure: (key) => this.#retryIn(RETRY_MS[0], key),
    });
    this.#questions = new OwnerQuestions({ ...ports, signal: this.#work.signal });
    this.#run = {
      ...ports,
      signal: this.#work.signal,
      borders: new Slots(1),
      modelOf: async (session) => {
        const model = ports.sessionModel(session.key);
        const name = { provider: model.providerName, model: model.model };
        const { window } = await ports.context.report({ session, model: name, system: [], tools: [] });
        return { model, window };
      },
    };
  }

  /** Takes up in the background what an earlier process left. */
  start(): void {
    const sessions = new Set(this.#ports.consolidations.open().map((row) => row.session));
    for (const key of sessions) void this.#work.background(key, () => this.#finishOpen(key));
  }

  /** After a turn was closed: archives in the background when the next request would be long. */
  afterTurn(request: NextRequest): void {
    const { session } = request;
    if (this.#consolidating.has(session.key) || this.#work.signal.aborted) return;
    void this.#work.beside(session.key, async () => {
      if (this.#planner.isDue(session, await this.#grown(request))) await this.#begin(request);
    });
  }

  /** Before a turn's first model call: where that would not fit, waits at most 30 s for older parts to leave. */
  async beforeTurn(request: NextRequest): Promise<void> {
    if (!(await this.#ports.context.overflows(request))) return;
    using limit = deadline(this.#ports.clock, LONGEST_WAIT_MS, 'waiting for consolidation');
    await raceAbort(this.#begin(request), AbortSignal.any([limit.signal, this.#work.signal])).catch(() => {});
  }

  /**
   * Begins a session afresh; what it was goes into memory in the background, unless `consolidate` is false. `during`: the
   * turn that asks for it. `id` makes it safe to repeat.
   */
  async resetSession(
    sessionKey: string,
    reason: string,
    { consolidate = true, during = null, id: given }: ResetOptions = {},
  ): Promise<void> {
    const { sessions, consolidations, newId } = this.#ports;
    const session = await sessions.open(sessionKey);
    await this.#run.borders.run(async () => {
      const named = given ?? (during === null ? undefined : `reset:${during.callId}`);
      const id = named ?? newId();
      const { fresh } = await freshTurns(session, consolidations);
      const isBegun = named !== undefined && consolidations.open(sessionKey).some((row) => row.upTo === id);
      if (consolidate && fresh.length > 0 && !isBegun) {
        await consolidations.begin(draftOf(this.#ports, sessionKey, 'new', { turns: fresh, upTo: id }));
      }
      await session.append([{ ...resetDraft(reason, during), id }]);
    });
    void this.#work.background(sessionKey, () => this.#finishOpen(sessionKey));
  }

  /** Archives a conversation now, with a note of the owner's. `stop` aborts when nobody waits any more. */
  async mem(message: InboundMessage, text: string, stop?: AbortSignal): Promise<MemResult> {
    const { sessions, consolidations } = this.#ports;
    const { sessionKey, role, chatType } = message;
    const note = text.trim() === '' ? null : text;
    return await this.#work.inLine(sessionKey, async () => {
      // What is half done would be archived twice.
      for (const row of this.#openRows(sessionKey)) if (row.state === 'answered') await this.#finish(row);
      const { turns, fresh } = await freshTurns(await sessions.open(sessionKey), consolidations);
      if (fresh.length === 0 && note === null) return { result: 'nothing-new' };
      const row = await consolidations.begin({
        ...draftOf(this.#ports, sessionKey, 'mem', { upTo: turns.at(-1)?.end ?? null, note }),
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

  /** No model could say what is left of a conversation: the owner's note is kept all the same. */
  async #keepNote(note: string, { direct, session, role }: ConsolidationRow): Promise<void> {
    const { memory, clock, timezone } = this.#ports;
    const tag = direct && role === 'owner' ? '' : tagOf(session, role);
    const paragraph = renderHistory({ ...noteEntry(note, clock.now()), tag }, timezone);
    if (paragraph !== undefined) await memory.appendRendered([paragraph]);
  }

  /** Resolves when nothing is under way any more. */
  idle(): Promise<void> {
    return this.#work.idle();
  }

  /** Stops; what is not finished is taken up at the next start. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#work[Symbol.asyncDispose]();
  }

  /** The one consolidation of a session that is under way, begun if there is none. */
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
    const { consolidations, log } = this.#ports;
    const before = await this.#grown(request);
    let now = before;
    if (!this.#planner.isDue(session, now)) return;
    for (let round = 0; round < MOST_ROUNDS && this.#planner.isLong(now); round += 1) {
      const open = this.#openRows(session.key).find((row) => row.reason === 'size');
      const upTo =
        open === undefined ? await this.#planner.plan(session, now, before.conversation - now.conversation) : null;
      if (open === undefined && upTo === null) break;
      const row = open ?? (await consolidations.begin(draftOf(this.#ports, session.key, 'size', { upTo })));
      const { outcome } = await this.#finish(row);
      if (outcome === 'failed') return;
      now = await this.#grown(request);
    }
    const shrank = this.#planner.review(session, before.conversation, now.conversation);
    const facts = { session: session.key, before: before.conversation, after: now.conversation };
    if (shrank) log.info('memory: older parts of a conversation archived', facts);
    else log.debug('a conversation could not be made shorter', facts);
  }

  async #grown(request: NextRequest): Promise<GrownReport> {
    return await this.#planner.measure(request.session, await this.#ports.context.report(request));
  }

  async #finishOpen(key: string): Promise<void> {
    for (const row of this.#openRows(key)) {
      const result = await this.#finish(row);
      if (result.outcome !== 'failed' || row.reason !== 'new') continue;
      const failures = this.#ports.consolidations.get(row.id)?.failures ?? 1;
      this.#retryIn(result.held ? BUDGET_RETRY_MS : (RETRY_MS[failures - 1] ?? BUDGET_RETRY_MS), key);
    }
  }

  async #finish(row: ConsolidationRow, { message, stop }: Asked = {}): Promise<ConsolidationOutcome> {
    const signal = AbortSignal.any([this.#work.signal, ...(stop === undefined ? [] : [stop])]);
    const now = this.#ports.consolidations.get(row.id) ?? row;
    const result = await runConsolidation(now, { ...this.#run, signal }, message);
    if (result.outcome === 'done' && result.progress.questions.length > 0) {
      const { questions } = result.progress;
      void this.#work.beside(row.session, () => this.#questions.ask(row, questions));
    }
    if (result.outcome === 'failed' && row.reason === 'mem') await this.#giveUp(row);
    return result;
  }

  /** A /mem that failed is not tried again; what it had archived by then stays archived. */
  async #giveUp({ id }: ConsolidationRow): Promise<void> {
    const { consolidations } = this.#ports;
    const row = consolidations.get(id);
    const doneTo = row === undefined ? null : readProgress(row).doneTo;
    await consolidations.save(id, doneTo === null ? { state: 'dropped' } : { state: 'done', upTo: doneTo });
  }

  #openRows(key: string): readonly ConsolidationRow[] {
    return this.#ports.consolidations.open(key).filter((row) => !this.#questions.isAsking(row.id));
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
      const { progress, own } = outcome;
      const memory = !own ? 'not-here' : progress.questions.length > 0 ? 'asked' : progress.memory;
      return { result: 'archived', exchanges, memory, note };
    }
  }
}

/** The ended turns of a session's stretch, and those of them that are not archived yet. */
async function freshTurns(
  session: Session,
  consolidations: Consolidations,
): Promise<{ readonly turns: readonly TurnSpan[]; readonly fresh: readonly TurnSpan[] }> {
  const turns = endedTurns(await readSpan(session));
  return { turns, fresh: unconsolidated(turns, consolidatedOf(session.key, turns, consolidations).consolidated) };
}

/** An archive of these turns; whose chat it is follows from the newest message. */
function draftOf(
  { consolidations, newId }: { readonly consolidations: Consolidations; readonly newId: () => string },
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
  return { id: newId(), session, reason, role, direct: last?.chatType === 'direct', upTo, note };
}
