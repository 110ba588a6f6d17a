import type { Cursor } from '../bus/messages.ts';
import type { JournalPorts } from './rows.ts';

/** Places of one channel; what was heard longest ago is forgotten. */
const MOST_CURSORS = 5_000;

/** How far each place of a platform without acknowledgements was read. */
export class CursorStore {
  readonly #ports: JournalPorts;

  constructor(ports: JournalPorts) {
    this.#ports = ports;
  }

  /** Of one channel, by place, the latest moved last. */
  of(channel: string): ReadonlyMap<string, string> {
    const rows = this.#ports.db.all(
      'SELECT place, last FROM cursors WHERE channel = ? ORDER BY updated_at, place',
      channel,
    );
    return new Map(rows.map((row) => [row.text('place'), row.text('last')]));
  }
}

/** Part of a transaction of the caller's. */
export function moveCursors({ db, clock }: JournalPorts, cursors: readonly Cursor[]): void {
  for (const { channel, place, last } of cursors) {
    db.run(
      `INSERT INTO cursors (channel, place, last, updated_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (channel, place) DO UPDATE SET last = excluded.last, updated_at = excluded.updated_at`,
      channel,
      place,
      last,
      clock.now(),
    );
  }
  for (const channel of new Set(cursors.map((cursor) => cursor.channel))) {
    const count = db.get('SELECT count(*) AS n FROM cursors WHERE channel = ?', channel)?.number('n') ?? 0;
    if (count <= MOST_CURSORS) continue;
    db.run(
      `DELETE FROM cursors WHERE channel = ? AND place IN
         (SELECT place FROM cursors WHERE channel = ? ORDER BY updated_at LIMIT ?)`,
      channel,
      channel,
      count - MOST_CURSORS,
    );
  }
}
