import { createHash } from 'node:crypto';
import type { OutboundMessage } from '../bus/messages.ts';
import type { LedgerPorts } from './rows.ts';

/** Where an answer is shown while it is written. */
export type PreviewPlace = Pick<OutboundMessage, 'channel' | 'chatId' | 'threadId'>;

const idOf = (turnId: string): string => `${turnId}:preview`;

/** 22 characters, the same for each attempt at a turn's preview. */
export function previewNonce(turnId: string): string {
  return createHash('sha256').update(idOf(turnId)).digest().subarray(0, 16).toString('base64url');
}

/** Messages that grow while a turn writes its answer; the answer takes their place. */
export class PreviewLedger {
  readonly #ports: LedgerPorts;

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
  }

  /** The platform id of a turn's preview, as an earlier process left it; undefined: none was sent. */
  platformId(turnId: string): string | undefined {
    const row = this.#ports.db.get(
      `SELECT parts.platform_id FROM parts JOIN outbound ON outbound.id = parts.outbound_id
       WHERE outbound.id = ? AND outbound.state = 'streaming' AND parts.platform_id IS NOT NULL`,
      idOf(turnId),
    );
    return row?.text('platform_id');
  }

  /** Commits that the bytes of a preview are about to leave. False: there is one already. */
  begin(turnId: string, place: PreviewPlace): Promise<boolean> {
    const { db, clock } = this.#ports;
    const id = idOf(turnId);
    const message: OutboundMessage = { id, ...place, kind: 'part', text: '', media: [], turnId, metadata: {} };
    return db.write(() => {
      const added = db.run(
        `INSERT OR IGNORE INTO outbound (id, turn_id, channel, chat, kind, payload, state, created_at, updated_at)
         VALUES (?, ?, ?, ?, 'part', ?, 'streaming', ?, ?)`,
        id,
        turnId,
        place.channel,
        place.chatId,
        JSON.stringify(message),
        clock.now(),
        clock.now(),
      );
      if (added === 0) return false;
      db.run(
        "INSERT INTO parts (outbound_id, n, text, state, nonce) VALUES (?, 0, '', 'sending', ?)",
        id,
        previewNonce(turnId),
      );
      return true;
    });
  }

  sent(turnId: string, platformId: string): Promise<void> {
    const { db } = this.#ports;
    return db.write(() => {
      db.run("UPDATE parts SET state = 'delivered', platform_id = ? WHERE outbound_id = ?", platformId, idOf(turnId));
    });
  }

  /** It certainly did not arrive. */
  failed(turnId: string, reason: string): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        "UPDATE outbound SET state = 'dead', reason = ?, updated_at = ? WHERE id = ? AND state = 'streaming'",
        reason,
        clock.now(),
        idOf(turnId),
      );
    });
  }
}

/**
 * Part of the transaction that closes a turn: what it says first takes the place of its preview, by an edit. Without
 * anything to say the preview stays as it is. A preview that may have arrived makes the answer one that may have too.
 */
export function takePreview({ db, clock }: LedgerPorts, turnId: string, first: OutboundMessage | undefined): void {
  const row = db.get(
    `SELECT outbound.channel, outbound.chat, parts.platform_id FROM outbound
     JOIN parts ON parts.outbound_id = outbound.id WHERE outbound.id = ? AND outbound.state = 'streaming'`,
    idOf(turnId),
  );
  if (row === undefined) return;
  db.run(
    "UPDATE outbound SET state = 'delivered', reason = 'preview', updated_at = ? WHERE id = ?",
    clock.now(),
    idOf(turnId),
  );
  const isThere = first?.channel === row.text('channel') && first.chatId === row.text('chat');
  if (first === undefined || !isThere) return;
  const platformId = row.textOrNull('platform_id');
  // Under the nonce of the preview, so that a platform that de-duplicates has it once.
  if (platformId === null)
    db.run(
      "UPDATE parts SET state = 'uncertain', nonce = ? WHERE outbound_id = ? AND n = 0",
      previewNonce(turnId),
      first.id,
    );
  else db.run('UPDATE parts SET platform_id = ? WHERE outbound_id = ? AND n = 0', platformId, first.id);
}
