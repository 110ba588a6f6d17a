import { stat } from 'node:fs/promises';
import type { OutboundState, Outbox, Part } from '../../journal/outbox.ts';
import type { Ending } from '../../journal/undelivered.ts';
import type { Durability } from '../../storage/files.ts';
import type { StorageHealth } from '../../storage/storage-health.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { Random } from '../../util/random.ts';
import { backoffMs } from '../../util/backoff.ts';
import { shortRound } from '../../util/wake.ts';
import { partsOf, SendError, type Channel, type OutgoingPart } from '../channel.ts';

/** A send may take this long, and as long as its bytes take at the slowest upload that is waited for. */
const SEND_DEADLINE_MS = 30_000;
const SLOWEST_BYTES_PER_MS = 50;
const DEFAULT_EXPIRY_MS = 24 * 3_600_000;
const UNCERTAIN_WAIT_MS = 2_000;
/** Copies that a person may see twice. */
const MAX_RESENDS = 1;
/** A message at which the program itself failed so often goes out plain; at the next failure it ends. */
const MAX_THROWS = 3;
const RETRY = { firstMs: 1_000, maxMs: 60_000 };
/** In front of what was sent again although the platform may have the first copy. */
export const RESEND_MARK = '↻ ';

/** The channels as delivery sees them; the manager is one. */
export interface Outlets {
  /** The channel when it can send now; `waiting` when it will again some day; `unknown` when none of this name is enabled. */
  outlet(name: string): Channel | 'waiting' | 'unknown';
  /** The platform refused the channel's credentials. */
  revoked(name: string, reason: string): void;
  /** Names of those that can send now. */
  running(): readonly string[];
  /** Calls back when a channel, or one chat of it, can be reached again. */
  onReachable(listener: (channel: string, chatId: string | undefined) => void): Disposable;
}

/** What a chat's lane went through before a step. */
export interface LaneState {
  /** Failed attempts in a row. */
  readonly failures: number;
  /** A power loss could undo the mark of a part that left: until then the next mark has to be durable. */
  readonly hasUnsyncedMark: boolean;
  /** A part is marked as leaving. */
  marked(durability: Durability): void;
  /** When messages may be tried again, by id, in monotonic time: a clock that is put back delays nothing. */
  readonly retryAt: Map<string, number>;
  /** How often the program failed at the message at the head, and how. */
  readonly thrown: { readonly times: number; readonly reason: string };
}

export interface PartPorts {
  readonly outbox: Outbox;
  readonly outlets: Outlets;
  readonly storage: Pick<StorageHealth, 'untilWritten'>;
  /** Something ended without arriving. */
  readonly ended: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Aborted when nothing new may start. */
  readonly stopping: AbortSignal;
  /** Aborted when what is in flight has to end too. */
  readonly aborted: AbortSignal;
}

/**
 * What became of one step of a message. `again`: more parts are left; `finished`: it needs nothing more;
 * `wait`: not before `ms` from now; after `throttled` nothing else of this chat before either.
 */
export type DeliveryStep =
  | { readonly type: 'again' | 'finished' }
  | { readonly type: 'wait'; readonly ms: number; readonly why: 'not-yet' | 'failed' | 'throttled' };

const again: DeliveryStep = { type: 'again' };
const finished: DeliveryStep = { type: 'finished' };

/**
 * Does the next thing for an outbound message: expires it, renders it, or sends one part. `lane` is what its chat
 * went through before. Throws only when `stopping` or `aborted` cut it short.
 */
