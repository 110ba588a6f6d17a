import type { InboundMessage } from '../bus/messages.ts';
import { raceAbort, sleep } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { IdFactory } from '../util/ids.ts';
import { Slots } from '../util/slots.ts';
import type { CommandPorts, StatusReport } from './commands/command.ts';
import { findCommand, type FoundCommand } from './commands/table.ts';
import { outboundTo, withParts } from './outgoing.ts';
import { noUsage } from '../util/usage.ts';
import { createLive } from './live.ts';
import { TurnRunner, type ClaimedTurn, type RunnerPorts } from './turn-runner.ts';

export interface LoopPorts extends RunnerPorts {
  readonly newId: IdFactory;
  readonly status: (sessionKey: string) => StatusReport;
}

const COMMANDS_AT_ONCE = 4;
/** A turn that can not be written down is tried so often before it is given up with a notice. */
const TRIES = 5;
const LONGEST_BACKOFF_MS = 30_000;
/** How long aborted turns may take to notice. */
const ABORT_WAIT_MS = 1_500;

/**
 * Decides who gets a turn when: one turn at a time per session, sessions side by side, commands of priority at once.
 * A session's waiting messages stay in the journal until their turn comes; memory holds only which sessions work.
 */
export class AgentLoop {
  readonly #ports: LoopPorts;
  readonly #runner: TurnRunner;
  readonly #working = new Map<string, Promise<void>>();
  readonly #commands = new Slots(COMMANDS_AT_ONCE);
  readonly #shutdown = new AbortController();
  readonly #background = new Set<Promise<void>>();
  #stopping = false;

  constructor(ports: LoopPorts) {
    this.#ports = ports;
    this.#runner = new TurnRunner(ports);
    ports.journal.inbox.onStop(({ stop, turnIds, dropped, reply }) => {
      for (const id of turnIds) this.#runner.stop(id);
      ports.bus.outboundWritten();
      for (const message of dropped) this.#tell(stop.id, message, 'stopped', 'Dropped by /stop.');
      this.#tell(stop.id, stop, 'command', reply);
    });
  }

  get running(): number {
    return this.#runner.running.length;
  }

