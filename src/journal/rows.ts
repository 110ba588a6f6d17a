import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { Database } from '../storage/database.ts';
import type { Clock } from '../util/clock.ts';
import { createHash } from 'node:crypto';

/** Names of the journal's queues, for `Database.queued`. */
export const INBOUND = 'inbound';
export const OUTBOUND = 'outbound';
/** SQL: an outbound message that is not finished. */
export const OPEN_OUTBOUND = "state IN ('pending', 'sending', 'uncertain')";

/** What each store of the journal is made from. */
export interface JournalPorts {
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** Payloads are our own messages, written by this program. */
export function parseInbound(payload: string): InboundMessage {
  return JSON.parse(payload) as InboundMessage;
}

export function parseOutbound(payload: string): OutboundMessage {
  return JSON.parse(payload) as OutboundMessage;
}

/** `?, ?, ?` for a list of values. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

/** What a slice of sweeping did: rows that went, and whether there may be more. */
export interface Swept {
  readonly rows: number;
  readonly more: boolean;
}

/** 16 bytes that stand for a platform's name of a message when its row is gone. */
export function dedupeKey(channel: string, account: string, chat: string, externalId: string): Uint8Array {
  const name = JSON.stringify([channel, account, chat, externalId]);
  return createHash('sha256').update(name).digest().subarray(0, 16);
}
