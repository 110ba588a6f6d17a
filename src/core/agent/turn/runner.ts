import type { App } from '../../app.ts';
import { hasWeakerAuthors } from './provenance.ts';
import { API_CHANNEL, apiFactsOf } from '../../bus/api.ts';
import type { InboundMessage, OutboundMessage, Role, TurnSummary } from '../../bus/messages.ts';
import type { Origin } from '../../bus/origins.ts';
import { runFactsOf } from '../../bus/run.ts';
import { spokenToo } from '../../bus/speech.ts';
import type { OutboundDraft } from '../../journal/outbox.ts';
import type { EntryOf, TapeEntry } from '../../session/entry.ts';
import { seesPrivate } from '../../security/access/access.ts';
import { bareJson } from '../../util/bare-json.ts';
import { raceAbort } from '../../util/clock.ts';
import { isEphemeral } from '../../util/ephemeral-session.ts';
import { takeGivenConversation } from '../api/given-conversation.ts';
import { SaidBefore } from '../api/said-before.ts';
import type { NextRequest } from '../consolidation/consolidation.ts';
import type { TurnFacts } from '../hooks/hooks.ts';
import { busyMode } from '../message-batching.ts';
import { Corrections } from './corrections.ts';
import { Steering } from './steering.ts';
import { admittedOf } from './turn-messages.ts';
import { createLive, type Live } from './live.ts';
import { outboundTo } from '../outgoing.ts';
import { answerWithParts } from './long-answer.ts';
import { SUBAGENT_MS, TIMED_OUT } from '../subagents/outcome.ts';
import { subagentOf } from '../subagents/task.ts';
import { resultMessages, mergeWaited, prepareTurn } from '../subagents/turns.ts';
import { choseSilence, sentTexts, textsOf, textsOfEnded } from './answer-text.ts';
import { refusedLayers } from './refusal-words.ts';
import { toolsForSize, type WindowSize } from '../context/window-size.ts';
import { isHeldBack } from './held-back.ts';
import { isSpoken } from './spoken-answer.ts';
import { runTurn } from './turn.ts';
import type { ChosenModel, Turn } from './current-turn.ts';
import { TurnDeadline } from './deadline.ts';
import { EndTurn } from './end.ts';
import type { Session } from '../../session/session.ts';
import type { ToolFacts } from '../../tools/tool.ts';

/** A job or heartbeat with a session of its own has at most this many messages of earlier turns in its history. */
const MOST_MESSAGES = 8;
/** At twice this size the oldest turns of such a session are deleted from its tape, until this many bytes are left. */
const OWN_TAPE_BYTES = 4 * 1024 * 1024;

/** A turn that the journal holds as running. */
export interface ClaimedTurn {
  readonly id: string;
  readonly sessionKey: string;
  readonly role: Role;
  readonly messages: readonly InboundMessage[];
  /** The command (/retry, …) that began the turn; its message is not part of the turn. */
  readonly asked?: InboundMessage;
  /** Resolves when the messages are durable. @default they are */
  readonly durable?: Promise<void>;
}

/** What each request of a turn begins with, built for a window of this size. */
interface Frame extends Pick<Turn, 'system' | 'files' | 'layers' | 'tools'> {
  readonly size: WindowSize;
}

/** Runs one claimed turn from the point that its tape has reached to its close in the journal. */
export class TurnRunner {
  readonly #app: App;
  readonly #running = new Map<string, AbortController>();
  readonly #said = new SaidBefore();

  constructor(app: App) {
    this.#app = app;
  }

  /** Ids of turns in flight. */
  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** Ends a turn for a /stop; false when it is not in flight. */
  stop(turnId: string): boolean {
    const controller = this.#running.get(turnId);
    controller?.abort(new EndTurn('stopped', '', 'aborted'));
    return controller !== undefined;
  }

