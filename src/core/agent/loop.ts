import type { App } from '../app.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { backoffMs } from '../util/backoff.ts';
import { raceAbort, sleep } from '../util/clock.ts';
import type { EndedWork } from '../journal/stop.ts';
import { weakest } from '../security/access/access.ts';
import { errorCode, errorMessage } from '../util/errors.ts';
import { Slots } from '../util/slots.ts';
import { othersFirst } from '../util/wake.ts';
import { BATCH_MOST, burstsOf, busyMode, Debounce, nextBatch } from './message-batching.ts';
import { CommandRunner, type UntilWritten } from './command-runner.ts';
import type { FoundCommand } from './commands/table.ts';
import { closePlainly, giveUpTurn } from './recovery/give-up.ts';
import { reportUnreadable, UNREADABLE } from './recovery/unreadable.ts';
import { subagentOf } from './subagents/task.ts';
import type { ClaimedTurn } from './turn/runner.ts';

const COMMANDS_AT_ONCE = 4;
/** At most this many turns are begun and not closed, or as many as there are model slots, if those are more; other messages wait on disk. */
const TURNS_AT_ONCE = 64;
/** A turn begins only after a round of the event loop that took less than this, or after `MOST_WAITS` rounds. */
const BUSY_MS = 12;
const MOST_WAITS = 50;
/** Attempts of a turn that fails for another reason than the disk; then it is given up with a notice. */
const TRIES = 5;
const GIVEN_UP =
  'An error inside me kept me from answering your last message. Please send it again; the log says what went wrong.';
const BACKOFF = { firstMs: 1_000, maxMs: 30_000 };
/** How long `stop` waits for aborted turns to end. */
const ABORT_WAIT_MS = 1_500;

/**
 * Decides which messages get a turn, and when: one turn at a time per session, sessions in parallel, commands with `priority`
 * at once. Waiting messages stay in the journal; memory holds only which sessions are working.
 */
export class AgentLoop {
  readonly #app: App;
  readonly #commands: CommandRunner;
  readonly #written: UntilWritten;
  readonly #working = new Map<string, Promise<void>>();
  readonly #holds: Debounce;
  readonly #turnSlots: Slots;
  readonly #commandSlots = new Slots(COMMANDS_AT_ONCE);
  readonly #shutdown = new AbortController();
  /** Aborts when `stop` is called; `#shutdown` aborts after the grace of the running turns. */
  readonly #ending = new AbortController();
  readonly #background = new Set<Promise<void>>();
  /** By the message id of a command that interrupts (/new): what it ended, until the command runs or is dropped. */
  readonly #ended = new Map<string, Promise<EndedWork>>();
  #stopping = false;

  constructor(app: App) {
    const { storage, slots, clock, journal, turns, questions } = app;
    this.#app = app;
    this.#turnSlots = new Slots(Math.max(TURNS_AT_ONCE, slots.limit));
    const { signal } = this.#shutdown;
    this.#written = (write) => storage.untilWritten(write, { signal, what: 'agent: journal' });
    this.#commands = new CommandRunner(app, this.#written, this.#shutdown.signal);
    this.#holds = new Debounce(clock);
    journal.inbox.onAnswer((taken) => {
      questions.answered(taken);
      this.#commands.tell(taken.message.id, taken.message, 'command', taken.reply);
    });
    journal.inbox.onStop(({ stop, isWhole, turnIds, dropped, reply }) => {
      for (const id of turnIds) turns.stop(id);
      if (isWhole) this.#commands.stop(stop.sessionKey);
      if (isWhole || turnIds.length > 0) questions.cancelled(stop.sessionKey);
      this.#dropped(stop, dropped, 'Dropped by /stop.');
      this.#commands.tell(stop.id, stop, 'command', reply);
    });
  }

