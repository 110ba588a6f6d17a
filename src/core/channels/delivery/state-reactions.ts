import type { InboundMessage } from '../../bus/messages.ts';
import type { StateReactions } from '../../bus/reactions.ts';
import type { Config } from '../../config/schema.ts';
import type { App } from '../../app.ts';
import type { ReachedState, ReactionPlace } from '../../journal/shown-reactions.ts';
import { deadline, raceAbort } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { SendError, type Channel, type ReactionChange } from '../channel.ts';

/** A message that is done before this time gets no reaction. */
const FIRST_MS = 1_000;
/** Shortest time between two calls on one channel. */
const PACE_MS = 400;
const CALL_DEADLINE_MS = 10_000;
/** While a reaction stands, its message is looked at this often, also when no event says that it should. */
const LOOK_MS = 60_000;
/** Wait after a call that failed and may work again. */
const RETRY_MS = 2_000;
/** When the platform asks to wait longer than this, messages without a reaction get none. */
const LONG_WAIT_MS = 5_000;
/** Most messages of a channel that are followed at once; of more, the newest get no reaction. */
const MOST_FOLLOWED = 200;
/** After so many failures in a row a message waits for the next start of its channel. */
const MOST_FAILURES = 3;

/** A message that is followed until its end. */
interface Followed {
  readonly place: ReactionPlace;
  /** Reactions of ours that may stand on it now. */
  shown: readonly string[];
  /** Whether they stand is not known. */
  isUnsure: boolean;
  failures: number;
  /** It is old enough for a reaction. */
  isDue: boolean;
}

/** The messages of one channel. */
interface Lane {
  readonly channel: string;
  readonly messages: Map<string, Followed>;
  /** Ids of messages that have to be looked at. */
  readonly due: Set<string>;
  working: Promise<void> | undefined;
  timer: Disposable | undefined;
  /** When the next call may be made, and when all messages are looked at again; by `Clock.monotonic`. */
  notBefore: number;
  lookAt: number;
}

/**
 * Shows by a reaction how far a person's message has come. Events only say when to look: the state is read from the
 * journal, and the latest wins. One call at a time on each channel, at most one in `PACE_MS`. When the platform asks to wait
 * for long, messages without a reaction get none. What may stand on a message is in the journal before the call, so a later
 * process takes it away. An error here never affects a message. Disposing ends it.
 */
export class ShownStates implements Disposable {
  readonly #app: App;
  readonly #lanes = new Map<string, Lane>();
  readonly #over = new AbortController();
  readonly #listening: readonly Disposable[];

  constructor(app: App) {
    this.#app = app;
    this.#listening = [
      app.bus.onAccepted((message) => this.#accepted(message)),
      app.bus.listen(({ type, channel, sessionKey }) => {
        if (type === 'typing' || type === 'turn-end') this.#look(channel, sessionKey);
      }),
      app.channels.manager.onReachable((channel, chatId) => {
        if (chatId === undefined) this.#resume(channel);
      }),
    ];
  }