  /**
   * Runs a turn until it is closed. When `shutdown` aborts it rejects, and the turn stays open for the next start. Also
   * rejects when the tape or the journal cannot be written. `onPause` is called each time the turn begins to wait for a
   * person.
   */
  async run(claimed: ClaimedTurn, shutdown: AbortSignal, onPause: () => void): Promise<void> {
    const { clock, journal, config, settings, hooks, tools, models } = this.#app;
    const controller = new AbortController();
    this.#running.set(claimed.id, controller);
    // A /stop between the claim and now found no running turn to abort.
    if (journal.turns.isStopping(claimed.id)) this.stop(claimed.id);
    const { ms, sentence } = timeLimitOf(claimed.messages.at(-1), config.agent.turnTimeoutMinutes * 60_000);
    using limit = new TurnDeadline(clock, ms, () => {
      controller.abort(new EndTurn('failed', sentence, 'timeout'));
    });
    try {
      const pauseDeadline = (): Disposable => {
        onPause();
        return limit.pause();
      };
      const signal = AbortSignal.any([controller.signal, shutdown]);
      const untilDurable = async (): Promise<void> => {
        if (claimed.durable === undefined) return;
        using _paused = limit.pause();
        await raceAbort(claimed.durable, signal);
      };
      const work = (): Promise<void> => this.#run(claimed, { signal, pauseDeadline, untilDurable });
      // A turn ends with the settings and the code of plugins that it began with.
      await settings.hold(() => hooks.hold(() => tools.hold(() => models.hold(work))));
    } finally {
      this.#running.delete(claimed.id);
    }
  }

