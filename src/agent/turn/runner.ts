import type { InboundMessage, OutboundMessage, Role, TurnSummary } from '../../bus/messages.ts';
import type { OutboundDraft } from '../../journal/outbox.ts';
import type { ToolSpec } from '../../providers/provider.ts';
import type { EntryOf } from '../../session/entry.ts';
import { atLeast, seesPrivate } from '../../security/access/access.ts';
import { raceAbort } from '../../util/clock.ts';
import type { Sessions } from '../../session/sessions.ts';
import type { Consolidation, NextRequest } from '../consolidation/consolidation.ts';
import type { TurnFacts } from '../hooks/hooks.ts';
import { isSelfStarted, mayJoin } from '../joining.ts';
import { Corrections } from './corrections.ts';
import { createLive, type Live } from './live.ts';
import { outboundTo, withParts, type RenderParts } from '../outgoing.ts';
import type { RenderedPrompt } from '../prompt/system-prompt.ts';
import { SUBAGENT_MS, TIMED_OUT } from '../subagents/outcome.ts';
import { subagentOf } from '../subagents/task.ts';
import { bringsBack, mergeWaited, prepareTurn, type SubagentTurnPorts } from '../subagents/turns.ts';
import { choseSilence, textsOf } from './answer-text.ts';
import { runTurn } from './turn.ts';
import type { ChosenModel, Turn, TurnPorts } from './turn-ports.ts';
import { TurnDeadline } from './deadline.ts';
import { EndTurn } from './end.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Session } from '../../session/session.ts';

/** Messages of earlier turns that a turn which started itself is shown. */
const MOST_MESSAGES = 8;

export interface RunnerPorts extends TurnPorts {
  readonly sessions: Sessions;
  /** Never throws: an unusable reference gives a provider that answers with the reason. */
  readonly resolveModel: (ref: string | null) => ChosenModel;
  /** The system prompt for a turn of this role that answers this message. */
  readonly systemPrompt: (target: InboundMessage, role: Role) => Promise<RenderedPrompt>;
  /** The tools that the model is shown in such a turn: the same in each turn of a session. */
  readonly toolsFor: (target: InboundMessage, role: Role) => readonly ToolSpec[];
  /** Puts what leaves a conversation into memory. */
  readonly consolidation: Pick<Consolidation, 'beforeTurn' | 'afterTurn'>;
  readonly render: RenderParts;
  /** Whether what a turn that started itself says is to be kept from people; never asked of others. */
  readonly holdBack: (facts: TurnFacts, end: EntryOf<'turn-end'>) => Promise<boolean>;
  /** Resolves when nothing that shows the answer while it is written is on its way any more. */
  readonly settled: (turnId: string) => Promise<void>;
  /** What the turns of subagents reach. */
  readonly subagents: SubagentTurnPorts;
  readonly turnTimeoutMs: number;
  readonly whenBusy: 'steer' | 'queue' | 'interrupt';
}

/** A turn that the journal has as running. */
export interface ClaimedTurn {
  readonly id: string;
  readonly sessionKey: string;
  readonly role: Role;
  readonly messages: readonly InboundMessage[];
  /** The command that asked for it, answered by it but no part of it. */
  readonly asked?: InboundMessage;
}

const STEER_PER_DRAIN = 3;
const STEER_DRAINS = 5;

