import type { Row } from '../storage/database.ts';
import type { ModelFact } from '../util/model-fact.ts';
import { JournalStore } from './rows.ts';

/** Facts of this age are forgotten: to learn one again costs a refused request. */
const KEPT_MS = 90 * 86_400_000;

/** SQL: all facts, oldest first. */
export const MODEL_FACTS = 'SELECT model, name, value, learned_at FROM model_facts ORDER BY learned_at';

/** What the servers of models have refused or said of themselves (table `model_facts`). */
export class ModelFacts extends JournalStore {
  /** Oldest first. */
  all(): readonly ModelFact[] {
    return this.journal.db.all(MODEL_FACTS).map(modelFactOf);
  }

  /** Replaces the fact of this name, and removes old ones. */
  keep({ model, name, value, at }: ModelFact): Promise<void> {
    const { db } = this.journal;
    return db.write(() => {
      db.run('INSERT OR REPLACE INTO model_facts VALUES (?, ?, ?, ?)', model, name, value, at);
      db.run('DELETE FROM model_facts WHERE learned_at < ?', at - KEPT_MS);
    });
  }

  forget(model: string): Promise<void> {
    const { db } = this.journal;
    return db.write(() => void db.run('DELETE FROM model_facts WHERE model = ?', model));
  }
}

/** A row of `MODEL_FACTS`. */
export function modelFactOf(row: Row): ModelFact {
  return { model: row.text('model'), name: row.text('name'), value: row.text('value'), at: row.number('learned_at') };
}
