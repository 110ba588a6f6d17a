import type { InboundMessage } from '../bus/messages.ts';
import { asRole, weakest } from '../security/access/access.ts';
import type { AuditDraft } from '../storage/audit-log.ts';
import { errorMessage } from '../util/errors.ts';
import type { Ids } from '../util/ids.ts';
import { oneLine } from '../util/text.ts';
import type { Rerun } from './commands/command.ts';
import type { FoundCommand } from './commands/table.ts';
import { emitTurnEnd } from './turn/live.ts';
import { outboundTo, withParts } from './outgoing.ts';
import type { ClaimedTurn, RunnerPorts } from './turn/runner.ts';

/** Writes to the journal until it takes it, see `StorageHealth.untilWritten`. */
export type UntilWritten = <T>(write: () => Promise<T>) => Promise<T>;

const LONGEST_COMMAND = 500;

export interface CommandRunnerPorts extends RunnerPorts {
  readonly newId: Ids;
  /** Keeps who used which command; never throws. */
  readonly audit: (draft: AuditDraft) => Promise<void>;
}

/**
 * Runs chat commands: written down as begun before they run. After a crash only those run again of which a second run
 * does no more than the first (`Command.repeatable`).
 */
export class CommandRunner {
  readonly #ports: CommandRunnerPorts;
  readonly #written: UntilWritten;
  readonly #shutdown: AbortSignal;
  readonly #running = new Map<AbortController, string>();

  constructor(ports: CommandRunnerPorts, written: UntilWritten, shutdown: AbortSignal) {
    this.#ports = ports;
    this.#written = written;
    this.#shutdown = shutdown;
  }

  /** Ends what commands of a session are doing. */
  stop(sessionKey: string): void {
    for (const [running, session] of this.#running) {
      if (session === sessionKey) running.abort(new Error('stopped by /stop'));
    }
  }

  /** Runs the command and replies; returns the turn that it began instead, if it did. `dropped`: messages it ended. */
  async run(message: InboundMessage, found: FoundCommand, dropped: number): Promise<ClaimedTurn | undefined> {
    const { journal, newId } = this.#ports;
    const turn = { id: newId(), session: message.sessionKey, role: message.role, messages: [message], command: true };
    const claimed = await this.#written(() => journal.turns.claim(turn));
    if (claimed.length === 0) return undefined;
    return await this.finish(turn.id, message, found, dropped);
  }

  /** Runs a command that was written down as begun: now, or by an earlier process if it may be repeated. */
  async finish(
    turnId: string,
    message: InboundMessage,
    found: FoundCommand,
    dropped = 0,
  ): Promise<ClaimedTurn | undefined> {
    const result = await this.#result(turnId, message, found, dropped);
    if (typeof result !== 'string') return await this.#rerun(turnId, message, result);
    await this.reply(turnId, message, result);
    return undefined;
  }

  /** Closes a turn with a sentence of the program's own. */
  async reply(turnId: string, message: InboundMessage, text: string): Promise<void> {
    const { clock, journal } = this.#ports;
    const notice = { id: `${turnId}:0`, kind: 'notice', text, turnId } as const;
    const draft = withParts(outboundTo(message, notice, clock.now()), this.#ports);
    const closed = await this.#written(() => journal.turns.close(turnId, 'command', [draft]));
    if (!closed) await this.#written(() => journal.turns.closeStopped(turnId));
    this.tell(turnId, message, closed ? 'command' : 'stopped', text);
  }

  /** Tells whoever waits for this message that no model turn will answer it. */
  tell(turnId: string, message: InboundMessage, outcome: 'command' | 'stopped' | 'failed', text: string): void {
    emitTurnEnd([message], { turnId, outcome, text }, this.#ports);
  }

  async #result(
    turnId: string,
    message: InboundMessage,
    found: FoundCommand,
    dropped: number,
  ): Promise<string | Rerun> {
    // Before it is cut: half a secret is none that could be known.
    const text = this.#ports.redact(message.text);
    await this.#ports.audit(auditOf(turnId, { ...message, text }, found));
    if (found.type === 'refused') return found.reason;
    const running = new AbortController();
    this.#running.set(running, message.sessionKey);
    const signal = AbortSignal.any([running.signal, this.#shutdown]);
    try {
      return await found.command.run({ turnId, message, args: found.args, dropped, signal });
    } catch (error) {
      this.#ports.log.error('commands: command failed', { command: found.command.name, reason: errorMessage(error) });
      return `/${found.command.name} failed: ${errorMessage(error)}`;
    } finally {
      this.#running.delete(running);
    }
  }

  /**
   * Begins a turn with the messages of an earlier one. That one leaves the history first, so that no crash can let the
   * model read them twice. Until the turn is begun the command counts as running, so that a crash between the two steps
   * takes it up again; its entry has an id that makes a second one none.
   */
  async #rerun(commandId: string, message: InboundMessage, { rerun }: Rerun): Promise<ClaimedTurn> {
    const { journal, sessions, newId } = this.#ports;
    const id = newId();
    const { sessionKey } = message;
    const role = weakest(message.role, asRole(rerun.role));
    await this.#written(async () => {
      const session = await sessions.open(sessionKey);
      await session.append([{ id: `retract:${commandId}`, kind: 'retract', turn: null, turns: [rerun.id] }]);
      await journal.turns.again({ id, session: sessionKey, role, of: rerun.id, command: commandId });
    });
    return { id, sessionKey, role, messages: rerun.messages, asked: message };
  }
}

function auditOf(turn: string, message: InboundMessage, found: FoundCommand): AuditDraft {
  const { sessionKey, channel, sender, role, origin, text } = message;
  return {
    turn,
    session: sessionKey,
    who: `${channel}:${sender.id}`,
    role,
    origin,
    what: oneLine(text, LONGEST_COMMAND),
    decision: found.type === 'refused' ? 'refused' : 'allowed',
    reason: found.type === 'refused' ? found.reason : null,
    approval: null,
  };
}
