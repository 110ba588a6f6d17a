import type { LedgerPorts } from './rows.ts';

/** What people chose for one conversation by command; kept until they take it back. */
export class SessionSettings {
  readonly #ports: LedgerPorts;

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
  }

  /** The `provider/model` that was chosen; null: the standard one. */
  model(session: string): string | null {
    const row = this.#ports.db.get('SELECT model FROM session_models WHERE session = ?', session);
    return row?.text('model') ?? null;
  }

  setModel(session: string, model: string | null): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      if (model === null) db.run('DELETE FROM session_models WHERE session = ?', session);
      else db.run('INSERT OR REPLACE INTO session_models VALUES (?, ?, ?)', session, model, clock.now());
    });
  }
}
