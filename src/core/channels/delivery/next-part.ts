import { stat } from 'node:fs/promises';
import { FROM, ONLY_TO, RESEND_MARK } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import type { OutboundState, Outbox, OutboxPart } from '../../journal/outbox.ts';
import type { DeliveryFailure } from '../../journal/undelivered.ts';
import type { Durability } from '../../storage/files.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { backoffMs } from '../../util/backoff.ts';
import { shortRound } from '../../util/wake.ts';
import { partsOf, SendError, type Channel, type OutgoingPart } from '../channel.ts';

/** Deadline of a send: this time, plus the time that its bytes take at the slowest accepted upload rate. */
const SEND_DEADLINE_MS = 30_000;
const SLOWEST_BYTES_PER_MS = 50;
const DEFAULT_EXPIRY_MS = 24 * 3_600_000;
const UNCERTAIN_WAIT_MS = 2_000;
/** How many times a part is sent again when the platform may have the first copy. */
const MAX_RESENDS = 1;
/** After this many failures of the program at one message it is sent as plain text; after one more it is given up. */
const MAX_THROWS = 3;
const RETRY = { firstMs: 1_000, maxMs: 60_000 };

/** What delivery needs of the channels; `ChannelManager` implements it. */
export interface Outlets {
  /** The channel when it can send now; `waiting`: it is enabled but cannot send now; `unknown`: no such channel is enabled. */
  outlet(name: string): Channel | 'waiting' | 'unknown';
  /** Registers a send, which a channel that is replaced finishes first. Returns the same promise. */
  sending<T>(channel: string, work: Promise<T>): Promise<T>;
  /** Reports that the platform refused the channel's credentials. */
  revoked(name: string, reason: string): void;
  /** Names of the channels that can send now. */
  running(): readonly string[];
  /** Calls back when a channel (`chatId` undefined) or one chat of it can be reached again. */
  onReachable(listener: (channel: string, chatId: string | undefined) => void): Disposable;
}

/** The state of a chat's lane that a step needs. */
export interface LaneState {
  /** Failed attempts in a row. */
  readonly failures: number;
  /** The newest mark of the chat is not durable yet, so the next one has to be. */
  readonly hasUnsyncedMark: boolean;
  /** Called when a part was marked as being sent. */
  marked(durability: Durability): void;
  /** Message id → when it may be tried again, in monotonic ms, which a change of the clock does not move. */
  readonly retryAt: Map<string, number>;
  /** Message id → `Clock.now` minus `Clock.monotonic` when it was queued: a clock that is put forward makes no message expire. */
  readonly wallOffset: Map<string, number>;
  /** Errors of the program in a row at the first message of the lane, and the newest one. */
  readonly thrown: { readonly times: number; readonly reason: string };
}

/** What is running while messages are delivered. */
export interface Delivering {
  readonly app: App;
  readonly outlets: Outlets;
  /** Called when a message was given up or expired. */
  readonly ended: () => void;
  /** Aborted when nothing new may start. */
  readonly stopping: AbortSignal;
  /** Aborted when what is in flight has to end too. */
  readonly aborted: AbortSignal;
}

/**
 * The result of one step of a message. `again`: take the next step now. `finished`: the message is done. `wait`: take the
 * next step in `ms`; with `throttled`, nothing else is sent to this chat before.
 */
export type DeliveryStep =
  | { readonly type: 'again' | 'finished' }
  | { readonly type: 'wait'; readonly ms: number; readonly why: 'not-yet' | 'failed' | 'throttled' };

const again: DeliveryStep = { type: 'again' };
const finished: DeliveryStep = { type: 'finished' };

/**
 * Takes the next step of an outbound message: expires it, renders it, or sends one part. Rejects when `stopping` or
 * `aborted` aborts, or on an error of the program or the disk.
 */