/** Runs one claimed turn from wherever its tape stands to its close in the journal. */
export class TurnRunner {
  readonly #ports: RunnerPorts;
  readonly #running = new Map<string, AbortController>();

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
  }

  /** Ids of turns in flight. */
  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** Ends a turn for a /stop; false when it is not in flight. */
  stop(turnId: string): boolean {
    const controller = this.#running.get(turnId);
    controller?.abort(new EndTurn('stopped', ''));
    return controller !== undefined;
  }

  /**
   * Aborts with the process: turns stay open and are continued at the next start. `onPause`: the turn waits for a person
   * now, and may for long.
   */
  async run(claimed: ClaimedTurn, shutdown: AbortSignal, onPause: () => void): Promise<void> {
    const { clock, turnTimeoutMs } = this.#ports;
    const controller = new AbortController();
    this.#running.set(claimed.id, controller);
    // Stopped between its claim and now: nobody could signal it.
    if (this.#ports.journal.turns.isStopping(claimed.id)) this.stop(claimed.id);
    const isSubagent = subagentOf(claimed.messages.at(-1)) !== null;
    const limitMs = isSubagent ? Math.min(SUBAGENT_MS, turnTimeoutMs) : turnTimeoutMs;
    using limit = new TurnDeadline(clock, limitMs, () => {
      const minutes = Math.round(limitMs / 60_000);
      const sentence = isSubagent ? TIMED_OUT : `I stopped after working on this for ${minutes} minutes.`;
      controller.abort(new EndTurn('failed', sentence));
    });
    try {
      await this.#run(claimed, AbortSignal.any([controller.signal, shutdown]), () => {
        onPause();
        return limit.pause();
      });
    } finally {
      this.#running.delete(claimed.id);
    }
  }

  async #run(claimed: ClaimedTurn, signal: AbortSignal, pauseDeadline: () => Disposable): Promise<void> {
    const { sessions, hooks, bus, clock } = this.#ports;
    const began = clock.monotonic();
    const newest = claimed.messages.at(-1);
    if (newest === undefined) throw new Error(`turn ${claimed.id} has no message`);
    const live = createLive(bus, { turnId: claimed.id, target: newest, redact: this.#ports.redact });
    live({ type: 'typing' });
    const session = await sessions.open(claimed.sessionKey, { turn: claimed.id });
    if (hasOwnSession(newest)) await trimOwnSession(session, claimed.id);
    await prepareTurn(session, { turnId: claimed.id, newest }, this.#ports.subagents);
    // Grows with what joins the turn.
    const messages = [
      ...(await adoptSteeredMessages(claimed.id, claimed.messages, { session, journal: this.#ports.journal })),
    ];
    const facts: TurnFacts = { turnId: claimed.id, sessionKey: claimed.sessionKey, messages };
    const [{ texts }, state] = await Promise.all([
      this.#ports.systemPrompt(newest, claimed.role),
      hooks.loadState(facts),
    ]);
    const turn: Turn = {
      facts,
      role: claimed.role,
      session,
      chosen: await this.#chooseModel(facts, newest),
      system: (await hooks.first('prompt', (hook) => hook.prompt?.(facts, texts))) ?? texts,
      files: texts,
      isOwners: seesPrivate({ role: claimed.role, chatType: newest.chatType }),
      tools: this.#ports.toolsFor(newest, claimed.role),
      costUsd: () => this.#ports.bounds.costOf(turn),
      signal,
      live,
      pauseDeadline,
      steer: this.#steering(claimed),
      join: (more) => void messages.push(...more),
      corrections: new Corrections(this.#ports, claimed),
      replace: (message) =>
        void messages.splice(
          messages.findIndex(({ id }) => id === message.id),
          1,
          message,
        ),
    };
    // What one leaves is a result; its tape is nobody's conversation.
    const isSubagent = subagentOf(newest) !== null;
    const request = (): NextRequest => ({
      session,
      model: { provider: turn.chosen.providerName, model: turn.chosen.model },
      system: turn.system,
      tools: turn.tools,
    });
    try {
      // A /stop does not wait for it; the turn ends where it stands.
      if (!isSubagent) await raceAbort(this.#ports.consolidation.beforeTurn(request()), signal).catch(() => {});
      await runToEnd(turn, this.#ports);
      await this.#close(turn, { live, asked: claimed.asked, durationMs: clock.monotonic() - began });
      if (!isSubagent) this.#ports.consolidation.afterTurn(request());
    } finally {
      await hooks.saveState(facts, state);
    }
  }

  async #chooseModel(facts: TurnFacts, target: InboundMessage): Promise<ChosenModel> {
    const hooked = await this.#ports.hooks.first('model', (hook) => hook.model?.(facts));
    const asked = target.metadata['model'];
    const here = this.#ports.journal.settings.model(facts.sessionKey);
    return this.#ports.resolveModel(hooked ?? (typeof asked === 'string' ? asked : here));
  }

  /** Finds a few of the waiting messages that may join a running turn, in their order. */
  #steering(claimed: ClaimedTurn): () => readonly InboundMessage[] {
    const { journal, whenBusy } = this.#ports;
    const first = claimed.messages[0];
    let drains = 0;
    if (whenBusy !== 'steer' || first === undefined) return () => [];
    return () => {
      if (drains >= STEER_DRAINS) return [];
      const waiting = journal.inbox.waiting(claimed.sessionKey, STEER_PER_DRAIN);
      const end = waiting.findIndex((message) => !mayJoin(first, message) || !atLeast(message.role, claimed.role));
      const joining = end === -1 ? waiting : waiting.slice(0, end);
      if (joining.length > 0) drains += 1;
      return joining;
    };
  }

  /** Closes in the journal what is closed on the tape, and queues what the turn says, in one transaction. */
  async #close(
    turn: Turn,
    { live, asked, durationMs }: { live: Live; asked: InboundMessage | undefined; durationMs: number },
  ): Promise<void> {
    const { journal, hooks } = this.#ports;
    const { facts, session } = turn;
    const target = facts.messages.at(-1);
    const entries = session.turn(facts.turnId);
    const end = entries.findLast((entry) => entry.kind === 'turn-end');
    if (end === undefined || target === undefined) throw new Error(`turn ${facts.turnId} has no end on its tape`);
    await this.#ports.settled(facts.turnId);
    const held =
      end.outcome !== 'stopped' &&
      (isSelfStarted(target) ? await this.#ports.holdBack(facts, end) : choseSilence(entries));
    const isSubagent = subagentOf(target) !== null;
    const isSilent = held || isSubagent || end.outcome === 'stopped';
    await mergeWaited(session, facts.turnId, this.#ports.subagents);
    const internal = isSubagent
      ? bringsBack(session, { turnId: facts.turnId, asked: target, end }, this.#ports.subagents)
      : [];
    const replies = isSilent ? [] : await this.#replies(facts, target, end, textsOf(entries).parts);
    const closed =
      end.outcome === 'answered' || end.outcome === 'failed'
        ? await journal.turns.close(
            facts.turnId,
            held && end.outcome === 'answered' ? 'silent' : end.outcome,
            replies,
            internal,
          )
        : false;
    if (!closed) await journal.turns.closeStopped(facts.turnId);
    const summary = summaryOf(end, closed, durationMs);
    const answers = [...facts.messages, ...(asked === undefined ? [] : [asked])].map((message) => message.externalId);
    live({ type: 'turn-end', result: summary, answers });
    await hooks.turnEnd(facts, summary);
  }

  async #replies(
    facts: TurnFacts,
    target: InboundMessage,
    end: EntryOf<'turn-end'>,
    parts: readonly string[],
  ): Promise<readonly OutboundDraft[]> {
    const { hooks, clock } = this.#ports;
    const texts = end.outcome === 'failed' ? [] : parts;
    const drafts: OutboundDraft[] = [];
    for (const [n, text] of [...texts, end.answer].entries()) {
      const kind: OutboundMessage['kind'] = n < texts.length ? 'part' : 'answer';
      const rendered = await hooks.decide('render', text, (hook, value) => hook.render?.(facts, value));
      if ('denied' in rendered || rendered.value.trim() === '') continue;
      const own = end.outcome === 'failed';
      const content = { id: `${facts.turnId}:${n}`, kind, text: rendered.value, turnId: facts.turnId, own };
      const message = outboundTo(target, content, clock.now());
      const sent = await hooks.decide('dispatch', message, (hook, value) => hook.dispatch?.(facts, value));
      if (!('denied' in sent)) drafts.push(withParts(sent.value, this.#ports));
    }
    return drafts;
  }
}

/** A session that is used for nothing else. */
function hasOwnSession(message: InboundMessage): boolean {
  return isSelfStarted(message) && /^(?:cron:|heartbeat$)/u.test(message.sessionKey);
}

/** A stop that came while the turn waited for a slot is thrown; the turn ends where it stands all the same. */
async function runToEnd(turn: Turn, ports: TurnPorts): Promise<void> {
  try {
    await runTurn(turn, ports);
  } catch (error) {
    if (!(error instanceof EndTurn)) throw error;
    await runTurn(turn, ports);
  }
}

function summaryOf(end: EntryOf<'turn-end'>, closed: boolean, durationMs: number): TurnSummary {
  const outcome = !closed ? 'stopped' : end.outcome === 'failed' ? 'failed' : 'answered';
  return {
    outcome,
    text: outcome === 'stopped' ? 'Stopped.' : end.answer,
    isError: outcome !== 'answered',
    model: end.model,
    usage: end.usage,
    costUsd: end.costUsd,
    durationMs: Math.round(durationMs),
  };
}

/** The messages of a turn: those the journal knows, and those on its tape that it does not know yet. The tape is right. */
export async function adoptSteeredMessages(
  turnId: string,
  messages: readonly InboundMessage[],
  { session, journal }: { session: Session; journal: Journal },
): Promise<readonly InboundMessage[]> {
  const known = new Set(messages.map((message) => message.id));
  const onTape = session
    .turn(turnId)
    .flatMap((entry) => (entry.kind === 'message' && entry.role === 'user' ? entry.sources : []))
    .filter((id) => !known.has(id));
  if (onTape.length === 0) return messages;
  await journal.turns.absorb(turnId, onTape);
  return [...messages, ...journal.inbox.byId(onTape)];
}

/**
 * Before such a turn begins: whole old turns leave the history for good, until at most eight messages are left, so that
 * a session that is used every day stays cheap. The tape keeps them.
 */
async function trimOwnSession(session: Session, turnId: string): Promise<void> {
  if (session.turn(turnId).length > 0) return;
  const { window } = session;
  const positions = new Map(window.map((entry, at) => [entry.id, at]));
  const messages = session.history().messages.map(({ entryId }) => positions.get(entryId) ?? -1);
  if (messages.length <= MOST_MESSAGES) return;
  const ends = window.flatMap((entry, at) => (entry.kind === 'turn-end' ? [at] : []));
  const enough = ends.find((end) => messages.filter((at) => at > end).length <= MOST_MESSAGES) ?? ends.at(-1);
  const last = enough === undefined ? undefined : window[enough];
  if (last === undefined) return;
  await session.append([{ kind: 'trim', turn: null, stubUpTo: null, imagesUpTo: null, dropUpTo: last.id }]);
}