  /** What the loop holds in memory: `sessions` that work, and `aside`, commands and interruptions that run now. */
  get load(): { readonly sessions: number; readonly aside: number } {
    return { sessions: this.#working.size, aside: this.#background.size };
  }

  /** What the messages of a session wait for; null: for nothing that the loop knows of, such as the disk. */
  waitsFor(sessionKey: string): 'place' | 'more' | null {
    if (this.#turnSlots.isWaiting(sessionKey)) return 'place';
    return this.#holds.isWaiting(sessionKey) ? 'more' : null;
  }

  /** Takes messages from the bus until it closes. */
  async run(): Promise<void> {
    this.#app.journal.inbox.onCommitted((message) => this.#prepare(message));
    for await (const message of this.#app.bus.consumeInbound()) {
      if (this.#shutdown.signal.aborted) return;
      this.#dispatch(message);
    }
  }

  /**
   * Runs the work of recovery in a session before its messages. The signal aborts when the process stops. An error of the
   * work is logged; then the messages are answered.
   */
  hold(sessionKey: string, work: (signal: AbortSignal) => Promise<void>): void {
    this.#work(sessionKey, () => work(this.#ending.signal));
  }

  /** Calls `write` until the disk takes it. Rejects for another reason than the disk, or when the process stops. */
  written<T>(write: () => Promise<T>): Promise<T> {
    return this.#written(write);
  }

  /** Finishes a command that an earlier process began. Returns a turn if the command begins one instead of replying. */
  repeat(turnId: string, message: InboundMessage, found: FoundCommand): Promise<ClaimedTurn | undefined> {
    return this.#commands.finish(turnId, message, found);
  }

  /** Ends at once what recovery began, when the start fails after it. */
  abandon(): void {
    this.#stopping = true;
    for (const end of [this.#ending, this.#shutdown]) end.abort(new Error('the start failed'));
    this.#holds.end();
  }

  /**
   * Lets turns in flight finish for `graceMs`, then leaves them open for the next start. Where all of them wait for
   * people's answers, it leaves them at once.
   */
  async stop(graceMs: number): Promise<void> {
    const { clock, journal, questions, turns } = this.#app;
    const settled = (): Promise<unknown> => Promise.all([...this.#working.values(), ...this.#background]);
    const grace = new AbortController();
    this.#stopping = true;
    this.#ending.abort(new Error('the process is stopping'));
    this.#holds.end();
    const isIdle =
      this.#background.size === 0 && [...this.#working.keys()].every((sessionKey) => questions.isAsking(sessionKey));
    using _timer = clock.timer(isIdle ? 0 : graceMs, () => grace.abort(), { keepAlive: true });
    await raceAbort(settled(), grace.signal).catch(() => {});
    const open = [...turns.running];
    this.#shutdown.abort(new Error('the process is stopping'));
    await Promise.race([settled(), sleep(clock, ABORT_WAIT_MS)]);
    await Promise.all(open.map((id) => journal.turns.forgive(id)));
  }

  #dispatch(message: InboundMessage): void {
    const found = this.#app.commands.find(message);
    if (found === 'unknown') {
      this.#aside(() => this.#unknown(message));
      return;
    }
    if (found !== null && (found.type === 'refused' || found.command.priority)) {
      this.#aside(() => this.#commandSlots.run(() => this.#command(message, found)));
      return;
    }
    const startsAfresh = found?.type === 'command' && found.command.interrupts;
    const interrupts =
      found === null && message.origin === 'user' && busyMode(this.#app, message.sessionKey) === 'interrupt';
    if (startsAfresh || interrupts) {
      const ended = this.#interrupt(message, { drop: startsAfresh });
      if (startsAfresh) this.#ended.set(message.id, ended);
      this.#aside(() => ended);
    }
    this.#wake(message.sessionKey);
  }

  /** Handles `/name` when no command has that name: a skill's name makes an ordinary message, any other name is refused. */
  async #unknown(message: InboundMessage): Promise<void> {
    const found = await this.#app.commands.resolve(message);
    if (found === null) this.#wake(message.sessionKey);
    else await this.#commandSlots.run(() => this.#command(message, found));
  }

  /** Begins the turn of a message that is not durable yet: it reaches its first write by the time that the message is. */
  #prepare(message: InboundMessage): void {
    const { commands, journal } = this.#app;
    const isPlain = message.origin === 'user' && commands.find(message) === null;
    if (isPlain && !journal.starts.isDoubted && !this.#stopping && !this.#working.has(message.sessionKey))
      this.#work(message.sessionKey);
  }

  #wake(sessionKey: string): void {
    if (this.#working.has(sessionKey)) this.#holds.wake(sessionKey);
    else this.#work(sessionKey);
  }

  /** Runs work outside of the order of its session. Errors are logged; shutdown waits for it. */
  #aside(work: () => Promise<unknown>): void {
    const task = work()
      .catch((error: unknown) => this.#app.log.error('commands: command failed', { reason: errorMessage(error) }))
      .then(() => void this.#background.delete(task));
    this.#background.add(task);
  }

  async #interrupt(message: InboundMessage, options: { drop: boolean }): Promise<EndedWork> {
    const ended = await this.#written(() => this.#app.journal.turns.interrupt(message, options));
    for (const id of ended.turnIds) this.#app.turns.stop(id);
    this.#app.questions.cancelled(message.sessionKey);
    this.#dropped(message, ended.dropped, 'Dropped, because a new conversation was started.');
    return ended;
  }

  #dropped(by: InboundMessage, messages: readonly InboundMessage[], text: string): void {
    for (const message of messages) {
      this.#ended.delete(message.id);
      this.#commands.tell(by.id, message, 'stopped', text);
    }
  }

  #work(sessionKey: string, held?: () => Promise<void>): void {
    const before = this.#working.get(sessionKey) ?? Promise.resolve();
    const work = before
      .then(() => this.#drain(sessionKey, held))
      .catch((error: unknown) => this.#app.log.error('agent: session failed', { reason: errorMessage(error) }))
      .finally(() => {
        if (this.#working.get(sessionKey) === work) this.#working.delete(sessionKey);
      });
    this.#working.set(sessionKey, work);
  }

  async #drain(sessionKey: string, held?: () => Promise<void>): Promise<void> {
    await held?.().catch((error: unknown) => {
      if (!this.#stopping)
        this.#app.log.error('recovery: failed', { session: sessionKey, reason: errorMessage(error) });
    });
    while (!this.#stopping) {
      const messages = await this.#gather(sessionKey);
      const [first] = messages;
      if (first === undefined || this.#stopping) return;
      const found = await this.#app.commands.resolve(first);
      const { inbox, starts } = this.#app.journal;
      const durable = inbox.untilDurable();
      durable.catch(() => {});
      const isPlain = found === null && messages.every(({ origin }) => origin === 'user');
      if (!isPlain || starts.isDoubted) await raceAbort(durable, this.#shutdown.signal);
      if (found === null) await this.#begin(first, messages, durable);
      else await this.#command(first, found);
    }
  }

  /** The next messages of a session, after their burst is over; empty: none waits. A command comes alone. They may not be durable yet. */
  async #gather(sessionKey: string): Promise<readonly InboundMessage[]> {
    const { clock, journal, commands } = this.#app;
    const began = clock.monotonic();
    for (;;) {
      const waiting = journal.inbox.waiting(sessionKey, BATCH_MOST + 1, true);
      if (waiting[0] !== undefined && (await commands.resolve(waiting[0])) !== null) return waiting.slice(0, 1);
      const heldMs = clock.monotonic() - began;
      const { messages, waitMs } = nextBatch(waiting, {
        now: clock.now(),
        heldMs,
        settings: burstsOf(this.#app),
      });
      if (waitMs === 0 || this.#stopping) return messages;
      await this.#holds.wait(sessionKey, waitMs);
    }
  }

  async #begin(first: InboundMessage, batch: readonly InboundMessage[], durable: Promise<void>): Promise<void> {
    const { newId, journal, hooks } = this.#app;
    const { sessionKey } = first;
    // A subagent needs no slot: its parent holds one while it waits for it.
    using slot = first.origin === 'subagent' ? undefined : await this.#admitTurn(sessionKey);
    if (slot === null) return;
    const admitted = new Map<InboundMessage, InboundMessage>();
    for (const message of batch) {
      const decision = await hooks.admit(message);
      if ('denied' in decision) await this.#deny(message, decision);
      else admitted.set(message, decision.value);
    }
    if (admitted.size === 0) return;
    const role = weakest(first.role, ...[...admitted.values()].map((message) => message.role));
    const parent = subagentOf(first)?.turn;
    const asking = [...admitted.keys()];
    const turn = {
      id: newId(),
      session: sessionKey,
      role,
      messages: asking,
      durable: journal.starts.isDoubted,
      ...(parent === undefined ? {} : { parent }),
    };
    const claimed = await this.#written(() => journal.turns.claim(turn));
    if (claimed.length === 0) return;
    await this.finish({ id: turn.id, sessionKey, role, messages: claimed, durable }, slot);
  }

  /** Waits for a free slot and a quiet event loop. Disposing of the result frees the slot. Null: the process stops. */
  async #admitTurn(sessionKey: string): Promise<Disposable | null> {
    const slot = await this.#turnSlots.hold(this.#shutdown.signal, sessionKey).catch(() => null);
    const { clock } = this.#app;
    for (let waits = 0; waits < MOST_WAITS && !this.#stopping; waits += 1) {
      const began = clock.monotonic();
      await othersFirst();
      if (clock.monotonic() - began < BUSY_MS) break;
    }
    if (!this.#stopping) return slot;
    slot?.[Symbol.dispose]();
    return null;
  }

  async #deny(message: InboundMessage, { denied, by }: { denied: string; by: string }): Promise<void> {
    const { newId, journal } = this.#app;
    const turn = { id: newId(), session: message.sessionKey, role: message.role, messages: [message] };
    const reason = `The plugin ${by} did not let it through: ${denied}`;
    await this.#written(() => journal.inbox.refusedBecause(message.id, reason));
    const claimed = await this.#written(() => journal.turns.claim(turn));
    if (claimed.length > 0) await this.#commands.reply(turn.id, message, denied);
  }

  async #command(message: InboundMessage, found: FoundCommand): Promise<void> {
    const ended = await this.#ended.get(message.id);
    this.#ended.delete(message.id);
    const turn = await this.#commands.run(message, found, ended?.dropped.length ?? 0);
    if (turn !== undefined) await this.finish(turn);
  }

  /**
   * Runs a turn to its end. While the disk takes no writes, or the session's file can't be read, it waits without limit, then
   * continues the turn from its tape.
   * After any other error it tries again, 5 times in all; then it sends the answer that is on the tape without hooks, or
   * gives the turn up with a notice. Frees `slot` when the turn waits for a person. Never rejects.
   */
  async finish(turn: ClaimedTurn, slot?: Disposable): Promise<void> {
    const { clock, log, storage, turns } = this.#app;
    const { signal } = this.#shutdown;
    let unread = 0;
    for (let tries = 1; ;) {
      try {
        await turns.run(turn, this.#shutdown.signal, () => slot?.[Symbol.dispose]());
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (errorCode(error) === 'tape-unreadable' && mayWait(turn)) {
          unread += 1;
          if (unread === 1) await reportUnreadable(turn.sessionKey, error, this.#app);
          slot?.[Symbol.dispose]();
          await sleep(clock, backoffMs(unread, UNREADABLE), signal).catch(() => {});
          continue;
        }
        log.error('turn: failed', { turn: turn.id, tries, reason: errorMessage(error) });
        if (storage.failed(error)) {
          await storage.healed(signal).catch(() => {});
          continue;
        }
        if (tries === TRIES) break;
        await sleep(clock, backoffMs(tries, BACKOFF), signal).catch(() => {});
        tries += 1;
      }
    }
    await this.#written(async () => {
      if (await closePlainly(turn, this.#app).catch(() => false)) return;
      await giveUpTurn(turn, GIVEN_UP, this.#app);
    }).catch((error: unknown) => {
      if (!signal.aborted) log.error('turn: not given up', { turn: turn.id, reason: errorMessage(error) });
    });
  }
}

/** Whether an answer that comes much later is of use: to a chat on a platform, not to a program or terminal that waits for it. */
function mayWait({ messages }: ClaimedTurn): boolean {
  return messages.some(({ origin, channel }) => origin === 'user' && channel !== 'terminal');
}
