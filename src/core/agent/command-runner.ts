import type { InboundMessage } from '../bus/messages.ts';
import { asRole, weakest } from '../security/access/access.ts';
import type { App } from '../app.ts';
import type { AuditDraft } from '../storage/audit-log.ts';
import { errorMessage } from '../util/errors.ts';
import { oneLine } from '../util/text.ts';
import type { Rerun } from './commands/command.ts';
import type { FoundCommand } from './commands/table.ts';
import { emitTurnEnd } from './turn/live.ts';
import { outboundTo, withParts } from './outgoing.ts';
import type { ClaimedTurn } from './turn/runner.ts';

/** Repeats a write to the journal until the disk takes it, see `StorageHealth.untilWritten`. */
export type UntilWritten = <T>(write: () => Promise<T>) => Promise<T>;

const LONGEST_COMMAND = 500;

/**
 * Runs chat commands. Each is written to the journal as begun before it runs. After a crash only commands with
 * `Command.repeatable` run again.
 */
export class CommandRunner {
  readonly #app: App;
  readonly #written: UntilWritten;
  readonly #shutdown: AbortSignal;
  readonly #running = new Map<AbortController, string>();

  constructor(app: App, written: UntilWritten, shutdown: AbortSignal) {
    this.#app = app;
    this.#written = written;
    this.#shutdown = shutdown;
  }

  /** Aborts the running commands of a session. */
  stop(sessionKey: string): void {
    for (const [running, session] of this.#running) {
      if (session === sessionKey) running.abort(new Error('stopped by /stop'));
    }
  }

  /** Runs the command and replies, or returns the turn that it began instead. `dropped`: how many waiting messages it dropped. */
  async run(message: InboundMessage, found: FoundCommand, dropped: number): Promise<ClaimedTurn | undefined> {
    const { journal, newId } = this.#app;
    const turn = {
      id: newId(),
      session: message.sessionKey,
      role: message.role,
      messages: [message],
      command: true,
    };
    const claimed = await this.#written(() => journal.turns.claim(turn));
    if (claimed.length === 0) return undefined;
    return await this.finish(turn.id, message, found, dropped);
  }

  /** Runs a command whose beginning is in the journal. One of an earlier process runs only if it is `repeatable`. */
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

  /** Closes a turn with a sentence of the program as its answer. */
  async reply(turnId: string, message: InboundMessage, text: string): Promise<void> {
    const { journal, clock } = this.#app;
    const notice = { id: `${turnId}:0`, kind: 'notice', text, turnId } as const;
    const draft = withParts(outboundTo(message, notice, clock.now()), this.#app);
    const closed = await this.#written(() => journal.turns.close(turnId, 'command', [draft]));
    if (!closed) await this.#written(() => journal.turns.closeStopped(turnId));
    this.tell(turnId, message, closed ? 'command' : 'stopped', text);
  }

  /** Publishes the live event `turn-end` for a message that no model answers, for clients that wait for it. */
  tell(turnId: string, message: InboundMessage, outcome: 'command' | 'stopped' | 'failed', text: string): void {
    emitTurnEnd([message], { turnId, outcome, text }, this.#app);
  }

  async #result(
    turnId: string,
    message: InboundMessage,
    found: FoundCommand,
    dropped: number,
  ): Promise<string | Rerun> {
    const { redact, log, audit } = this.#app;
    // Redact before the text is cut: half a secret would not be recognised.
    const text = redact(message.text);
    await audit.record(auditOf(turnId, { ...message, text }, found));
    if (found.type === 'refused') return found.reason;
    const running = new AbortController();
    this.#running.set(running, message.sessionKey);
    const signal = AbortSignal.any([running.signal, this.#shutdown]);
    try {
      return await found.command.run({ turnId, message, args: found.args, dropped, signal });
    } catch (error) {
      log.error('commands: command failed', { command: found.command.name, reason: errorMessage(error) });
      return `/${found.command.name} failed: ${errorMessage(error)}`;
    } finally {
      this.#running.delete(running);
    }
  }

  /**
   * Begins a turn with the messages of an earlier one. First that one is retracted from the history, so that the model
   * never reads the messages twice. A crash between the two steps repeats the command; the fixed id of the `retract` entry
   * prevents a second one.
   */
  async #rerun(commandId: string, message: InboundMessage, { rerun }: Rerun): Promise<ClaimedTurn> {
    const { journal, sessions, newId } = this.#app;
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
