import type { InboundMessage } from '../bus/messages.ts';
import { backoffMs } from '../util/backoff.ts';
import { raceAbort, sleep } from '../util/clock.ts';
import type { Ended } from '../journal/stop.ts';
import { weakest } from '../security/access/access.ts';
import { errorMessage } from '../util/errors.ts';
import { Slots } from '../util/slots.ts';
import { othersFirst } from '../util/wake.ts';
import { BATCH_MOST, Debounce, nextBatch, type BurstSettings } from './message-batching.ts';
import { CommandRunner, type CommandRunnerPorts, type UntilWritten } from './command-runner.ts';
import type { CommandTable, FoundCommand } from './commands/table.ts';
import { closePlainly, giveUpTurn } from './recovery/give-up.ts';
import { subagentOf } from './subagents/task.ts';
import { TurnRunner, type ClaimedTurn } from './turn/runner.ts';

export interface LoopPorts extends CommandRunnerPorts {
  readonly bursts: Omit<BurstSettings, 'whenBusy'>;
  readonly commands: CommandTable;
}

const COMMANDS_AT_ONCE = 4;
/** A turn that waits for its next step holds memory too; beyond this (or the slots, if those are more), messages wait on disk. */
const TURNS_AT_ONCE = 64;
/** A turn of the event loop that takes longer has enough to do: the next turn waits, but not for ever. */
const BUSY_MS = 12;
const MOST_WAITS = 50;
/** A turn that fails for another reason than the disk is tried this often before it is given up with a notice. */
const TRIES = 5;
const GIVEN_UP =
  'Something went wrong inside me with your last message, and I gave up on it. The log says what; please send it again.';
const BACKOFF = { firstMs: 1_000, maxMs: 30_000 };
/** How long aborted turns may take to notice. */
const ABORT_WAIT_MS = 1_500;

/**
 * Decides who gets a turn when: one turn at a time per session, sessions side by side, commands of priority at once.
 * A session's waiting messages stay in the journal until their turn comes; memory holds only which sessions work.
 */
export class AgentLoop {
  readonly #ports: LoopPorts;
  readonly #runner: TurnRunner;
  readonly #commands: CommandRunner;
  readonly #written: UntilWritten;
  readonly #working = new Map<string, Promise<void>>();
  readonly #holds: Debounce;
  readonly #turnSlots: Slots;
  readonly #commandSlots = new Slots(COMMANDS_AT_ONCE);
  readonly #shutdown = new AbortController();
  /** Aborts as soon as a stop begins; turns in flight still have their grace. */
  readonly #ending = new AbortController();
  readonly #background = new Set<Promise<void>>();
  /** What commands that interrupt ended, until they run or are dropped themselves. */
  readonly #ended = new Map<string, Promise<Ended>>();
  #stopping = false;

  constructor(ports: LoopPorts) {
    this.#ports = ports;
    this.#turnSlots = new Slots(Math.max(TURNS_AT_ONCE, ports.slots.limit));
    this.#runner = new TurnRunner(ports);
    const { signal } = this.#shutdown;
    this.#written = (write) => ports.storage.untilWritten(write, { signal, what: 'agent: journal' });
    this.#commands = new CommandRunner(ports, this.#written, this.#shutdown.signal);
    this.#holds = new Debounce(ports.clock);
    ports.journal.inbox.onAnswer((taken) => {
      ports.questions.answered(taken);
      this.#commands.tell(taken.message.id, taken.message, 'command', taken.reply);
    });
    ports.journal.inbox.onStop(({ stop, turnIds, dropped, reply }) => {
      for (const id of turnIds) this.#runner.stop(id);
      this.#commands.stop(stop.sessionKey);
      ports.questions.cancelled(stop.sessionKey);
      this.#dropped(stop, dropped, 'Dropped by /stop.');
      this.#commands.tell(stop.id, stop, 'command', reply);
    });
  }

  /** Ends a turn in flight that the journal has as stopping. */
  stopTurn(turnId: string): void {
    this.#runner.stop(turnId);
  }

  get running(): number {
    return this.#runner.running.length;
  }

