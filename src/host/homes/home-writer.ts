import { LAZY_MS } from '../../core/storage/commit-sync.ts';
import { backoffMs } from '../../core/util/backoff.ts';
import { type Clock, sleep } from '../../core/util/clock.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import type { Logger } from '../../core/util/log.ts';
import { othersFirst } from '../../core/util/wake.ts';
import type { Lease } from './lease.ts';
import type { Postgres } from './postgres.ts';
import { sqlStateOf } from './store-failure.ts';
import { homeRewound } from './stored-home.ts';
import { type QueuedTape, TapeQueue, type Waiting } from './tape-queue.ts';
import type { FileChanges, FileSource, Group, JournalSource, Rest } from './write-group.ts';
import {
  bytesIn,
  extension,
  fence,
  FENCE_FELL,
  joinedAppends,
  journalStatements,
  type Statement,
  type TapeChange,
  tapeStatements,
} from './statements.ts';

export interface HomeWriterOptions {
  readonly postgres: Postgres;
  readonly lease: Lease;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when an outage is noticed, and when it is over. */
  readonly onTrouble?: (error: AppError) => void;
  readonly onHealed?: () => void;
  /** Called when PostgreSQL lost transactions that it had committed, before the lease ends. */
  readonly onRewound?: () => Promise<void>;
}

const RETRY = { firstMs: 100, maxMs: 3_000 };
/** After this many failures in a row, about a second, it is an outage and no broken connection. */
const TROUBLE_AFTER = 5;
/** A transaction with more may take long. */
const LONG_BYTES = 256 * 1024;
/** The system takes this many bytes in one piece, so a gateway that freezes has sent a whole transaction or none of it. */
const SHORT_BYTES = 32 * 1024;

/** What was written so far, for `status` and measurements. */
export interface WriterCounts {
  transactions: number;
  statements: number;
  /** Of values, without what the protocol adds. */
  bytes: number;
}

/** What PostgreSQL does not have yet. */
export interface WriterBehind {
  /** Commits of the journal. */
  readonly commits: number;
  /** Since when something waits to be written, at the latest; milliseconds since 1970. Null: nothing does. */
  readonly since: number | null;
}

/**
 * Writes one home through to PostgreSQL: changed rows of the journal, appends to tapes and the list of files, in one
 * transaction after the other, each of which takes all that came since the last. A transaction that failed is repeated as it
 * was, for as long as it takes; only another owner of the home ends that.
 */
export class HomeWriter {
  readonly counts: WriterCounts = { transactions: 0, statements: 0, bytes: 0 };
  readonly #options: HomeWriterOptions;
  #journal: JournalSource | undefined;
  #files: FileSource | undefined;
  #revision: number;
  readonly #tapes = new TapeQueue();
  #waiting: Waiting[] = [];
  #extra: Statement[] = [];
  #commits = 0;
  #since: number | null = null;
  #takenAt = 0;
  #running: Promise<void> | undefined;
  #later: Disposable | undefined;
  #isTroubled = false;
  #closing = false;

  constructor(options: HomeWriterOptions) {
    this.#options = options;
    this.#revision = options.lease.claimed.revision;
  }

  /** The journal whose changes belong into each transaction from now on. */
  attach(journal: JournalSource): void {
    this.#journal = journal;
  }

  /** The files whose changes belong into each transaction from now on. */
  keep(files: FileSource): void {
    this.#files = files;
  }

  /** Up to which commit of the journal PostgreSQL is. */
  get writtenCommits(): number {
    return this.#commits;
  }