  async #run(
    claimed: ClaimedTurn,
    { signal: ending, pauseDeadline, untilDurable }: Pick<Turn, 'signal' | 'pauseDeadline' | 'untilDurable'>,
  ): Promise<void> {
    const app = this.#app;
    const { clock, redact, sessions, consolidation, hooks, bounds } = app;
    const began = clock.monotonic();
    const target = claimed.messages.at(-1);
    if (target === undefined) throw new Error(`turn ${claimed.id} has no message`);
    const origin = app.program.origins.of(target.origin);
    const isOverheard = target.origin === 'user' && !target.mentioned;
    const isQuiet = isOverheard || origin.isAsked !== true || subagentOf(target) !== null;
    const live = createLive(app, { turnId: claimed.id, target, isQuiet });
    void untilDurable().then(
      () => live({ type: 'typing' }),
      () => {},
    );
    const session = await sessions.open(claimed.sessionKey, { turn: claimed.id });
    if (hasOwnSession(origin, target)) await trimOwnSession(session, claimed.id);
    await prepareTurn(session, { turnId: claimed.id, newest: target }, app);
    if (session.turn(claimed.id).length === 0)
      await takeGivenConversation(session, { newest: target, redact, said: this.#said });
    const all = await adoptSteeredMessages(claimed, session, app);
    const { admitted, refused } = await admittedOf(all, session.turn(claimed.id), hooks);
    // Grows with what joins the turn.
    const messages = [...admitted];
    const newest = messages.at(-1) ?? target;
    // Its end is written at once.
    if (refused !== null) await untilDurable();
    const ended = refused === null ? [] : [AbortSignal.abort(new EndTurn('failed', refused, 'denied'))];
    const signal = AbortSignal.any([ending, ...ended]);
    const facts: TurnFacts = { turnId: claimed.id, sessionKey: claimed.sessionKey, messages };
    const state = await hooks.loadState(facts);
    const chosen = await this.#chooseModel(facts, newest);
    const name = { provider: chosen.providerName, model: chosen.model };
    const factsOf = (tool: string): ToolFacts | undefined => app.tools.named(tool);
    const frameOf = async (): Promise<Frame> => {
      const size = await bounds.size(name);
      const { texts, layers } = await app.prompts.of(newest, claimed.role, size);
      const system = (await hooks.first('prompt', (hook) => hook.prompt?.(facts, texts))) ?? texts;
      const tools = toolsForSize(app.prompts.tools(newest, claimed.role), size, factsOf);
      return { size, system, files: texts, layers, tools };
    };
    let frame = await frameOf();
    const turn: Turn = {
      facts,
      origin,
      role: claimed.role,
      session,
      chosen,
      get system() {
        return frame.system;
      },
      get files() {
        return frame.files;
      },
      get layers() {
        return frame.layers;
      },
      isOwners: seesPrivate({
        role: claimed.role,
        chatType: newest.chatType,
        who: `${newest.channel}:${newest.sender.id}`,
      }),
      get tools() {
        return frame.tools;
      },
      resize: async () => {
        const before = frame.size;
        frame = await frameOf();
        return frame.size !== before;
      },
      costUsd: () => bounds.costOf(turn),
      signal,
      live,
      pauseDeadline,
      untilDurable,
      steering: this.#steering(claimed, messages[0], origin),
      join: (more) => void messages.push(...more),
      corrections: new Corrections(app, claimed),
      replace: (message) =>
        void messages.splice(
          messages.findIndex(({ id }) => id === message.id),
          1,
          message,
        ),
    };
    // A subagent's tape is no conversation, and of an ephemeral session nothing is remembered.
    const isForgotten = subagentOf(newest) !== null || isEphemeral(session.key);
    const request = (): NextRequest => ({
      session,
      model: { provider: turn.chosen.providerName, model: turn.chosen.model },
      system: turn.system,
      tools: turn.tools,
    });
    try {
      // A /stop does not wait for the consolidation: `runToEnd` then ends the turn.
      if (!isForgotten) await raceAbort(consolidation.beforeTurn(request()), signal).catch(() => {});
      await runToEnd(turn, app);
      await this.#close(turn, { live, asked: claimed.asked, durationMs: clock.monotonic() - began });
      if (!isForgotten) consolidation.afterTurn(request());
    } finally {
      await hooks.saveState(facts, state);
    }
  }

  async #chooseModel(facts: TurnFacts, target: InboundMessage): Promise<ChosenModel> {
    const { journal, models, hooks } = this.#app;
    const hooked = await hooks.first('model', (hook) => hook.model?.(facts));
    const asked = target.metadata['model'];
    const here = journal.settings.model(facts.sessionKey);
    return models.resolve(hooked ?? (typeof asked === 'string' ? asked : here));
  }

  #steering(claimed: ClaimedTurn, first: InboundMessage | undefined, origin: Origin): Pick<Steering, 'next'> {
    if (first === undefined || busyMode(this.#app, first.sessionKey) !== 'steer') return { next: async () => [] };
    return new Steering(this.#app, { ...claimed, first, origin });
  }

  /** Closes a turn in the journal that is ended on its tape, and queues its replies, in one transaction. */
  async #close(
    turn: Turn,
    { live, asked, durationMs }: { live: Live; asked: InboundMessage | undefined; durationMs: number },
  ): Promise<void> {
    const { journal, channels, hooks } = this.#app;
    const { facts, session } = turn;
    const target = facts.messages.at(-1);
    const entries = session.turn(facts.turnId);
    const end = entries.findLast((entry) => entry.kind === 'turn-end');
    if (end === undefined || target === undefined) throw new Error(`turn ${facts.turnId} has no end on its tape`);
    await channels.previews.settle(facts.turnId, { isStopped: end.outcome === 'stopped' });
    const held =
      end.outcome !== 'stopped' &&
      (turn.origin.isAsked === true
        ? choseSilence(entries)
        : await isHeldBack(facts, { end, hasSent: sentTexts(entries).length > 0 }, this.#app));
    const isSubagent = subagentOf(target) !== null;
    // A program reads its answer from the tape.
    const isRead = target.channel === API_CHANNEL;
    if (isRead) {
      const texts = textsOfEnded(entries, end);
      // Of an answer that was to be JSON, the program gets nothing else.
      const isJson = apiFactsOf(target)?.json === true && end.outcome === 'answered';
      this.#said.remember(isJson ? bareJson(texts.at(-1) ?? '') : texts.join('\n\n'), session.history());
    }
    const isSilent = held || isSubagent || isRead || end.outcome === 'stopped';
    await mergeWaited(session, facts.turnId, this.#app);
    const internal = isSubagent ? resultMessages(session, { turnId: facts.turnId, asked: target, end }, this.#app) : [];
    const replies = isSilent ? [] : await this.#replies(turn, target, end, entries);
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
    const summary = summaryOf(end, { closed, durationMs, entries });
    const answers = [...facts.messages, ...(asked === undefined ? [] : [asked])].map((message) => message.externalId);
    live({ type: 'turn-end', result: summary, answers });
    await this.#tellOwner(turn, target);
    await hooks.turnEnd(facts, summary);
  }

  /** Names the refused parts of the prompt to the owner, when others read the answer. The id makes it one notice. */
  async #tellOwner({ facts, session, isOwners }: Turn, target: InboundMessage): Promise<void> {
    const { journal, bus, clock } = this.#app;
    const what = refusedLayers(session.turn(facts.turnId));
    if (what === '' || isOwners) return;
    const chat = journal.questions.ownersChat();
    if (chat === undefined) return;
    const text = `A provider refused a request in the chat ${target.sessionKey} because of ${what}. I answered without it, and that chat goes on without it until its text changes.`;
    const notice = { id: `refused:${facts.turnId}`, kind: 'notice', text } as const;
    await bus.publishOutbound(outboundTo(chat, notice, clock.now()));
  }

  async #replies(
    { facts, session, role }: Turn,
    target: InboundMessage,
    end: EntryOf<'turn-end'>,
    entries: readonly TapeEntry[],
  ): Promise<readonly OutboundDraft[]> {
    const { clock, hooks } = this.#app;
    const { untrusted: isTainted, authors } = session.history();
    const untrusted = isTainted || hasWeakerAuthors(authors, role);
    const texts = end.outcome === 'failed' ? [] : textsOf(entries).parts;
    const hasVoice = end.outcome === 'answered' && isSpoken(facts, entries, this.#app);
    const drafts: OutboundDraft[] = [];
    for (const [n, text] of [...texts, end.answer].entries()) {
      const kind: OutboundMessage['kind'] = n < texts.length ? 'part' : 'answer';
      if (text.trim() === '') continue;
      const own = end.outcome === 'failed';
      const content = { id: `${facts.turnId}:${n}`, kind, text, turnId: facts.turnId, own, untrusted };
      const message = outboundTo(target, content, clock.now());
      const sent = await hooks.decide('dispatch', message, (hook, value) => hook.dispatch?.(facts, value));
      if ('denied' in sent) continue;
      const { draft, file } = await answerWithParts(sent.value, target.sessionKey, this.#app);
      const spoken = hasVoice && kind === 'answer' ? spokenToo(draft.message) : null;
      drafts.push(
        draft,
        ...(file === null ? [] : [file]),
        ...(spoken === null ? [] : [{ message: spoken, parts: [] }]),
      );
    }
    return drafts;
  }
}

/** How long the turn that answers this message may take, and what it says when that is over. */
function timeLimitOf(
  target: InboundMessage | undefined,
  usualMs: number,
): { readonly ms: number; readonly sentence: string } {
  if (subagentOf(target) !== null) return { ms: Math.min(SUBAGENT_MS, usualMs), sentence: TIMED_OUT };
  const ms = runFactsOf(target).timeoutMs ?? usualMs;
  const seconds = ms / 1_000;
  const length = seconds < 60 ? `${Math.round(seconds * 10) / 10} seconds` : `${Math.round(seconds / 60)} minutes`;
  return { ms, sentence: `I stopped after working on this for ${length.replace(/^1 (\w+)s$/u, '1 $1')}.` };
}

/** Whether the message's session is used only by one job, only by the heartbeat or only by webhooks. */
function hasOwnSession({ name, hasReader }: Origin, { sessionKey }: InboundMessage): boolean {
  return hasReader !== true && (sessionKey === name || sessionKey.startsWith(`${name}:`));
}

/** Runs a turn to its end on the tape. A stop during the wait for a slot is thrown; the second run writes the end. */
async function runToEnd(turn: Turn, app: App): Promise<void> {
  try {
    await runTurn(turn, app);
  } catch (error) {
    if (!(error instanceof EndTurn)) throw error;
    await runTurn(turn, app);
  }
}

function summaryOf(
  end: EntryOf<'turn-end'>,
  {
    closed,
    durationMs,
    entries,
  }: { readonly closed: boolean; readonly durationMs: number; readonly entries: readonly TapeEntry[] },
): TurnSummary {
  const last = entries.findLast((entry) => entry.kind === 'message' && entry.role === 'assistant');
  const reason = last?.kind === 'message' && last.role === 'assistant' ? last.stopReason : '';
  const outcome = !closed ? 'stopped' : end.outcome === 'failed' ? 'failed' : 'answered';
  return {
    outcome,
    text: outcome === 'stopped' ? 'Stopped.' : end.answer,
    isError: outcome !== 'answered',
    errorKind: outcome === 'answered' ? null : outcome === 'stopped' ? 'aborted' : (end.errorKind ?? 'other'),
    model: end.model,
    usage: end.usage,
    costUsd: end.costUsd,
    durationMs: Math.round(durationMs),
    ...(reason === 'length' || reason === 'refusal' ? { cut: reason } : {}),
  };
}

/**
 * The messages of a turn: those of the journal, and those that only its tape has, which are then assigned in the
 * journal.
 */
export async function adoptSteeredMessages(
  { id: turnId, messages }: Pick<ClaimedTurn, 'id' | 'messages'>,
  session: Session,
  { journal }: App,
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
 * Removes whole old turns from the history of a job's session, before a turn begins, until at most `MOST_MESSAGES`
 * messages are left, so that a daily job stays cheap. The tape keeps them until it has twice `OWN_TAPE_BYTES`.
 */
async function trimOwnSession(session: Session, turnId: string): Promise<void> {
  if (session.turn(turnId).length > 0) return;
  await session.dropOldest(OWN_TAPE_BYTES);
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