  /** Takes messages from the bus until it closes. */
  async run(): Promise<void> {
    for await (const message of this.#ports.bus.consumeInbound()) {
      if (this.#shutdown.signal.aborted) return;
      this.#dispatch(message);
    }
  }

  /** Goes on with a turn that a crash cut off, before anything else of its session. */
  continue(turn: ClaimedTurn): void {
    this.#work(turn.sessionKey, turn);
  }

  /** Lets turns in flight finish for `graceMs`, then leaves them open for the next start. */
  async stop(graceMs: number): Promise<void> {
    const { clock, journal } = this.#ports;
    const settled = (): Promise<unknown> => Promise.all([...this.#working.values(), ...this.#background]);
    const grace = new AbortController();
    this.#stopping = true;
    using _timer = clock.timer(graceMs, () => grace.abort(), { keepAlive: true });
    await raceAbort(settled(), grace.signal).catch(() => {});
    const open = [...this.#runner.running];
    this.#shutdown.abort(new Error('the process is stopping'));
    await Promise.race([settled(), sleep(clock, ABORT_WAIT_MS)]);
    await Promise.all(open.map((id) => journal.turns.suspend(id)));
  }

  #dispatch(message: InboundMessage): void {
    const found = findCommand(message.text, message.role);
    if (found !== null && (found.type === 'refused' || found.command.priority)) {
      this.#aside(() => this.#commands.run(() => this.#command(message, found)));
      return;
    }
    const interrupts = found?.type === 'command' ? found.command.interrupts : this.#ports.whenBusy === 'interrupt';
    if (interrupts) this.#aside(() => this.#interrupt(message.sessionKey));
    if (!this.#working.has(message.sessionKey)) this.#work(message.sessionKey);
  }

  /** Work that belongs to no session's order; shutdown waits for it. */
  #aside(work: () => Promise<void>): void {
    const task = work()
      .catch((error: unknown) => this.#ports.log.error('a command failed', { reason: errorMessage(error) }))
      .finally(() => this.#background.delete(task));
    this.#background.add(task);
  }

  async #interrupt(sessionKey: string): Promise<void> {
    const running = this.#runner.runningIn(sessionKey);
    if (running.length === 0) return;
    const stopped = await this.#withRetry(() => this.#ports.journal.turns.markStopping(running));
    for (const id of stopped) this.#runner.stop(id);
  }

  #work(sessionKey: string, resumed?: ClaimedTurn): void {
    const before = this.#working.get(sessionKey) ?? Promise.resolve();
    const work = before
      .then(() => this.#drain(sessionKey, resumed))
      .catch((error: unknown) => this.#ports.log.error('a session stopped working', { reason: errorMessage(error) }))
      .finally(() => {
        if (this.#working.get(sessionKey) === work) this.#working.delete(sessionKey);
      });
    this.#working.set(sessionKey, work);
  }

  async #drain(sessionKey: string, resumed?: ClaimedTurn): Promise<void> {
    if (resumed !== undefined) await this.#persist(resumed);
    while (!this.#stopping) {
      const [message] = this.#ports.journal.inbox.waiting(sessionKey, 1);
      if (message === undefined) return;
      await this.#take(message);
    }
  }

  async #take(message: InboundMessage): Promise<void> {
    const { hooks, journal, newId } = this.#ports;
    const found = findCommand(message.text, message.role);
    if (found !== null) {
      await this.#command(message, found);
      return;
    }
    const admitted = await hooks.decide('admit', message, (hook, value) => hook.admit?.(value));
    const turn = { id: newId(), session: message.sessionKey, role: message.role, messages: [message] };
    const claimed = await this.#withRetry(() => journal.turns.claim(turn));
    if (claimed.length === 0) return;
    if ('denied' in admitted) {
      await this.#reply(turn.id, message, admitted.denied);
      return;
    }
    const messages = [admitted.value];
    await this.#persist({ id: turn.id, sessionKey: message.sessionKey, role: message.role, messages });
  }

  /** Runs a turn; when it can not be written down (a full disk) waits and continues it from its tape. */
  async #persist(turn: ClaimedTurn): Promise<void> {
    const { clock, log, journal } = this.#ports;
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#runner.run(turn, this.#shutdown.signal);
        return;
      } catch (error) {
        if (this.#shutdown.signal.aborted) return;
        log.error('a turn could not go on', { turn: turn.id, tries, reason: errorMessage(error) });
        if (tries === TRIES) break;
        await sleep(clock, Math.min(LONGEST_BACKOFF_MS, 500 * 2 ** tries), this.#shutdown.signal).catch(() => {});
      }
    }
    const target = turn.messages.at(-1);
    const text =
      'Something went wrong inside me with your last message, and I gave up on it. The log says what; please send it again.';
    const notice =
      target === undefined
        ? []
        : [
            withParts(
              outboundTo(target, { id: `${turn.id}:dead`, kind: 'notice', text }, clock.now()),
              this.#ports.render,
            ),
          ];
    await this.#withRetry(() => journal.turns.dead(turn.id, notice));
    this.#ports.bus.outboundWritten();
  }

  async #command(message: InboundMessage, found: FoundCommand): Promise<void> {
    const { journal, newId } = this.#ports;
    const turn = { id: newId(), session: message.sessionKey, role: message.role, messages: [message] };
    const claimed = await this.#withRetry(() => journal.turns.claim(turn));
    if (claimed.length === 0) return;
    await this.#reply(turn.id, message, await this.#runCommand(message, found));
  }

  async #runCommand(message: InboundMessage, found: FoundCommand): Promise<string> {
    if (found.type === 'refused') return found.reason;
    try {
      return await found.command.run({ message, args: found.args, ports: this.#commandPorts() });
    } catch (error) {
      this.#ports.log.error('a command failed', { command: found.command.name, reason: errorMessage(error) });
      return `/${found.command.name} failed: ${errorMessage(error)}`;
    }
  }

  async #reply(turnId: string, message: InboundMessage, text: string): Promise<void> {
    const { clock, journal, bus, render } = this.#ports;
    const saying = { id: `${turnId}:0`, kind: 'notice', text, turnId } as const;
    const draft = withParts(outboundTo(message, saying, clock.now()), render);
    await this.#withRetry(() => journal.turns.close(turnId, 'command', [draft]));
    bus.outboundWritten();
    this.#tell(turnId, message, 'command', text);
  }

  /** Tells whoever waits for this message that no model turn will answer it. */
  #tell(turnId: string, message: InboundMessage, outcome: 'command' | 'stopped', text: string): void {
    createLive(
      this.#ports.bus,
      turnId,
      message,
    )({
      type: 'turn-end',
      answers: [message.externalId],
      result: { outcome, text, isError: false, model: null, usage: noUsage, costUsd: null, durationMs: 0 },
    });
  }

  #commandPorts(): CommandPorts {
    const { sessions, status } = this.#ports;
    return {
      status,
      resetSession: async (sessionKey, reason) => {
        const session = await sessions.open(sessionKey);
        await session.append([{ kind: 'reset', turn: null, reason }]);
      },
    };
  }

  /** A journal that can not be written is waited for: nothing is skipped because a disk is full for a while. */
  async #withRetry<T>(write: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await write();
      } catch (error) {
        this.#ports.log.error('the journal could not be written', { tries, reason: errorMessage(error) });
        await sleep(this.#ports.clock, Math.min(LONGEST_BACKOFF_MS, 250 * 2 ** tries), this.#shutdown.signal);
      }
    }
  }
}
