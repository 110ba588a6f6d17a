import { outboundTo } from '../agent/outgoing.ts';
import { durationText } from '../util/durations.ts';
import type { App } from '../app.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { partsOf, SendError } from '../channels/channel.ts';
import type { Outlets } from '../channels/delivery/next-part.ts';
import { storagePlace, storageSentence, type StorageState } from '../storage/storage-health.ts';
import type { ChatAddress } from '../tools/tool.ts';
import { backoffMs } from '../util/backoff.ts';
import { deadline, type Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { configuredOwnersChat } from './owners-address.ts';

/** What is sent around the journal gets this long. */
const SEND_DEADLINE_MS = 30_000;
/**
 * The disk has to take writes this long before it is told that all is well again, ms; longer each time as long as the next trouble
 * comes within `CALM_MS` of that.
 */
const STEADY = { firstMs: 5_000, maxMs: 15 * 60_000 };
const CALM_MS = 60 * 60_000;

/** A notice that the platform did not take is sent again after so long, ms, and so often. */
const AGAIN_MS = 1_000;
const MOST_TRIES = 5;

/**
 * Sends the owner one notice when the home cannot be written, through a running channel and past the journal, which cannot
 * be written either; and one through the outbox when it can be written again.
 */
export function reportStorageTrouble(
  app: App,
  {
    others,
    waitedSince,
  }: {
    /** What other homes of the process told their owners; null: there is no other. */
    readonly others: ToldPeople | null;
    /** The start waited for the disk, which the owner was told; milliseconds since 1970. */
    readonly waitedSince: number | null;
  },
): Disposable {
  const { storage, bus, clock, log } = app;
  const { home } = app.paths;
  const outlets = app.channels.manager;
  const ended = new AbortController();
  let began = waitedSince ?? undefined;
  /** From when to when it lasted, by the monotonic clock: a board without a battery gets its time late. */
  let lastsFrom = clock.monotonic() - (began === undefined ? 0 : clock.now() - began);
  let lastsTo = clock.monotonic();
  let isNotified = false;
  /** Another home told the owner, and will tell that it is over. */
  let isOthers = false;
  let tries = 1;
  let again: Disposable | undefined;
  let trouble: StorageState['state'] = 'ok';
  /** How many troubles there were, none of them long after the one before; and when the last was over, by the monotonic clock. */
  let troubles = 1;
  let overAt = -Infinity;
  let steady: Disposable | undefined = began === undefined ? undefined : clock.timer(STEADY.firstMs, () => heal());

  const tell = (): void => {
    const { state } = storage;
    const sentence = storageSentence(state, home);
    const chat = sentence === null || isNotified ? undefined : (readChat(app) ?? configuredOwnersChat(app));
    if (sentence === null || chat === undefined) return;
    isNotified = true;
    isOthers =
      state.state === 'no-database' && others?.tells(personAt(chat, app), { home, since: state.since }) === false;
    if (isOthers) return;
    const rest =
      state.state === 'damaged'
        ? 'Stop me before you do that. Until then I take no message, so that none is lost: what you write stays with the chat platform.'
        : `What you write stays with the chat platform or in the inbox, and is answered as soon as ${storagePlace(state)} can be written again${state.state === 'no-database' ? ', by this gateway or by another one that reaches it' : ''}.`;
    const text = `⚠ ${sentence} ${rest}`;
    sendDirectly(outlets, { chat, id: `storage:${state.since}`, text }, { clock, signal: ended.signal }).then(
      (sent) => {
        isNotified = sent;
        if (!sent) others?.failed(home);
      },
      (error: unknown) => {
        log.warn('storage: the owner could not be told', { reason: errorMessage(error) });
        others?.failed(home);
        // It did not arrive for certain.
        if (!(error instanceof SendError) || error.failure !== 'retryable' || tries === MOST_TRIES) return;
        tries += 1;
        isNotified = false;
        again?.[Symbol.dispose]();
        again = clock.timer(error.retryAfterMs ?? AGAIN_MS, tell);
      },
    );
  };
  const heal = (): void => {
    const since = began;
    if (since === undefined || storage.state.state !== 'ok') return;
    const lasted = durationText(1_000 * Math.max(1, Math.round((lastsTo - lastsFrom) / 1_000)));
    const isSilent = isOthers;
    began = undefined;
    isNotified = false;
    isOthers = false;
    tries = 1;
    overAt = clock.monotonic();
    others?.over(home, clock.now());
    const chat = isSilent ? undefined : readChat(app);
    if (chat === undefined) return;
    // By its id, `why` finds from when to when nothing could be written.
    const id = `storage:${since}:${storage.state.since}`;
    const text = `${placeOf(trouble, home)} can be written again, after ${lasted}. No accepted message is lost; I answer the waiting ones now.`;
    storage
      .untilWritten(() => bus.publishOutbound(outboundTo(chat, { id, kind: 'notice', text }, clock.now())), {
        signal: ended.signal,
        what: 'storage: notice',
      })
      .catch((error: unknown) =>
        log.warn('storage: the owner could not be told that the disk works again', { reason: errorMessage(error) }),
      );
  };
  const onChange = storage.onChange(({ state, since }) => {
    steady?.[Symbol.dispose]();
    // What was told before was another trouble.
    if (state === 'damaged') isNotified = false;
    if (state === 'ok') {
      lastsTo = clock.monotonic();
      steady = clock.timer(backoffMs(troubles, STEADY), heal);
      return;
    }
    if (began === undefined) troubles = clock.monotonic() - overAt < CALM_MS ? troubles + 1 : 1;
    if (began === undefined) lastsFrom = clock.monotonic();
    began ??= since;
    trouble = state;
    tell();
  });
  const onReachable = outlets.onReachable(tell);
  return {
    [Symbol.dispose]: () => {
      ended.abort(new Error('the process is stopping'));
      others?.over(home, clock.now());
      steady?.[Symbol.dispose]();
      again?.[Symbol.dispose]();
      onChange[Symbol.dispose]();
      onReachable[Symbol.dispose]();
    },
  };
}

/** Sends a few words around the journal, as one message; false when the channel does not run. Rejects when it fails. */
export async function sendDirectly(
  outlets: Pick<Outlets, 'outlet'>,
  notice: {
    readonly chat: { readonly channel: string; readonly chatId: string; readonly threadId?: string };
    readonly id: string;
    readonly text: string;
  },
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<boolean> {
  const { chat, id } = notice;
  const channel = outlets.outlet(chat.channel);
  if (typeof channel === 'string') return false;
  const [text] = partsOf(channel, { kind: 'notice', text: notice.text, metadata: {} });
  if (text === undefined) return false;
  using limit = deadline(clock, SEND_DEADLINE_MS, 'Sending');
  const { chatId, threadId } = chat;
  await channel.send(
    {
      messageId: id,
      kind: 'notice',
      chatId,
      ...(threadId === undefined ? {} : { threadId }),
      text,
      media: [],
      nonce: id.slice(-25),
    },
    AbortSignal.any([signal, limit.signal]),
  );
  return true;
}

/** As the platform knows the person at this address, on any bot. */
function personAt(
  { channel, chatId, sender }: ChatAddress & { readonly sender?: { readonly id: string } },
  { config }: App,
): string {
  return `${config.channels[channel]?.kind ?? channel} ${sender?.id ?? chatId}`;
}

/** What takes writes again, at the beginning of a sentence. */
function placeOf(trouble: StorageState['state'], home: string): string {
  if (trouble === 'no-database') return 'The database of this home';
  return trouble === 'unreachable' ? 'The store of the conversations' : `The disk of ${home}`;
}

/** The journal may not even be readable, on a disk that fails or when it is damaged. */
function readChat({ people, log }: App): InboundMessage | undefined {
  try {
    return people.ownersChat();
  } catch (error) {
    log.warn('storage: the owner is not known', { reason: errorMessage(error) });
    return undefined;
  }
}

/** Who is told of an outage: one person, on whichever of their bots. */
interface Told {
  /** Which home told them. */
  readonly home: string;
  /** When the outage was over for that home, milliseconds since 1970; null: it is not. */
  over: number | null;
}

/**
 * The database of several homes of this process is away for all of them at once, so a person who owns several is told by the first
 * of them alone, and by the same one that it is over.
 */
export class ToldPeople {
  /** By person; at most as many as own homes that ran here. */
  readonly #told = new Map<string, Told>();

  /** Whether this home tells the person of a trouble that began then (milliseconds since 1970); it counts as told from now on. */
  tells(person: string, { home, since }: { readonly home: string; readonly since: number }): boolean {
    const told = this.#told.get(person);
    if (told !== undefined && told.home !== home && (told.over === null || since < told.over)) return false;
    this.#told.set(person, { home, over: null });
    return true;
  }

  /** It is over for this home, or it ends. */
  over(home: string, at: number): void {
    for (const told of this.#told.values()) if (told.home === home) told.over ??= at;
  }

  /** What this home had to say did not arrive: another one may say it. */
  failed(home: string): void {
    for (const [person, told] of this.#told) if (told.home === home && told.over === null) this.#told.delete(person);
  }
}