  [Symbol.dispose](): void {
    this.#over.abort(new Error('the process is stopping'));
    for (const listening of this.#listening) listening[Symbol.dispose]();
    for (const { timer } of this.#lanes.values()) timer?.[Symbol.dispose]();
  }

  #accepted(message: InboundMessage): void {
    const { id, channel, chatId, threadId, sessionKey, externalId, origin, mentioned, edits } = message;
    const [, messageId] = /^m:(.+)$/u.exec(externalId) ?? [];
    if (messageId === undefined || origin !== 'user' || !mentioned || edits !== undefined) return;
    if (this.#reactionsOf(channel) === null) return;
    const lane = this.#lane(channel);
    if (lane.messages.size >= MOST_FOLLOWED) return;
    const thread = threadId === undefined ? {} : { threadId };
    const place = { id, channel, chatId, ...thread, sessionKey, messageId };
    lane.messages.set(id, { place, shown: [], isUnsure: false, failures: 0, isDue: false });
    this.#app.clock.timer(FIRST_MS, () => this.#later(lane, id));
  }

  #later(lane: Lane, id: string): void {
    const followed = lane.messages.get(id);
    if (followed === undefined || this.#over.signal.aborted) return;
    followed.isDue = true;
    lane.due.add(id);
    this.#wake(lane);
  }

  /** Looks at the messages of a session that have or may get a reaction. */
  #look(channel: string, sessionKey: string): void {
    const lane = this.#lanes.get(channel);
    if (lane === undefined) return;
    for (const [id, { place, isDue }] of lane.messages) if (isDue && place.sessionKey === sessionKey) lane.due.add(id);
    this.#wake(lane);
  }

  /** Takes up what an earlier process, or an earlier run of this channel, may have left, and what came while it did not run. */
  #resume(channel: string): void {
    const found = this.#app.journal.shownReactions.of(channel);
    if (found.length === 0 && !this.#lanes.has(channel)) return;
    const lane = this.#lane(channel);
    for (const { place, emojis } of found) {
      lane.messages.set(place.id, { place, shown: emojis, isUnsure: true, failures: 0, isDue: true });
    }
    this.#lookAtAll(lane);
    this.#wake(lane);
  }

  #lookAtAll(lane: Lane): void {
    for (const [id, { isDue }] of lane.messages) if (isDue) lane.due.add(id);
    lane.lookAt = this.#app.clock.monotonic() + LOOK_MS;
  }

