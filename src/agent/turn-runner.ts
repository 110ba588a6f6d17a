import type { InboundMessage, OutboundMessage, Role, TurnSummary } from '../bus/messages.ts';
import type { OutboundDraft } from '../journal/outbox.ts';
import type { EntryOf } from '../session/entry.ts';
import type { Sessions } from '../session/sessions.ts';
import { isCommand } from './commands/table.ts';
import type { TurnFacts } from './hooks.ts';
import { createLive, type Live } from './live.ts';
import { outboundTo, withParts, type RenderParts } from './outgoing.ts';
import { textsOf } from './steps.ts';
import { runTurn } from './turn.ts';
import type { ChosenModel, Turn, TurnPorts } from './turn-context.ts';
import { EndTurn } from './turn-end.ts';

export interface RunnerPorts extends TurnPorts {
  readonly sessions: Sessions;
  /** Never throws: an unusable reference gives a provider that answers with the reason. */
  readonly resolveModel: (ref: string | null) => ChosenModel;
  readonly systemPrompt: () => Promise<readonly string[]>;
  readonly render: RenderParts;
  readonly turnTimeoutMs: number;
  readonly whenBusy: 'steer' | 'queue' | 'interrupt';
}

/** A turn that the journal has as running. */
export interface ClaimedTurn {
  readonly id: string;
  readonly sessionKey: string;
  readonly role: Role;
  readonly messages: readonly InboundMessage[];
}

const STEER_PER_DRAIN = 3;
const STEER_DRAINS = 5;
const RANK: Readonly<Record<Role, number>> = { guest: 0, trusted: 1, owner: 2 };

/** Runs one claimed turn from wherever its tape stands to its close in the journal. */
export class TurnRunner {
  readonly #ports: RunnerPorts;
  readonly #running = new Map<string, { readonly session: string; readonly controller: AbortController }>();

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
  }

  /** Ids of turns in flight. */
  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  runningIn(sessionKey: string): readonly string[] {
    return this.running.filter((id) => this.#running.get(id)?.session === sessionKey);
  }

  /** Ends a turn for a /stop; false when it is not in flight. */
  stop(turnId: string): boolean {
    const running = this.#running.get(turnId);
    running?.controller.abort(new EndTurn('stopped', ''));
    return running !== undefined;
  }

  /** Aborts with the process: turns stay open and are continued at the next start. */
  async run(claimed: ClaimedTurn, shutdown: AbortSignal): Promise<void> {
    const { clock, turnTimeoutMs } = this.#ports;
    const controller = new AbortController();
    this.#running.set(claimed.id, { session: claimed.sessionKey, controller });
    using _limit = clock.timer(turnTimeoutMs, () => {
      const minutes = Math.round(turnTimeoutMs / 60_000);
      controller.abort(new EndTurn('failed', `I stopped after working on this for ${minutes} minutes.`));
    });
    try {
      await this.#run(claimed, AbortSignal.any([controller.signal, shutdown]));
    } finally {
      this.#running.delete(claimed.id);
    }
  }

  async #run(claimed: ClaimedTurn, signal: AbortSignal): Promise<void> {
    const { sessions, hooks, bus, clock } = this.#ports;
    const began = clock.monotonic();
    const target = claimed.messages.at(-1);
    if (target === undefined) throw new Error(`turn ${claimed.id} has no message`);
    const facts: TurnFacts = { turnId: claimed.id, sessionKey: claimed.sessionKey, messages: claimed.messages };
    const live = createLive(bus, claimed.id, target);
    live({ type: 'typing' });
    const [session, layers, state] = await Promise.all([
      sessions.open(claimed.sessionKey, { turn: claimed.id }),
      this.#ports.systemPrompt(),
      hooks.loadState(facts),
    ]);
    const turn: Turn = {
      facts,
      role: claimed.role,
      session,
      chosen: await this.#chooseModel(facts, target),
      system: (await hooks.first('prompt', (hook) => hook.prompt?.(facts, layers))) ?? layers,
      signal,
      live,
      steer: this.#steering(claimed),
    };
    try {
      await runTurn(turn, this.#ports);
      await this.#close(turn, target, live, clock.monotonic() - began);
    } finally {
      await hooks.saveState(facts, state);
    }
  }

  async #chooseModel(facts: TurnFacts, target: InboundMessage): Promise<ChosenModel> {
    const hooked = await this.#ports.hooks.first('model', (hook) => hook.model?.(facts));
    const asked = target.metadata['model'];
    return this.#ports.resolveModel(hooked ?? (typeof asked === 'string' ? asked : null));
  }

  /** Only a person's words in the same chat, from somebody who may do as much, join a running turn. */
  #steering(claimed: ClaimedTurn): () => readonly InboundMessage[] {
    const { journal, whenBusy } = this.#ports;
    const first = claimed.messages[0];
    let drains = 0;
    if (whenBusy !== 'steer' || first === undefined) return () => [];
    return () => {
      if (drains >= STEER_DRAINS) return [];
      const waiting = journal.inbox.waiting(claimed.sessionKey, STEER_PER_DRAIN);
      const end = waiting.findIndex(
        (message) =>
          message.origin !== 'user' ||
          message.channel !== first.channel ||
          message.chatId !== first.chatId ||
          message.threadId !== first.threadId ||
          RANK[message.role] < RANK[claimed.role] ||
          isCommand(message.text),
      );
      const joining = end === -1 ? waiting : waiting.slice(0, end);
      if (joining.length > 0) drains += 1;
      return joining;
    };
  }

  /** Closes in the journal what is closed on the tape, and queues what the turn says, in one transaction. */
  async #close(turn: Turn, target: InboundMessage, live: Live, durationMs: number): Promise<void> {
    const { journal, hooks, bus } = this.#ports;
    const { facts, session } = turn;
    const entries = session.turn(facts.turnId);
    const end = entries.findLast((entry) => entry.kind === 'turn-end');
    if (end === undefined) throw new Error(`turn ${facts.turnId} ended without an end on its tape`);
    const says = end.outcome === 'stopped' ? [] : await this.#sayings(facts, target, end, textsOf(entries).parts);
    const closed =
      end.outcome === 'answered' || end.outcome === 'failed'
        ? await journal.turns.close(facts.turnId, end.outcome, says)
        : false;
    if (!closed) await journal.turns.closeStopped(facts.turnId);
    bus.outboundWritten();
    const summary = summaryOf(end, closed, durationMs);
    live({ type: 'turn-end', result: summary, answers: facts.messages.map((message) => message.externalId) });
    await hooks.turnEnd(facts, summary);
  }

  async #sayings(
    facts: TurnFacts,
    target: InboundMessage,
    end: EntryOf<'turn-end'>,
    parts: readonly string[],
  ): Promise<readonly OutboundDraft[]> {
    const { hooks, clock, render } = this.#ports;
    const texts = end.outcome === 'failed' ? [] : parts;
    const drafts: OutboundDraft[] = [];
    for (const [n, text] of [...texts, end.answer].entries()) {
      const kind: OutboundMessage['kind'] = n < texts.length ? 'part' : 'answer';
      const rendered = await hooks.decide('render', text, (hook, value) => hook.render?.(facts, value));
      if ('denied' in rendered || rendered.value.trim() === '') continue;
      const saying = { id: `${facts.turnId}:${n}`, kind, text: rendered.value, turnId: facts.turnId };
      const message = outboundTo(target, saying, clock.now());
      const sent = await hooks.decide('dispatch', message, (hook, value) => hook.dispatch?.(facts, value));
      if (!('denied' in sent)) drafts.push(withParts(sent.value, render));
    }
    return drafts;
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