export async function deliverNext(id: string, lane: LaneState, delivering: Delivering): Promise<DeliveryStep> {
  const { app, outlets } = delivering;
  const { clock, log } = app;
  const { outbox } = app.journal;
  await shortRound();
  const row = outbox.open(id);
  if (row === undefined) return finished;
  const { message } = row;
  const offset = lane.wallOffset.get(id);
  const now = offset === undefined ? clock.now() : clock.monotonic() + offset;
  const left = (message.expiresAt ?? row.createdAt + DEFAULT_EXPIRY_MS) - now;
  if (left <= 0) {
    await end(row, 'expired', { reason: 'it could not be sent in time' }, delivering);
    log.warn('delivery: message expired before it could be sent', {
      id,
      channel: message.channel,
      chat: message.chatId,
    });
    return finished;
  }
  if (lane.thrown.times > MAX_THROWS || (lane.thrown.times === MAX_THROWS && row.parts.length > 0)) {
    return giveUp(row, { reason: `an error inside the assistant: ${lane.thrown.reason}` }, delivering);
  }
  const channel = outlets.outlet(message.channel);
  // A channel that is not enabled may be enabled at the next start; until then its messages wait and can expire.
  if (channel === 'unknown' || channel === 'waiting') return { type: 'wait', ms: left, why: 'not-yet' };
  const waitMs = plannedWait(row, lane, clock);
  if (waitMs > 0) return { type: 'wait', ms: Math.min(waitMs, left), why: 'not-yet' };
  if (row.parts.length === 0) return renderParts(row, { channel, plain: lane.thrown.times === MAX_THROWS }, delivering);
  const part = row.parts.find(({ state }) => state !== 'delivered');
  if (part === undefined) {
    await persist(() => outbox.finish(id, 'delivered', { reason: 'all parts were delivered' }), delivering);
    return finished;
  }
  return delivering.outlets.sending(row.message.channel, sendPart({ row, part, channel, lane }, delivering));
}

/** Ms until the next attempt of a message, 0 or less: now. A time that an earlier process planned is capped at `RETRY.maxMs`. */
function plannedWait({ message, nextAt }: OutboundState, { retryAt }: LaneState, clock: Clock): number {
  const planned = retryAt.get(message.id);
  if (planned !== undefined) return planned - clock.monotonic();
  const left = Math.min(nextAt - clock.now(), RETRY.maxMs);
  if (left > 0) retryAt.set(message.id, clock.monotonic() + left);
  return left;
}

async function renderParts(
  row: OutboundState,
  { channel, plain }: { readonly channel: Channel; readonly plain: boolean },
  delivering: Delivering,
): Promise<DeliveryStep> {
  const { id, text, media } = row.message;
  const rendered = plain ? channel.plain(text) : partsOf(channel, row.message);
  const texts = rendered.length === 0 && media.length > 0 ? [''] : rendered;
  if (texts.length === 0) return giveUp(row, { reason: 'there is nothing to send' }, delivering);
  if (plain) delivering.app.log.warn('delivery: message sent without markup, which could not be rendered', { id });
  await persist(() => delivering.app.journal.outbox.render(id, texts), delivering);
  return again;
}

interface Sending {
  readonly row: OutboundState;
  readonly part: OutboxPart;
  readonly channel: Channel;
  readonly lane: LaneState;
}

