import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type CommitWatermark, LAZY_MS, type WatermarkListeners } from '../../core/storage/commit-sync.ts';
import type { Clock } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import type { HomeWriter } from './home-writer.ts';
import { CACHE_STATE } from './journal-cache.ts';
import { JournalChanges } from './journal-changes.ts';
import { journalTables } from './journal-tables.ts';
import type { Lease } from './lease.ts';
import { schemaStatement } from './statements.ts';

export interface StoredCommitsOptions extends WatermarkListeners {
  readonly writer: HomeWriter;
  readonly lease: Lease;
  readonly clock: Clock;
  /** Steps of the journal's schema, and how many a program has to know to use it. */
  readonly schema: number;
  readonly oldestReader: number;
  /** PostgreSQL does not have what the file has: all of it is written. */
  readonly isBehind: boolean;
  /** The file has to be whole after a power loss. Otherwise it is synced only when its commits fail. */
  readonly isSynced: boolean;
}

/**
 * Makes the commits of a journal durable in PostgreSQL instead of on the disk. The file notes in each commit which one it is,
 * so that it is known at the next start whether it stands exactly where PostgreSQL does.
 */
export class StoredCommits implements CommitWatermark {
  readonly #options: StoredCommitsOptions;
  readonly #changes: JournalChanges;
  readonly #note: StatementSync;
  /** Closing the file would wait for the disk, on the event loop of all homes of the process. */
  readonly #unsync: () => void;
  #committed = 0;
  #durable = 0;
  #later: Disposable | undefined;
  #failure: AppError | undefined;

  /** `db`: the open journal. */
  constructor(db: DatabaseSync, options: StoredCommitsOptions) {
    this.#options = options;
    const { writer, lease, schema, oldestReader, isBehind } = options;
    db.exec(CACHE_STATE);
    this.#note = db.prepare('REPLACE INTO cache_state VALUES (1, ?, ?)');
    this.#note.run(lease.epoch, 0);
    this.#unsync = () => db.exec('PRAGMA synchronous = OFF');
    this.#changes = new JournalChanges(db, journalTables(db));
    writer.attach(this.#source());
    if (isBehind) {
      this.#changes.all();
      writer.also(schemaStatement(lease.name, schema, oldestReader)).catch(() => {});
    }
    const onLost = (): void => this.#fail(lease.lost.reason);
    if (lease.lost.aborted) onLost();
    else lease.lost.addEventListener('abort', onLost, { once: true });
  }

  get failure(): AppError | undefined {
    return this.#failure;
  }

  committing(): void {
    this.#note.run(this.#options.lease.epoch, this.#committed + 1);
  }

  committed(): number {
    this.#committed += 1;
    this.#later ??= this.#options.clock.timer(LAZY_MS, () => void this.#write().catch(() => {}));
    return this.#committed;
  }

  async durable(commit: number): Promise<void> {
    if (commit <= this.#durable) return;
    if (this.#failure !== undefined) throw this.#failure;
    await this.#write();
  }

  settled(): Promise<void> {
    return this.durable(this.#committed);
  }

  /** Takes what is left of the open file; `HomeWriter.close` writes it. */
  close(): void {
    this.#later?.[Symbol.dispose]();
    if (!this.#options.isSynced && this.#failure === undefined) this.#unsync();
    const changes = this.#changes.take();
    const sequences = this.#changes.sequences();
    let left = changes;
    this.#options.writer.attach({
      commits: this.#committed,
      sequences: () => sequences,
      take: () => {
        const taken = left;
        left = [];
        return taken;
      },
    });
  }

  #source(): Parameters<HomeWriter['attach']>[0] {
    const committed = (): number => this.#committed;
    return {
      get commits() {
        return committed();
      },
      take: () => this.#changes.take(),
      sequences: () => this.#changes.sequences(),
    };
  }

  async #write(): Promise<void> {
    this.#later?.[Symbol.dispose]();
    this.#later = undefined;
    const { writer, onDurable } = this.#options;
    await writer.written();
    if (writer.writtenCommits <= this.#durable) return;
    this.#durable = writer.writtenCommits;
    onDurable(this.#durable);
  }

  #fail(reason: unknown): void {
    this.#later?.[Symbol.dispose]();
    this.#failure = reason instanceof AppError ? reason : new AppError('home-lost', 'The home was lost.');
    if (this.#failure.code !== 'home-released') this.#options.onFailure(this.#failure);
  }
}
