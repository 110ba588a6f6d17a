import { createHash } from 'node:crypto';
import type { OutboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { parseOutbound, type JournalPorts } from './rows.ts';

/** Where an answer is shown while it is written. */
export type PreviewPlace = Pick<OutboundMessage, 'channel' | 'chatId' | 'threadId'>;

/** Why a preview is done that shows a text of its own, whole. */
const SEALED = 'sealed';

/** Of a turn's first preview; those after it have a number behind. */
const idOf = (turnId: string): string => `${turnId}:preview`;

/** SQL for the rows of a turn's previews. */
const ITS_PREVIEWS = "turn_id = ? AND (id = turn_id || ':preview' OR id LIKE turn_id || ':preview:%')";

/** 22 characters, the same for each attempt at a turn's preview. */
export function previewNonce(id: string): string {
  return createHash('sha256').update(id).digest().subarray(0, 16).toString('base64url');
}

/** Messages that grow while a turn writes its answer; the answer takes their place. */
export class PreviewStore {
  readonly #ports: JournalPorts;

  constructor(ports: JournalPorts) {
    this.#ports = ports;
  }

  /** The platform id of a turn's preview, as an earlier process left it; undefined: none was sent. */
  platformId(turnId: string): string | undefined {
    const row = this.#ports.db.get(
      `SELECT platform_id FROM outbound JOIN parts ON parts.outbound_id = outbound.id
       WHERE ${ITS_PREVIEWS} AND outbound.state = 'streaming' AND platform_id IS NOT NULL`,
      turnId,
    );
    return row?.text('platform_id');
  }

  /** Commits that the bytes of a preview are about to leave; its id. Undefined: there is one already, or one failed. */
  begin(turnId: string, place: PreviewPlace): Promise<string | undefined> {
    const { db, clock } = this.#ports;
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
    const { db } = this.#ports;
    return db.write(() => {
      db.run("UPDATE parts SET state = 'delivered', platform_id = ? WHERE outbound_id = ?", platformId, id);
    });
  }

  /** It certainly did not arrive. */
  failed(id: string, reason: string): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        "UPDATE outbound SET state = 'dead', reason = ?, updated_at = ? WHERE id = ? AND state = 'streaming'",
        reason,
        clock.now(),
        id,
      );
    });
  }

  /** The turn has said something else below its preview since: with a tool, or by asking. */
  isOvertaken(turnId: string): boolean {
    const found = this.#ports.db.get(
      `SELECT 1 FROM outbound AS said JOIN outbound AS preview ON preview.channel = said.channel AND preview.chat = said.chat
       WHERE said.id > ? || '.' AND said.id < ? || '/' AND said.seq > preview.seq AND preview.state = 'streaming'
         AND preview.turn_id = ?`,
      turnId,
      turnId,
      turnId,
    );
    return found !== undefined;
  }

  /** The turn's preview stays as it is, with this text; what comes next is shown in one of its own. */
  seal(turnId: string, text: string): Promise<void> {
    const { db, clock } = this.#ports;
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
 * Part of the transaction that closes a turn: what it says takes the place of what showed it while it was written, by an
 * edit. A sealed preview is taken by the text that it shows, the last one by what is said first beside that; where nothing
 * is to be said it stays as it is. A preview that may have arrived makes the message one that may have too. A reply that
 * is not rendered yet takes its place later, see `takeRendered`.
 */
export function takePreviews(ports: JournalPorts, turnId: string, replies: readonly OutboundMessage[]): void {
  const { db, clock } = ports;
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
      if (!isSealed) endPreview(ports, shown.id);
      continue;
    }
    free.delete(taker);
    if (takePlace(ports, row, taker.id)) endPreview(ports, shown.id);
    else
      db.run('UPDATE outbound SET reason = ?, updated_at = ? WHERE id = ?', waitsFor(taker.id), clock.now(), shown.id);
  }
}

/** Part of the transaction that writes the parts of a message down: if its turn was closed before, it takes its preview's place now. */
export function takeRendered(ports: JournalPorts, id: string): void {
  const turnId = ports.db.get('SELECT turn_id FROM outbound WHERE id = ?', id)?.textOrNull('turn_id');
  if (turnId == null) return;
  const rows = ports.db.all(`${PREVIEW_PARTS} WHERE ${ITS_PREVIEWS} AND reason = ?`, turnId, waitsFor(id));
  for (const row of rows) if (takePlace(ports, row, id)) endPreview(ports, row.text('id'));
}

/** Why a preview is kept whose turn is closed: this message takes its place as soon as it is rendered. */
const waitsFor = (id: string): string => `preview of ${id}`;

const PREVIEW_PARTS = `SELECT outbound.id, outbound.state, payload, platform_id, nonce
  FROM outbound JOIN parts ON parts.outbound_id = outbound.id`;

function endPreview({ db, clock }: JournalPorts, id: string): void {
  db.run("UPDATE outbound SET state = 'delivered', reason = 'preview', updated_at = ? WHERE id = ?", clock.now(), id);
}

/** False while the message has no parts. */
function takePlace({ db }: JournalPorts, preview: Row, id: string): boolean {
  if (db.get('SELECT state FROM parts WHERE outbound_id = ? AND n = 0', id) === undefined) return false;
  const platformId = preview.textOrNull('platform_id');
  if (platformId !== null) db.run('UPDATE parts SET platform_id = ? WHERE outbound_id = ? AND n = 0', platformId, id);
  else {
    // It is known to the platform by the preview's nonce, if it is there.
    const nonce = preview.text('nonce');
    db.run("UPDATE parts SET state = 'uncertain', nonce = ? WHERE outbound_id = ? AND n = 0", nonce, id);
  }
  return true;
}