async function sendPart(sending: Sending, delivering: Delivering): Promise<DeliveryStep> {
  const { row, part, channel, lane } = sending;
  const { id, chatId } = row.message;
  const { log } = delivering.app;
  const { outbox } = delivering.app.journal;
  const place = channel.edit === undefined ? null : part.platformId;
  const settles = channel.settlesResends === true;
  const mayBeThere = part.state !== 'pending' || isInDoubt(row, channel);
  // Editing a message to the same text once more does no harm, so only a new message counts as a resend.
  const resend = place === null && mayBeThere;
  if (resend && part.resends >= MAX_RESENDS && !settles) {
    return giveUp(row, { reason: 'it was sent twice and never confirmed' }, delivering);
  }
  // The mark of a resend must be durable: without it the part would be sent a third time.
  const durability = settles || (!resend && !lane.hasUnsyncedMark) ? 'lazy' : 'durable';
  const keepsDoubt = settles || part.state !== 'pending';
  const open = await persist(() => outbox.sending(id, part.n, { resend, keepsDoubt, durability }), delivering);
  if (!open) return finished;
  lane.marked(durability);
  let platformId: string;
  try {
    ({ platformId } = await sendInTime(
      channel,
      outgoing(row, part, { again: resend || part.resends > 0, channel, outbox }),
      delivering,
      place,
    ));
  } catch (thrown) {
    delivering.aborted.throwIfAborted();
    if (place !== null && toSendError(thrown).failure === 'permanent') {
      log.info('delivery: message to replace is gone, sending a new one', { id, reason: errorMessage(thrown) });
      await persist(() => outbox.forgetPlace(id, part.n), delivering);
      return again;
    }
    return recordFailure(sending, toSendError(thrown), delivering);
  }
  await persist(() => outbox.delivered(id, part.n, platformId), delivering);
  const last = row.parts.every(({ n, state }) => n === part.n || state === 'delivered');
  if (last) log.debug('delivery: message delivered', { id, channel: channel.name, chat: chatId });
  return last ? finished : again;
}

/** Whether a power loss may have taken the marks of this message. */
function isInDoubt({ doubt }: OutboundState, channel: Channel): boolean {
  return doubt === 'oldest' || (doubt === 'later' && channel.settlesResends === true);
}

async function recordFailure(
  { row, part, channel: outlet, lane }: Sending,
  failure: SendError,
  delivering: Delivering,
): Promise<DeliveryStep> {
  const { failures } = lane;
  const { id, channel, chatId } = row.message;
  const { clock, log, random } = delivering.app;
  const { outbox } = delivering.app.journal;
  const reason = failure.message;
  const postpone = async (state: 'pending' | 'uncertain', ms: number): Promise<DeliveryStep> => {
    log.info('delivery: send failed, trying again', { id, channel, chat: chatId, failure: failure.failure, reason });
    lane.retryAt.set(id, clock.monotonic() + ms);
    await persist(() => outbox.postpone(id, part.n, state, clock.now() + ms, reason), delivering);
    return { type: 'wait', ms, why: failure.retryAfterMs === undefined ? 'failed' : 'throttled' };
  };
  switch (failure.failure) {
    case 'retryable':
      return postpone('pending', failure.retryAfterMs ?? backoffMs(failures + 1, RETRY, random));
    case 'uncertain': {
      const isSafe = outlet.settlesResends === true;
      const waitMs = isSafe ? backoffMs(failures + 1, RETRY, random) : UNCERTAIN_WAIT_MS;
      return postpone('uncertain', failure.retryAfterMs ?? waitMs);
    }
    case 'revoked':
      delivering.outlets.revoked(channel, reason);
      return postpone('pending', 0);
    case 'blocked': {
      const ended = await persist(
        () => outbox.endChat(channel, chatId, { reason, refused: { id, n: part.n } }),
        delivering,
      );
      delivering.ended();
      log.warn('delivery: chat takes no messages any more', { channel, chat: chatId, reason, ended });
      return finished;
    }
    case 'permanent':
    default:
      if (row.message.media.length > 1) {
        log.info('delivery: album refused, its files are sent one by one', { id, channel, chat: chatId, reason });
        const instead = filesAlone(row.message);
        await persist(
          () => outbox.finish(id, 'delivered', { reason: 'its files are sent one by one', instead }),
          delivering,
        );
        return finished;
      }
      return giveUp(row, { reason, refused: { id, n: part.n } }, delivering);
  }
}