export async function deliverNext(id: string, lane: LaneState, ports: PartPorts): Promise<DeliveryStep> {
  const { outbox, outlets, clock, log } = ports;
  await shortRound();
  const row = outbox.open(id);
  if (row === undefined) return finished;
  const { message } = row;
  const left = (message.expiresAt ?? row.createdAt + DEFAULT_EXPIRY_MS) - clock.now();
  if (left <= 0) {
    await end(row, 'expired', { reason: 'it could not be sent in time' }, ports);
    log.warn('message expired before it could be sent', { id, channel: message.channel, chat: message.chatId });
    return finished;
  }
  if (lane.thrown.times > MAX_THROWS || (lane.thrown.times === MAX_THROWS && row.parts.length > 0)) {
    return giveUp(row, { reason: `the assistant failed at it: ${lane.thrown.reason}` }, ports);
  }
  const channel = outlets.outlet(message.channel);
  // One that is switched off may be enabled by the next start; until then its messages expire like all others.
  if (channel === 'unknown' || channel === 'waiting') return { type: 'wait', ms: left, why: 'not-yet' };
  const waitMs = plannedWait(row, lane, clock);
  if (waitMs > 0) return { type: 'wait', ms: Math.min(waitMs, left), why: 'not-yet' };
  if (row.parts.length === 0) return renderParts(row, { channel, plain: lane.thrown.times === MAX_THROWS }, ports);
  const part = row.parts.find(({ state }) => state !== 'delivered');
  if (part === undefined) {
    await persist(() => outbox.finish(id, 'delivered', { reason: 'all parts were delivered' }), ports);
    return finished;
  }
  return sendPart({ row, part, channel, lane }, ports);
}

/** How long a message still waits for its next try. What an earlier process planned is no longer than the longest wait. */
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
  ports: PartPorts,
): Promise<DeliveryStep> {
  const { id, text, media } = row.message;
  const rendered = plain ? channel.plain(text) : partsOf(channel, row.message);
  const texts = rendered.length === 0 && media.length > 0 ? [''] : rendered;
  if (texts.length === 0) return giveUp(row, { reason: 'there is nothing to send' }, ports);
  if (plain) ports.log.warn('delivery: message sent without markup, which could not be rendered', { id });
  await persist(() => ports.outbox.render(id, texts), ports);
  return again;
}

interface Sending {
  readonly row: OutboundState;
  readonly part: Part;
  readonly channel: Channel;
  readonly lane: LaneState;
}

async function sendPart(sending: Sending, ports: PartPorts): Promise<DeliveryStep> {
  const { row, part, channel, lane } = sending;
  const { id, chatId } = row.message;
  const { outbox, log } = ports;
  const place = channel.edit === undefined ? null : part.platformId;
  // Writing the same over a message once more does no harm.
  const settles = channel.settlesResends === true;
  const mayBeThere = part.state !== 'pending' || isInDoubt(row, channel);
  const resend = place === null && mayBeThere;
  if (resend && part.resends >= MAX_RESENDS && !settles) {
    return giveUp(row, { reason: 'it was sent twice and never confirmed' }, ports);
  }
  // A resend whose mark is lost would be sent once more.
  const durability = settles || (!resend && !lane.hasUnsyncedMark) ? 'lazy' : 'durable';
  const keepsDoubt = settles || part.state !== 'pending';
  const open = await persist(() => outbox.sending(id, part.n, { resend, keepsDoubt, durability }), ports);
  if (!open) return finished;
  lane.marked(durability);
  let platformId: string;
  try {
    ({ platformId } = await sendInTime(
      channel,
      outgoing(row, part, { again: resend || part.resends > 0, channel, outbox }),
      ports,
      place,
    ));
  } catch (thrown) {
    ports.aborted.throwIfAborted();
    if (place !== null && toSendError(thrown).failure === 'permanent') {
      log.info('a message that was to be replaced is gone, sending it anew', { id, reason: errorMessage(thrown) });
      await persist(() => outbox.forgetPlace(id, part.n), ports);
      return again;
    }
    return recordFailure(sending, toSendError(thrown), ports);
  }
  await persist(() => outbox.delivered(id, part.n, platformId), ports);
  const last = row.parts.every(({ n, state }) => n === part.n || state === 'delivered');
  if (last) log.debug('delivery: message delivered', { id, channel: channel.name, chat: chatId });
  return last ? finished : again;
}

