import type { App } from '../../app.ts';
import type { TapeEntry } from '../../session/entry.ts';
import type { UndoItem, UndoRecord } from '../../storage/undo-log.ts';
import { changedBetween } from '../../files/changed-between.ts';
import { AppError } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import { exchanges, type Exchange, type NoExchange } from '../commands/last-exchange.ts';
import { lastingCalls } from './lasting.ts';
import { restore } from './restore.ts';

/** A turn and the conversation to which it belongs. */
export interface TurnPlace {
  readonly session: string;
  readonly turn: string;
}

/** What an undo would do. */
export type UndoPlan = Omit<UndoRecord, 'v' | 'id' | 'at' | 'state'>;

/**
 * Takes whole turns back: what they changed, then their place in the conversation. `perform` writes down first what it is
 * about to do, and each of its steps can be repeated, so after the end of the process `finish` completes it.
 */
export class Undo {
  readonly #app: App;
  /** One at a time: two would restore over each other. */
  readonly #lock = new Slots(1);

  constructor(app: App) {
    this.#app = app;
  }

  /** Plans to take the newest exchanges of a conversation back, at most `count`; changes nothing. */
  async planLast(session: string, count: number): Promise<UndoPlan | NoExchange> {
    const { window } = await this.#app.sessions.open(session);
    const { found, boundary } = exchanges(window, count);
    return found.length === 0 ? { boundary } : await this.#plan(session, found.toReversed(), window);
  }

  /** Plans to take one turn back, whatever began it. Throws `undo-refused` for one that is running or was taken back. */
  async planTurn({ session, turn }: TurnPlace): Promise<UndoPlan> {
    const opened = await this.#app.sessions.open(session);
    const entries: TapeEntry[] = [];
    let isRetracted = (await this.#app.undone.all()).some(
      (record) => record.state === 'done' && record.exchanges.some((exchange) => exchange.turn === turn),
    );
    for await (const entry of opened.backwards()) {
      if (entry.kind === 'retract' && entry.turns.includes(turn)) isRetracted = true;
      if (entry.turn !== turn) continue;
      entries.unshift(entry);
      if (entry.kind === 'turn-start') break;
    }
    if (isRetracted) throw new AppError('undo-refused', 'This turn was taken back already.');
    if (!entries.some(({ kind }) => kind === 'turn-end')) {
      throw new AppError(
        'undo-refused',
        'This turn is not in its conversation, or it has not ended: wait, or /stop it.',
      );
    }
    const [exchange] = exchanges(entries, 1).found;
    return await this.#plan(session, [exchange ?? { turn, attempts: [turn], said: [] }], entries);
  }