/** The files of an album as messages of their own; the first has its text. */
function filesAlone(message: OutboundState['message']): readonly OutboundState['message'][] {
  const { id, text } = message;
  return message.media.map((file, n) => ({ ...message, id: `${id}:${n}`, text: n === 0 ? text : '', media: [file] }));
}

async function end(
  { message }: OutboundState,
  state: 'dead' | 'expired',
  ending: DeliveryFailure,
  delivering: Delivering,
): Promise<void> {
  await persist(() => delivering.app.journal.outbox.finish(message.id, state, ending), delivering);
  delivering.ended();
}

async function giveUp(row: OutboundState, ending: DeliveryFailure, delivering: Delivering): Promise<DeliveryStep> {
  const { id, channel, chatId } = row.message;
  await end(row, 'dead', ending, delivering);
  delivering.app.log.warn('delivery: message given up', { id, channel, chat: chatId, reason: ending.reason });
  return finished;
}

/** `again`: an earlier attempt may have arrived. */
function outgoing(
  { message, parts, createdAt }: OutboundState,
  part: OutboxPart,
  { again, channel, outbox }: { readonly again: boolean; readonly channel: Channel; readonly outbox: Outbox },
): OutgoingPart {
  const isLast = part.n === parts.at(-1)?.n;
  return {
    messageId: message.id,
    kind: message.kind,
    chatId: message.chatId,
    text: again && channel.settlesResends !== true ? RESEND_MARK + part.text : part.text,
    media: part.n === 0 ? message.media : [],
    nonce: part.nonce,
    ...(again ? { resend: { since: createdAt, isKnown: (id) => outbox.isSent(message, id) } } : {}),
    ...(message.turnId === undefined ? {} : { turnId: message.turnId }),
    ...factsOf(message),
    ...(message.threadId === undefined ? {} : { threadId: message.threadId }),
    ...(message.replyTo === undefined || part.n > 0 ? {} : { replyTo: message.replyTo }),
    // Buttons belong under the last part.
    ...(message.buttons === undefined || !isLast ? {} : { buttons: message.buttons }),
  };
}

/** Who sent the message by itself, and who alone may see it. */
function factsOf({ metadata }: OutboundState['message']): Pick<OutgoingPart, 'from' | 'onlyTo'> {
  const { [FROM]: from, [ONLY_TO]: onlyTo } = metadata;
  return { ...(typeof from === 'string' ? { from } : {}), ...(typeof onlyTo === 'string' ? { onlyTo } : {}) };
}

/** Sends a part within its deadline, or edits the message `place` (a platform id) to it. Resolves with the platform id. */
async function sendInTime(
  channel: Channel,
  part: OutgoingPart,
  delivering: Delivering,
  place: string | null,
): Promise<{ platformId: string }> {
  using limit = deadline(delivering.app.clock, await deadlineMs(part, channel), 'Sending');
  const signal = AbortSignal.any([delivering.aborted, limit.signal]);
  if (place === null || channel.edit === undefined) return await raceAbort(channel.send(part, signal), signal);
  await raceAbort(channel.edit({ ...part, platformId: place }, signal), signal);
  return { platformId: place };
}

async function deadlineMs(
  { text, media }: OutgoingPart,
  { sendDeadlineMs = SEND_DEADLINE_MS }: Channel,
): Promise<number> {
  let bytes = Buffer.byteLength(text);
  for (const { path, size = 0 } of media)
    bytes += await stat(path).then(
      ({ size: now }) => now,
      () => size,
    );
  return sendDeadlineMs + Math.floor(bytes / SLOWEST_BYTES_PER_MS);
}

function toSendError(thrown: unknown): SendError {
  return thrown instanceof SendError ? thrown : new SendError('uncertain', errorMessage(thrown));
}

/** Writes to the journal and waits while the disk takes no writes. Rejects when `stopping` aborts. */
function persist<T>(work: () => Promise<T>, { app: { storage }, stopping }: Delivering): Promise<T> {
  return storage.untilWritten(work, { signal: stopping, what: 'delivery: journal' });
}
