import { createHash } from 'node:crypto';
import type { OutboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { parseOutbound, JournalStore, type JournalDatabase } from './rows.ts';

/** The chat in which a preview of an answer is shown. */
export type PreviewPlace = Pick<OutboundMessage, 'channel' | 'chatId' | 'threadId'>;

/** `reason` of a preview that stays as a message of its own, with its final text. */
const SEALED = 'sealed';

/** Id of a turn's first preview; later ones have `:<n>` behind it. */
const idOf = (turnId: string): string => `${turnId}:preview`;

/** SQL for the rows of a turn's previews. */
const ITS_PREVIEWS = "turn_id = ? AND (id = turn_id || ':preview' OR id LIKE turn_id || ':preview:%')";

/** 22 characters, the same for each attempt at a turn's preview. */
export function previewNonce(id: string): string {
  return createHash('sha256').update(id).digest().subarray(0, 16).toString('base64url');
}

/** Previews: messages that grow while a turn writes its answer, which then replaces them by an edit. */
export class PreviewStore extends JournalStore {
  /** The platform id of a turn's preview, also of one that an earlier process sent; undefined: none was sent. */
  platformId(turnId: string): string | undefined {
    const row = this.journal.db.get(
      `SELECT platform_id FROM outbound JOIN parts ON parts.outbound_id = outbound.id
       WHERE ${ITS_PREVIEWS} AND outbound.state = 'streaming' AND platform_id IS NOT NULL`,
      turnId,
    );
    return row?.text('platform_id');
  }

  /** Whether something that was said before waits to be sent to the chat: a preview would stand above it. */
  isBehind({ channel, chatId }: PreviewPlace): boolean {
    const waiting = this.journal.db.get(
      `SELECT 1 FROM outbound WHERE state IN ('pending', 'sending', 'uncertain') AND channel = ? AND chat = ? LIMIT 1`,
      channel,
      chatId,
    );
    return waiting !== undefined;
  }

  /** Marks a preview as being sent and returns its id. Undefined: the turn has one already, or one failed. */
  begin(turnId: string, place: PreviewPlace): Promise<string | undefined> {
    const { db, clock } = this.journal;
    return db.write(() => {
      const earlier = db.all(`SELECT state FROM outbound WHERE ${ITS_PREVIEWS}`, turnId);
      if (earlier.some((row) => row.text('state') !== 'delivered')) return undefined;
      const id = earlier.length === 0 ? idOf(turnId) : `${idOf(turnId)}:${earlier.length}`;
      const message: OutboundMessage = { id, ...place, kind: 'part', text: '', media: [], turnId, metadata: {} };
      db.run(
        `INSERT INTO outbound (id, turn_id, channel, chat, kind, payload, state, created_at, updated_at)
         VALUES (?, ?, ?, ?, 'part', ?, 'streaming', ?, ?)`,
        id,
        turnId,
        place.channel,
        place.chatId,
        JSON.stringify(message),
        clock.now(),
        clock.now(),
      );
      db.run(
        "INSERT INTO parts (outbound_id, n, text, state, nonce) VALUES (?, 0, '', 'sending', ?)",
        id,
        previewNonce(id),
      );
      return id;
    });
  }

  sent(id: string, platformId: string): Promise<void> {
    const { db } = this.journal;
    return db.write(() => {
      db.run("UPDATE parts SET state = 'delivered', platform_id = ? WHERE outbound_id = ?", platformId, id);
    });
  }

  /** Marks a preview that certainly did not arrive. */
  failed(id: string, reason: string): Promise<void> {
    const { db, clock } = this.journal;
    return db.write(() => {
      db.run(
        "UPDATE outbound SET state = 'dead', reason = ?, updated_at = ? WHERE id = ? AND state = 'streaming'",
        reason,
        clock.now(),
        id,
      );
    });
  }

  /** Whether the turn sent another message below its preview: with a tool, or a question. */
  isOvertaken(turnId: string): boolean {
    const found = this.journal.db.get(
      `SELECT 1 FROM outbound AS said JOIN outbound AS preview ON preview.channel = said.channel AND preview.chat = said.chat
       WHERE said.id > ? || '.' AND said.id < ? || '/' AND said.seq > preview.seq AND preview.state = 'streaming'
         AND preview.turn_id = ?`,
      turnId,
      turnId,
      turnId,
    );
    return found !== undefined;
  }

  /** Makes the turn's preview final with this text; the next text gets a preview of its own. */
  seal(turnId: string, text: string): Promise<void> {
    const { db, clock } = this.journal;
    return db.write(() => {
      db.run(
        `UPDATE outbound SET state = 'delivered', reason = '${SEALED}', payload = json_set(payload, '$.text', ?), updated_at = ?
         WHERE ${ITS_PREVIEWS} AND state = 'streaming'`,
        text,
        clock.now(),
        turnId,
      );
    });
  }
}

/**
 * Makes, within the transaction that closes a turn, its replies replace its previews by edits. A sealed preview is replaced
 * by the reply with the same text, the last preview by the first of the other replies; without such a reply it stays. If it
 * is uncertain whether a preview arrived, its reply is uncertain too. A reply that is not rendered yet replaces its preview
 * later, see `takeRendered`.
 */
export function takePreviews(journal: JournalDatabase, turnId: string, replies: readonly OutboundMessage[]): void {
  const { db, clock } = journal;
  const rows = db.all(
    `${PREVIEW_PARTS} WHERE ${ITS_PREVIEWS} AND (outbound.state = 'streaming' OR reason = '${SEALED}') ORDER BY seq`,
    turnId,
  );
  const free = new Set(replies);
  for (const row of rows) {
    const shown = parseOutbound(row.text('payload'));
    const isSealed = row.text('state') !== 'streaming';
    const taker = [...free].find(
      ({ channel, chatId, text }) =>
        channel === shown.channel && chatId === shown.chatId && (!isSealed || text.trim() === shown.text.trim()),
    );
    if (taker === undefined) {
      if (!isSealed) endPreview(journal, shown.id);
      continue;
    }
    free.delete(taker);
    if (takePlace(journal, row, taker.id)) endPreview(journal, shown.id);
    else
      db.run('UPDATE outbound SET reason = ?, updated_at = ? WHERE id = ?', waitsFor(taker.id), clock.now(), shown.id);
  }
}

/** Makes a message replace its preview, within the transaction that stores its parts, if its turn was closed before that. */
export function takeRendered(journal: JournalDatabase, id: string): void {
  const turnId = journal.db.get('SELECT turn_id FROM outbound WHERE id = ?', id)?.textOrNull('turn_id');
  if (turnId == null) return;
  const rows = journal.db.all(`${PREVIEW_PARTS} WHERE ${ITS_PREVIEWS} AND reason = ?`, turnId, waitsFor(id));
  for (const row of rows) if (takePlace(journal, row, id)) endPreview(journal, row.text('id'));
}

/** `reason` of a preview whose turn is closed and that the message `id` replaces when it is rendered. */
const waitsFor = (id: string): string => `preview of ${id}`;

const PREVIEW_PARTS = `SELECT outbound.id, outbound.state, payload, platform_id, nonce
  FROM outbound JOIN parts ON parts.outbound_id = outbound.id`;

function endPreview({ db, clock }: JournalDatabase, id: string): void {
  db.run("UPDATE outbound SET state = 'delivered', reason = 'preview', updated_at = ? WHERE id = ?", clock.now(), id);
}

/** Makes the first part of a message replace a preview. False: the message has no parts yet. */
function takePlace({ db }: JournalDatabase, preview: Row, id: string): boolean {
  if (db.get('SELECT state FROM parts WHERE outbound_id = ? AND n = 0', id) === undefined) return false;
  const platformId = preview.textOrNull('platform_id');
  if (platformId !== null) db.run('UPDATE parts SET platform_id = ? WHERE outbound_id = ? AND n = 0', platformId, id);
  else {
    // If the preview arrived, the platform knows it by the preview's nonce.
    const nonce = preview.text('nonce');
    db.run("UPDATE parts SET state = 'uncertain', nonce = ? WHERE outbound_id = ? AND n = 0", nonce, id);
  }
  return true;
}
