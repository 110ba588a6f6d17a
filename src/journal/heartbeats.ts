import type { LedgerPorts } from './rows.ts';

/** One look at the open tasks by a model. */
export interface Heartbeat {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly action: 'skip' | 'run' | 'failed';
  readonly reason: string;
}

const KEPT_MS = 90 * 86_400_000;

/** When a model was asked about open tasks, and what it wanted. */
export class Heartbeats {
  readonly #ports: LedgerPorts;

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
  }

  /** The newest; undefined when there was none. */
  last(): Heartbeat | undefined {
    const [row] = this.#ports.db.all('SELECT at, action, reason FROM heartbeat ORDER BY at DESC LIMIT 1');
    if (row === undefined) return undefined;
    const action = row.text('action');
    return {
      at: row.number('at'),
      action: action === 'run' || action === 'skip' ? action : 'failed',
      reason: row.text('reason'),
    };
  }

  /** What is older than 90 days goes. */
  record({ at, action, reason }: Heartbeat): Promise<void> {
    const { db } = this.#ports;
    return db.write(() => {
      db.run('INSERT OR REPLACE INTO heartbeat (at, action, reason) VALUES (?, ?, ?)', at, action, reason);
      db.run('DELETE FROM heartbeat WHERE at < ?', at - KEPT_MS);
    });
  }
}
