import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { Origin, Origins } from '../bus/origins.ts';
import type { Database, Row } from '../storage/database.ts';
import type { Clock } from '../util/clock.ts';
import { createHash } from 'node:crypto';

/** Names of the journal's queues, for `Database.queued`. */
export const INBOUND = 'inbound';
export const OUTBOUND = 'outbound';
/** SQL: an outbound message that is not finished. */
export const OPEN_OUTBOUND = "state IN ('pending', 'sending', 'uncertain')";

/** The open database of the journal, with what its stores write rows with. */
export interface JournalDatabase {
  readonly origins: Origins;
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** What reads and writes some tables of the journal. */
export abstract class JournalStore {
  protected readonly journal: JournalDatabase;

  constructor(journal: JournalDatabase) {
    this.journal = journal;
  }
}

/** Reads a stored message. Not validated, because this program wrote it. */
export function parseInbound(payload: string): InboundMessage {
  return JSON.parse(payload) as InboundMessage;
}

/** SQL: the names of these rows as a list for `IN`. */
export function namesOf(rows: readonly Origin[]): string {
  return `(${rows.map(({ name }) => `'${name.replaceAll("'", "''")}'`).join(', ')})`;
}

export function parseOutbound(payload: string): OutboundMessage {
  return JSON.parse(payload) as OutboundMessage;
}

/** `?, ?, ?` for a list of values. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

/** The result of one slice of a sweep: how many rows it dealt with, and whether there may be more. */
export interface Swept {
  readonly rows: number;
  readonly more: boolean;
}

/** A hash of 16 bytes that identifies a message of a platform after its row was deleted. */
export function dedupeKey(channel: string, account: string, chat: string, externalId: string): Uint8Array {
  const name = JSON.stringify([channel, account, chat, externalId]);
  return createHash('sha256').update(name).digest().subarray(0, 16);
}

/** The state of a message's turn that is not answered, by `inbound_state`; undefined: it was answered, or there is no message. */
export function unfinishedTurn(row: Row): 'waiting' | 'running' | 'stopped' | 'failed' | undefined {
  switch (row.textOrNull('inbound_state')) {
    case 'accepted':
      return 'waiting';
    case 'running':
      return 'running';
    case 'refused':
      return 'stopped';
    case 'dead':
      return 'failed';
    default:
      return undefined;
  }
}