/** After a power loss: the marks of this message may be the ones that are gone. */
function isInDoubt({ doubt }: OutboundState, channel: Channel): boolean {
  return doubt === 'oldest' || (doubt === 'later' && channel.settlesResends === true);
}

async function recordFailure(
  { row, part, channel: outlet, lane }: Sending,
  failure: SendError,
  ports: PartPorts,
): Promise<DeliveryStep> {
  const { failures } = lane;
  const { id, channel, chatId } = row.message;
  const { outbox, clock, log, random } = ports;
  const reason = failure.message;
  const postpone = async (state: 'pending' | 'uncertain', ms: number): Promise<DeliveryStep> => {
    log.info('delivery: send failed, trying again', { id, channel, chat: chatId, failure: failure.failure, reason });
    lane.retryAt.set(id, clock.monotonic() + ms);
    await persist(() => outbox.postpone(id, part.n, state, clock.now() + ms, reason), ports);
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
      ports.outlets.revoked(channel, reason);
      return postpone('pending', 0);
    case 'blocked': {
      const ended = await persist(() => outbox.endChat(channel, chatId, { reason, refused: { id, n: part.n } }), ports);
      ports.ended();
      log.warn('a chat takes no messages any more', { channel, chat: chatId, reason, ended });
      return finished;
    }
    case 'permanent':
    default:
      return giveUp(row, { reason, refused: { id, n: part.n } }, ports);
  }
}

async function end(
  { message }: OutboundState,
  state: 'dead' | 'expired',
  ending: Ending,
  ports: PartPorts,
): Promise<void> {
  await persist(() => ports.outbox.finish(message.id, state, ending), ports);
  ports.ended();
}

async function giveUp(row: OutboundState, ending: Ending, ports: PartPorts): Promise<DeliveryStep> {
  const { id, channel, chatId } = row.message;
  await end(row, 'dead', ending, ports);
  ports.log.warn('delivery: message given up', { id, channel, chat: chatId, reason: ending.reason });
  return finished;
}

/** `again`: an earlier attempt may have arrived. */
function outgoing(
  { message, parts, createdAt }: OutboundState,
  part: Part,
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
    ...(message.threadId === undefined ? {} : { threadId: message.threadId }),
    ...(message.replyTo === undefined || part.n > 0 ? {} : { replyTo: message.replyTo }),
    // Under the last part, where reading ends.
    ...(message.buttons === undefined || !isLast ? {} : { buttons: message.buttons }),
  };
}

/** `place`: the platform's message that it is written over. */
async function sendInTime(
  channel: Channel,
  part: OutgoingPart,
  ports: PartPorts,
  place: string | null,
): Promise<{ platformId: string }> {
  using limit = deadline(ports.clock, await deadlineMs(part), 'Sending');
  const signal = AbortSignal.any([ports.aborted, limit.signal]);
  if (place === null || channel.edit === undefined) return await raceAbort(channel.send(part, signal), signal);
  await raceAbort(channel.edit({ ...part, platformId: place }, signal), signal);
  return { platformId: place };
}

async function deadlineMs({ text, media }: OutgoingPart): Promise<number> {
  let bytes = Buffer.byteLength(text);
  for (const { path, size = 0 } of media)
    bytes += await stat(path).then(
      ({ size: now }) => now,
      () => size,
    );
  return SEND_DEADLINE_MS + Math.floor(bytes / SLOWEST_BYTES_PER_MS);
}

function toSendError(thrown: unknown): SendError {
  return thrown instanceof SendError ? thrown : new SendError('uncertain', errorMessage(thrown));
}

/** A journal that cannot be written is waited for: what it says must stay true. */
function persist<T>(work: () => Promise<T>, { storage, stopping }: PartPorts): Promise<T> {
  return storage.untilWritten(work, { signal: stopping, what: 'delivery: journal' });
}