  /** Does what was planned, under an id of the caller: the same id again finishes or repeats nothing. */
  perform(id: string, plan: UndoPlan): Promise<UndoRecord> {
    return this.#lock.run(async () => {
      const { undone, clock } = this.#app;
      const known = await undone.get(id);
      const record = known ?? { v: 1 as const, id, at: clock.now(), state: 'begun' as const, ...plan };
      if (known === undefined) await undone.put(record);
      const done = await this.#complete(record, known !== undefined);
      await this.#settleOthers(done);
      return done;
    });
  }

  /** Finishes the undo with this id, if it was begun; undefined: it was not. */
  async finish(id: string): Promise<UndoRecord | undefined> {
    return await this.#lock.run(async () => {
      const record = await this.#app.undone.get(id);
      return record === undefined ? undefined : await this.#complete(record, true);
    });
  }

  /** The ids of those that were begun and not finished. */
  async unfinished(): Promise<readonly string[]> {
    return (await this.#app.undone.all()).filter(({ state }) => state === 'begun').map(({ id }) => id);
  }

  /** An earlier undo of the same turns that failed is done with this one: a later start must not repeat it. */
  async #settleOthers({ id, exchanges: taken }: UndoRecord): Promise<void> {
    const turns = new Set(taken.map(({ turn }) => turn));
    const { undone } = this.#app;
    for (const other of await undone.all()) {
      if (other.state !== 'begun' || other.id === id) continue;
      if (other.exchanges.every(({ turn }) => turns.has(turn))) await undone.put({ ...other, state: 'done' });
    }
  }

  /** `again`: an earlier process may have done a part of it. */
  async #complete(record: UndoRecord, again: boolean): Promise<UndoRecord> {
    if (record.state === 'done') return record;
    const turns = record.exchanges.flatMap((exchange) => exchange.turns);
    const items = merged(record.items, await restore(this.#app, turns, { dry: false }), again);
    const session = await this.#app.sessions.open(record.session);
    const retracted = record.exchanges.map(({ turn }) => turn);
    await session.append([{ id: `undo:${record.id}`, kind: 'retract', turn: null, turns: retracted }]);
    const done: UndoRecord = { ...record, state: 'done', items };
    await this.#app.undone.put(done);
    return done;
  }

  async #plan(session: string, found: readonly Exchange[], entries: readonly TapeEntry[]): Promise<UndoPlan> {
    const { paths } = this.#app;
    const planned = found.map(({ turn, said, attempts }) => ({
      turn,
      said: [...said],
      turns: attempts.toReversed().flatMap((attempt) => [{ session, turn: attempt }, ...this.#subagents(attempt)]),
    }));
    const turns = planned.flatMap((exchange) => exchange.turns);
    const recorded = await this.#recorded(turns);
    const calls = found.flatMap(({ attempts }) =>
      attempts.toReversed().map((turn) => lastingCalls(entries, turn, { app: this.#app, recorded })),
    );
    const items = await restore(this.#app, turns, { dry: true });
    const files = new Set(items.filter(({ kind }) => kind === 'file').map(({ name }) => name));
    const spans = calls.flatMap(({ commands }) => commands);
    const skipped = ['.git', 'node_modules'];
    const { files: changed } = await changedBetween(paths.workspace, spans, { skipped, time: 'mtimeMs' });
    return {
      session,
      exchanges: planned,
      items: [...items],
      byCommands: changed.filter((path) => !files.has(path)),
      sent: calls.flatMap(({ sent }) => sent),
      lasting: calls.flatMap(({ lasting }) => lasting),
    };
  }

  /** The turns of the subagents that a turn started. */
  #subagents(turn: string): readonly TurnPlace[] {
    const { subagents } = this.#app.journal;
    return subagents.ofTurn(turn).map(({ turnId, message }) => ({ session: message.sessionKey, turn: turnId }));
  }

  /** Ids of the calls of these turns whose changes were recorded. */
  async #recorded(turns: readonly TurnPlace[]): Promise<ReadonlySet<string>> {
    const { changes, landing } = this.#app;
    const landed = turns.flatMap(({ session, turn }) => landing.ofTurn(session, turn)).map(({ callId }) => callId);
    const lists = await Promise.all(
      turns.flatMap(({ session, turn }) => [changes.of(session, turn), changes.jobsOf(session, turn)]),
    );
    return new Set([...landed, ...lists.flatMap((list) => list.map(({ call }) => call))]);
  }
}

/**
 * What was planned, with what really became of it. What an earlier attempt restored is not named again, or, of facts, is
 * not there any more: it keeps its plan.
 */
function merged(planned: readonly UndoItem[], done: readonly UndoItem[], again: boolean): UndoItem[] {
  const key = ({ kind, name }: UndoItem): string => `${kind}:${name}`;
  const known = new Map(planned.map((item) => [key(item), item]));
  for (const item of done) {
    const isPlanned = known.get(key(item))?.outcome !== 'left' && known.has(key(item));
    if (again && item.kind === 'memory' && item.outcome === 'left' && isPlanned) continue;
    known.set(key(item), item);
  }
  return [...known.values()];
}