  #lane(channel: string): Lane {
    const known = this.#lanes.get(channel);
    if (known !== undefined) return known;
    const lane: Lane = {
      channel,
      messages: new Map(),
      due: new Set(),
      working: undefined,
      timer: undefined,
      notBefore: 0,
      lookAt: this.#app.clock.monotonic() + LOOK_MS,
    };
    this.#lanes.set(channel, lane);
    return lane;
  }

  /** Works on what is due, now or when the next call may be made; else plans the next look at all messages. */
  #wake(lane: Lane): void {
    if (lane.working !== undefined || this.#over.signal.aborted) return;
    lane.timer?.[Symbol.dispose]();
    lane.timer = undefined;
    if (lane.messages.size === 0) return;
    const now = this.#app.clock.monotonic();
    if (now >= lane.lookAt) this.#lookAtAll(lane);
    const waitMs = (lane.due.size === 0 ? lane.lookAt : lane.notBefore) - now;
    if (waitMs <= 0) {
      lane.working = this.#work(lane).finally(() => {
        lane.working = undefined;
        this.#wake(lane);
      });
      return;
    }
    lane.timer = this.#app.clock.timer(waitMs, () => {
      lane.timer = undefined;
      this.#wake(lane);
    });
  }

  /** Looks at what is due until a call was made. Never rejects. */
  async #work(lane: Lane): Promise<void> {
    for (const id of lane.due) {
      lane.due.delete(id);
      const followed = lane.messages.get(id);
      if (followed === undefined) continue;
      try {
        if (await this.#show(lane, followed)) return;
      } catch (error) {
        this.#app.log.debug('reactions: journal failed', { reason: errorMessage(error) });
        return;
      }
    }
  }

  /** Makes a message show its state. True: the platform was called. */
  async #show(lane: Lane, followed: Followed): Promise<boolean> {
    const { clock } = this.#app;
    const { shownReactions: store } = this.#app.journal;
    const { place } = followed;
    const channel = this.#channel(lane.channel);
    // When the channel runs again, `#resume` looks at it again.
    if (channel?.react === undefined) return false;
    const state = store.stateOf(place.id);
    const change = changeTo(this.#emojiOf(channel, state), followed);
    if (change === null) {
      if (isFinal(state)) this.#forget(lane, place.id);
      return false;
    }
    const before = followed.shown;
    if (change.add !== undefined) {
      followed.shown = [...before, change.add];
      await store.note(place, followed.shown);
    }
    lane.notBefore = clock.monotonic() + PACE_MS;
    const failure = await this.#call(channel, place, change);
    lane.notBefore = Math.max(lane.notBefore, clock.monotonic() + PACE_MS);
    if (failure !== undefined) {
      // It certainly did not happen.
      if (failure.failure === 'retryable') followed.shown = before;
      else followed.isUnsure = true;
      if (followed.shown.length === 0) await store.forget(place.id);
      this.#failed(lane, followed, failure);
    } else {
      followed.failures = 0;
      followed.isUnsure = false;
      followed.shown = change.add === undefined ? [] : [change.add];
      if (isFinal(state)) {
        this.#forget(lane, place.id);
        await store.forget(place.id);
      } else {
        await store.note(place, followed.shown);
        // The state may have changed during the call.
        lane.due.add(place.id);
      }
    }
    return true;
  }

  async #call(channel: Channel, place: ReactionPlace, change: ReactionChange): Promise<SendError | undefined> {
    const { chatId, threadId, messageId: platformId } = place;
    const target = { chatId, platformId, ...(threadId === undefined ? {} : { threadId }) };
    using limit = deadline(this.#app.clock, CALL_DEADLINE_MS, 'Showing a reaction');
    const signal = AbortSignal.any([limit.signal, this.#over.signal]);
    try {
      await raceAbort(channel.react?.(target, change, signal) ?? Promise.resolve(), signal);
      return undefined;
    } catch (error) {
      return error instanceof SendError ? error : new SendError('uncertain', errorMessage(error));
    }
  }

  #failed(lane: Lane, followed: Followed, { failure, retryAfterMs, message }: SendError): void {
    const { clock, log } = this.#app;
    const { shownReactions: store } = this.#app.journal;
    const { id, channel } = followed.place;
    if (this.#over.signal.aborted) return;
    log.debug('reactions: reaction not shown', { channel, failure, reason: message });
    if (failure === 'permanent' || failure === 'blocked') {
      this.#forget(lane, id);
      void store.forget(id).catch(() => {});
      return;
    }
    lane.notBefore = clock.monotonic() + (retryAfterMs ?? RETRY_MS);
    if ((retryAfterMs ?? 0) > LONG_WAIT_MS) {
      for (const [other, { shown }] of lane.messages) if (shown.length === 0) this.#forget(lane, other);
    }
    followed.failures += 1;
    if (followed.failures >= MOST_FAILURES) this.#forget(lane, id);
    else if (lane.messages.has(id)) lane.due.add(id);
  }

  /** Follows a message no longer; what the journal says of it stays. */
  #forget(lane: Lane, id: string): void {
    lane.messages.delete(id);
    lane.due.delete(id);
  }

  #emojiOf(channel: Channel, state: ReachedState): string | undefined {
    const emoji = state === 'over' ? false : chosenReactions(channel, this.#app.config)?.[state];
    return emoji === false ? undefined : emoji;
  }

  #reactionsOf(name: string): StateReactions | null {
    const channel = this.#channel(name);
    return channel?.react === undefined ? null : chosenReactions(channel, this.#app.config);
  }

  #channel(name: string): Channel | undefined {
    const found = this.#app.channels.manager.outlet(name);
    return typeof found === 'string' ? undefined : found;
  }
}

function isFinal(state: ReachedState): boolean {
  return state !== 'seen' && state !== 'working';
}

/** How to get from the reactions that may stand to this one (undefined: to none); null: nothing has to be done. */
function changeTo(
  emoji: string | undefined,
  { shown, isUnsure }: Pick<Followed, 'shown' | 'isUnsure'>,
): ReactionChange | null {
  const remove = shown.filter((one) => one !== emoji);
  if (emoji === undefined) return remove.length === 0 ? null : { remove };
  return shown.length === 1 && remove.length === 0 && !isUnsure ? null : { add: emoji, remove };
}

/** The reactions of a channel by its setting and by what is usual on its platform; null: it shows none. */
function chosenReactions({ name, stateReactions: platform }: Channel, config: Config): StateReactions | null {
  const setting = config.channels[name]?.reactions;
  if (platform === undefined || !(setting?.show ?? platform.isOn)) return null;
  const { usual } = platform;
  return {
    seen: setting?.seen ?? usual.seen,
    working: setting?.working ?? setting?.seen ?? usual.working,
    done: setting?.done ?? usual.done,
    failed: setting?.failed ?? usual.failed,
  };
}