  /** What it holds in memory: sessions that work, and commands and signals on their way. */
  get load(): { readonly sessions: number; readonly aside: number } {
    return { sessions: this.#working.size, aside: this.#background.size };
  }

  /** Takes messages from the bus until it closes. */
  async run(): Promise<void> {
    for await (const message of this.#ports.bus.consumeInbound()) {
      if (this.#shutdown.signal.aborted) return;
      this.#dispatch(message);
    }
  }

  /**
   * Does what recovery has to do in a session before anything else of it; messages that come wait. The signal aborts when
   * the process stops. What rejects is logged.
   */
  hold(sessionKey: string, work: (signal: AbortSignal) => Promise<void>): void {
    this.#work(sessionKey, () => work(this.#ending.signal));
  }

  /** Writes to the journal until it takes it. */
  written<T>(write: () => Promise<T>): Promise<T> {
    return this.#written(write);
  }

  /** Runs a command that an earlier process began; returns the turn that it begins instead of a reply. */
  repeat(turnId: string, message: InboundMessage, found: FoundCommand): Promise<ClaimedTurn | undefined> {
    return this.#commands.finish(turnId, message, found);
  }

  /** Lets turns in flight finish for `graceMs`, then leaves them open for the next start. */
  async stop(graceMs: number): Promise<void> {
    const { clock, journal } = this.#ports;
    const settled = (): Promise<unknown> => Promise.all([...this.#working.values(), ...this.#background]);
    const grace = new AbortController();
    this.#stopping = true;
    this.#ending.abort(new Error('the process is stopping'));
    this.#holds.end();
    using _timer = clock.timer(graceMs, () => grace.abort(), { keepAlive: true });
    await raceAbort(settled(), grace.signal).catch(() => {});
    const open = [...this.#runner.running];
    this.#shutdown.abort(new Error('the process is stopping'));
    await Promise.race([settled(), sleep(clock, ABORT_WAIT_MS)]);
    await Promise.all(open.map((id) => journal.turns.forgive(id)));
  }

  #dispatch(message: InboundMessage): void {
    const found = this.#ports.commands.find(message);
    if (found === 'unknown') {
      this.#aside(() => this.#unknown(message));
      return;
    }
    if (found !== null && (found.type === 'refused' || found.command.priority)) {
      this.#aside(() => this.#commandSlots.run(() => this.#command(message, found)));
      return;
    }
    const startsAfresh = found?.type === 'command' && found.command.interrupts;
    const interrupts = this.#ports.whenBusy === 'interrupt' && found === null && message.origin === 'user';
    if (startsAfresh || interrupts) {
      const ended = this.#interrupt(message, { drop: startsAfresh });
      if (startsAfresh) this.#ended.set(message.id, ended);
      this.#aside(() => ended);
    }
    this.#wake(message.sessionKey);
  }

  /** A word behind a slash that is no command: a skill's name makes an ordinary message, anything else is refused. */
  async #unknown(message: InboundMessage): Promise<void> {
    const found = await this.#ports.commands.resolve(message);
    if (found === null) this.#wake(message.sessionKey);
    else await this.#commandSlots.run(() => this.#command(message, found));
  }

  #wake(sessionKey: string): void {
    if (this.#working.has(sessionKey)) this.#holds.wake(sessionKey);
    else this.#work(sessionKey);
  }

  /** Work that belongs to no session's order; shutdown waits for it. */
  #aside(work: () => Promise<unknown>): void {
    const task = work()
      .catch((error: unknown) => this.#ports.log.error('commands: command failed', { reason: errorMessage(error) }))
      .then(() => void this.#background.delete(task));
    this.#background.add(task);
  }

  async #interrupt(message: InboundMessage, options: { drop: boolean }): Promise<Ended> {
    const ended = await this.#written(() => this.#ports.journal.turns.interrupt(message, options));
    for (const id of ended.turnIds) this.#runner.stop(id);
    this.#ports.questions.cancelled(message.sessionKey);
    this.#dropped(message, ended.dropped, 'Dropped for a fresh start.');
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
      .catch((error: unknown) => this.#ports.log.error('agent: session failed', { reason: errorMessage(error) }))
      .finally(() => {
        if (this.#working.get(sessionKey) === work) this.#working.delete(sessionKey);
      });
    this.#working.set(sessionKey, work);
  }

  async #drain(sessionKey: string, held?: () => Promise<void>): Promise<void> {
    await held?.().catch((error: unknown) => {
      if (!this.#stopping)
        this.#ports.log.error('recovery: failed', { session: sessionKey, reason: errorMessage(error) });
    });
    while (!this.#stopping) {
      const messages = await this.#gather(sessionKey);
      const [first] = messages;
      if (first === undefined || this.#stopping) return;
      const found = await this.#ports.commands.resolve(first);
      if (found === null) await this.#begin(first, messages);
      else await this.#command(first, found);
    }
  }

  /** The waiting messages that come next, once their burst is over; a command comes alone. */
  async #gather(sessionKey: string): Promise<readonly InboundMessage[]> {
    const { clock, journal, bursts, whenBusy, commands } = this.#ports;
    const began = clock.monotonic();
    for (;;) {
      const waiting = journal.inbox.waiting(sessionKey, BATCH_MOST + 1);
      if (waiting[0] !== undefined && (await commands.resolve(waiting[0])) !== null) return waiting.slice(0, 1);
      const heldMs = clock.monotonic() - began;
      const { messages, waitMs } = nextBatch(waiting, {
        now: clock.now(),
        heldMs,
        settings: { ...bursts, whenBusy },
      });
      if (waitMs === 0 || this.#stopping) return messages;
      await this.#holds.wait(sessionKey, waitMs);
    }
  }

  async #begin(first: InboundMessage, batch: readonly InboundMessage[]): Promise<void> {
    const { hooks, journal, newId } = this.#ports;
    const { sessionKey } = first;
    // The parent of a subagent has a seat and waits for it.
    using seat = first.origin === 'subagent' ? undefined : await this.#admitTurn();
    if (seat === null) return;
    const admitted = new Map<InboundMessage, InboundMessage>();
    for (const message of batch) {
      const decision = await hooks.decide('admit', message, (hook, value) => hook.admit?.(value));
      if ('denied' in decision) await this.#deny(message, decision.denied);
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
      ...(parent === undefined ? {} : { parent }),
    };
    const claimed = await this.#written(() => journal.turns.claim(turn));
    if (claimed.length === 0) return;
    const messages = claimed.map((message) => admitted.get(message) ?? message);
    await this.finish({ id: turn.id, sessionKey, role, messages }, seat);
  }

  /** Null: the process stops. */
  async #admitTurn(): Promise<Disposable | null> {
    const seat = await this.#turnSlots.hold(this.#shutdown.signal).catch(() => null);
    const { clock } = this.#ports;
    for (let waits = 0; waits < MOST_WAITS && !this.#stopping; waits += 1) {
      const began = clock.monotonic();
      await othersFirst();
      if (clock.monotonic() - began < BUSY_MS) break;
    }
    if (!this.#stopping) return seat;
    seat?.[Symbol.dispose]();
    return null;
  }

  async #deny(message: InboundMessage, reason: string): Promise<void> {
    const { journal, newId } = this.#ports;
    const turn = { id: newId(), session: message.sessionKey, role: message.role, messages: [message] };
    const claimed = await this.#written(() => journal.turns.claim(turn));
    if (claimed.length > 0) await this.#commands.reply(turn.id, message, reason);
  }

  async #command(message: InboundMessage, found: FoundCommand): Promise<void> {
    const ended = await this.#ended.get(message.id);
    this.#ended.delete(message.id);
    const turn = await this.#commands.run(message, found, ended?.dropped.length ?? 0);
    if (turn !== undefined) await this.finish(turn);
  }

  /**
   * Runs a turn to its end. While the disk does not take writes it waits, as long as that lasts, and continues the turn
   * from its tape; any other failure is tried a few times, then the turn is closed with the bare answer that is on its
   * tape, or given up with a notice.
   */
  async finish(turn: ClaimedTurn, seat?: Disposable): Promise<void> {
    const { clock, log, storage } = this.#ports;
    const { signal } = this.#shutdown;
    for (let tries = 1; ;) {
      try {
        await this.#runner.run(turn, this.#shutdown.signal, () => seat?.[Symbol.dispose]());
        return;
      } catch (error) {
        if (signal.aborted) return;
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
      if (await closePlainly(turn, this.#ports).catch(() => false)) return;
      await giveUpTurn(turn, GIVEN_UP, this.#ports);
    }).catch((error: unknown) => {
      if (!signal.aborted) log.error('turn: not given up', { turn: turn.id, reason: errorMessage(error) });
    });
  }
}