  get behind(): WriterBehind {
    const commits = Math.max(0, (this.#journal?.commits ?? 0) - this.#commits);
    // A commit that nobody waits for is handed over a moment after it was made.
    return { commits, since: this.#since ?? (commits > 0 ? this.#options.clock.now() : null) };
  }

  /**
   * Resolves when all that was committed, appended or changed before the call is in PostgreSQL; waits for as long as that cannot
   * be reached. Rejects with `home-lost` or `home-released`.
   */
  written(): Promise<void> {
    const settled = Promise.withResolvers<void>();
    this.#waiting.push({ settled });
    this.#run();
    return settled.promise;
  }

  /** Like `written`, without a transaction when nothing changed. */
  look(): Promise<void> {
    const settled = Promise.withResolvers<void>();
    this.#waiting.push({ settled, isLook: true });
    this.#run();
    return settled.promise;
  }

  /** Like `written`, for one change of a tape. A change that did not begin to be sent is taken back when `signal` aborts. */
  change(change: TapeChange, signal?: AbortSignal): Promise<void> {
    const item = this.#tapes.add(change);
    signal?.addEventListener(
      'abort',
      () => {
        this.#tapes.remove(item);
        item.settled.reject(signal.reason);
      },
      { once: true },
    );
    this.#run();
    return item.settled.promise;
  }

  /** A change of a tape that goes with the next transaction, of which there is one within `LAZY_MS`. */
  changeLater(change: TapeChange): void {
    this.#tapes.add(change, true).settled.promise.catch(() => {});
    this.#since ??= this.#options.clock.now();
    this.#later ??= this.#options.clock.timer(LAZY_MS, () => void this.written().catch(() => {}));
  }

  /** Like `written`, with statements of its own at the end of the transaction. */
  also(...statements: readonly Statement[]): Promise<void> {
    this.#extra.push(...statements);
    return this.written();
  }

  /** Writes what is left, for at most `withinMs`. Nothing may be handed over afterwards. */
  async close(withinMs: number): Promise<void> {
    const { clock, lease, log } = this.#options;
    const last = this.written();
    const limit = new AbortController();
    using _limit = clock.timer(withinMs, () => limit.abort(new Error(`not written within ${withinMs} ms`)));
    const late = new Promise<never>((_, reject) =>
      limit.signal.addEventListener('abort', () => reject(limit.signal.reason), { once: true }),
    );
    try {
      await Promise.race([last, late]);
    } catch (error) {
      log.warn('homes: the end of a home was not written', { home: lease.name, reason: errorMessage(error) });
    }
    last.catch(() => {});
    this.#closing = true;
    this.#noLater();
    await Promise.race([this.#running, late]).catch(() => {});
  }

  #noLater(): void {
    this.#later?.[Symbol.dispose]();
    this.#later = undefined;
  }

  get #isAsked(): boolean {
    return this.#waiting.length > 0 || this.#tapes.isAsked;
  }

  #run(): void {
    this.#since ??= this.#options.clock.now();
    this.#running ??= this.#work();
  }

  async #work(): Promise<void> {
    // What is handed over in one round of the event loop shares a transaction.
    await othersFirst();
    let group: Group | undefined;
    try {
      while (this.#isAsked) {
        this.#options.lease.lost.throwIfAborted();
        group = await this.#next();
        if (!this.#isEmpty(group)) {
          await this.#send(group);
          this.#revision = group.revision;
          this.#commits = group.commits;
        }
        this.#since = !this.#tapes.isEmpty || this.#waiting.length > 0 ? this.#takenAt : null;
        for (const { settled } of group.waiting) settled.resolve();
        group = undefined;
      }
    } catch (error) {
      this.#fail(error, group?.waiting ?? []);
    } finally {
      // At once: what is handed over from now on begins the next round.
      this.#running = undefined;
    }
  }

  /** Rows and appends are taken at one moment, after the files that they may name. */
  async #next(): Promise<Group> {
    const { lease, clock } = this.#options;
    const place = { home: lease.name, revision: this.#revision + 1 };
    const files: FileChanges[] = [];
    while (this.#files?.any === true) files.push(await this.#patiently(this.#files));
    this.#takenAt = clock.now();
    this.#noLater();
    const tapes = this.#tapes.take();
    const { changes, commits, extra, waiting } = this.#takeRest(tapes);
    const { epoch, leaseMs } = lease;
    const sequences = this.#journal?.sequences() ?? {};
    const statements = [
      fence({ ...place, epoch, leaseMs, commits, sequences }),
      ...files.flatMap((one) => one.statements(place)),
      ...joinedAppends(tapes.map(({ change }) => change)).flatMap((change) => tapeStatements(place, change)),
      ...changes.flatMap((change) => journalStatements(place, change)),
      ...extra,
    ];
    const bytes = bytesIn(statements);
    if (bytes > LONG_BYTES) statements.push(extension({ ...place, leaseMs }));
    const isEmpty =
      waiting.every(({ isLook }) => isLook === true) &&
      files.every((one) => one.isEmpty) &&
      changes.length + extra.length === 0 &&
      commits === this.#commits;
    return { revision: place.revision, commits, isEmpty, isShort: bytes <= SHORT_BYTES, waiting, statements };
  }

  /** Nothing but the fence: all files were looked through, and none had changed. */
  #isEmpty({ commits, statements }: Group): boolean {
    return commits === this.#commits && statements.length === 1;
  }

  /** What goes with these changes of tapes. A commit of the journal may close what a tape has before it, so it waits for all of them. */
  #takeRest(tapes: readonly QueuedTape[]): Rest {
    if (!this.#tapes.isEmpty) return { changes: [], commits: this.#commits, extra: [], waiting: tapes };
    const waiting = [...tapes, ...this.#waiting];
    this.#waiting = [];
    const extra = this.#extra;
    this.#extra = [];
    return { changes: this.#journal?.take() ?? [], commits: this.#journal?.commits ?? 0, extra, waiting };
  }

  #patiently(files: FileSource): Promise<FileChanges> {
    return this.#repeated(() => files.take());
  }

  async #send(group: Group): Promise<void> {
    const { postgres, lease, clock } = this.#options;
    await this.#repeated(async () => {
      const asked = { monotonic: clock.monotonic(), wall: clock.now() };
      try {
        if (group.isShort) await postgres.write(group.statements);
        else await postgres.transaction(group.statements);
        lease.extended(asked);
      } catch (error) {
        if (sqlStateOf(error) !== FENCE_FELL || !(await this.#isWritten(group))) throw error;
      }
    });
    lease.load.worked();
    this.counts.transactions += 1;
    this.counts.statements += group.statements.length;
    this.counts.bytes += bytesIn(group.statements);
  }

  /**
   * Why the fence fell. True: the transaction was committed, but the answer did not arrive. Throws when it is to be repeated. It
   * asks by a write: a primary that crashed shows what its standby may not have, and a commit waits until the standby has all.
   */
  async #isWritten({ revision }: Group): Promise<boolean> {
    const { postgres, lease, onRewound } = this.#options;
    const [row] = await postgres.query(
      'UPDATE assistant.homes SET revision = revision WHERE name = $1 AND epoch = $2 RETURNING revision',
      [lease.name, lease.epoch],
    );
    if (row === undefined) {
      lease.refused();
      return false;
    }
    if (Number(row['revision']) === revision) return true;
    if (Number(row['revision']) !== revision - 1) {
      await onRewound?.();
      lease.refused(homeRewound(lease.name));
      return false;
    }
    // No one took the home meanwhile.
    await lease.renew();
    return false;
  }

  /** Repeats what fails because PostgreSQL cannot be reached or refuses. Throws when the home is lost. */
  async #repeated<T>(work: () => Promise<T>): Promise<T> {
    const { lease, clock, log, onTrouble, onHealed } = this.#options;
    let before: string | undefined;
    for (let failures = 0; ;) {
      lease.lost.throwIfAborted();
      try {
        const result = await work();
        if (this.#isTroubled) {
          this.#isTroubled = false;
          log.info('homes: PostgreSQL takes writes again', { home: lease.name });
          onHealed?.();
        }
        return result;
      } catch (error) {
        lease.lost.throwIfAborted();
        if (this.#closing) throw error;
        failures += 1;
        const state = sqlStateOf(error);
        // The fence falls once after an outage that was longer than the lease, which is renewed then.
        const isOver = state === FENCE_FELL && before !== FENCE_FELL;
        before = state;
        if (isOver) continue;
        if (!this.#isTroubled && failures >= TROUBLE_AFTER) {
          this.#isTroubled = true;
          log.error('homes: PostgreSQL takes no writes', { home: lease.name, reason: errorMessage(error) });
          onTrouble?.(storeTrouble(error));
        }
        await sleep(clock, backoffMs(failures, RETRY), lease.lost);
      }
    }
  }

  #fail(error: unknown, sent: readonly Waiting[]): void {
    const all = [...sent, ...this.#tapes.takeAll(), ...this.#waiting];
    this.#waiting = [];
    for (const { settled } of all) settled.reject(error);
  }
}

function storeTrouble(error: unknown): AppError {
  return new AppError('home-store-failed', errorMessage(error));
}
