import { Database } from '../storage/database.ts';
import { openDatabase } from '../storage/open-database.ts';
import type { AppError } from '../util/errors.ts';
import type { Clock } from '../util/clock.ts';
import { systemRandom, type Random } from '../util/random.ts';
import { Allowances } from './allowances.ts';
import { Consolidations } from './consolidations.ts';
import type { Interpreter } from './answers.ts';
import { CronRuns } from './cron-runs.ts';
import { CursorStore } from './cursors.ts';
import { Heartbeats } from './heartbeats.ts';
import { DeadLetters } from './dead-letters.ts';
import { Inbox } from './inbox.ts';
import { Outbox } from './outbox.ts';
import { PreviewStore } from './previews.ts';
import { Pairing } from './pairing.ts';
import { People } from './people.ts';
import { bootId, closedInOrder, lossRecovered, noteUnconfirmed, openedAfterPowerLoss } from './power-loss.ts';
import { QuestionStore } from './questions.ts';
import { Retention } from './retention.ts';
import { journalMigrations } from './schema.ts';
import { Starts } from './starts.ts';
import { Subagents } from './subagents.ts';
import { Turns } from './turns.ts';
import { UsageStore } from './usage.ts';
import type { JournalPorts } from './rows.ts';

/** The database of what crosses the borders of a turn: one SQLite file, one owner process. */
export interface Journal extends Disposable {
  readonly inbox: Inbox;
  readonly turns: Turns;
  readonly outbox: Outbox;
  readonly usage: UsageStore;
  readonly settings: SessionSettings;
  readonly deadLetters: DeadLetters;
  readonly previews: PreviewStore;
  readonly questions: QuestionStore;
  /** What an owner allowed for good. */
  readonly allowances: Allowances;
  readonly consolidations: Consolidations;
  readonly cron: CronRuns;
  readonly heartbeats: Heartbeats;
  /** How far platforms without acknowledgements were read. */
  readonly cursors: CursorStore;
  readonly subagents: Subagents;
  readonly people: People;
  readonly pairing: Pairing;
  /** What of all this is kept how long. */
  readonly retention: Retention;
  /** The greatest id of a turn, message or archive; empty when there is none. */
  readonly newestId: string;
  /** An earlier process may have lost what it wrote last, see `openedAfterPowerLoss`. */
  readonly mayHaveLost: boolean;
  /** This start and those before it that ended badly. */
  readonly starts: Starts;
  /** The process broke down: what it can still close is closed, but the next start knows that it was not in order. */
  brokeDown(): void;
  /** Everything that was lost and is on session files is taken up; the next process need not look again. */
  lossRecovered(): Promise<void>;
}

export interface JournalOptions {
  readonly path: string;
  readonly backupPath: ((fromVersion: number) => string) | null;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Reads answers to questions out of messages. @default nothing is an answer */
  readonly interpret?: Interpreter;
  /** The disk did not confirm a write: nothing is accepted any more until the process starts anew. */
  readonly onSyncFailure?: (error: AppError) => void;
  /** Told why the log of the journal could not be moved into its file. */
  readonly onCheckpointFailure?: (reason: string) => void;
  /** Called with each failure of a write, so that the state of the disk is known at the first that it refuses. */
  readonly onWriteFailure?: (error: unknown) => void;
  /** The machine's run, null: not known. @default what the system says */
  readonly boot?: string | null;
  /** For pairing codes. @default the system's */
  readonly random?: Random;
}

export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { path, backupPath, onSyncFailure, onCheckpointFailure, onWriteFailure } = options;
  const opened = await openDatabase({ path, migrations: journalMigrations, backupPath });
  const db = new Database(opened, {
    path,
    clock: options.clock,
    onSyncFailure: (error) => {
      noteUnconfirmed(path);
      onSyncFailure?.(error);
    },
    onWriteFailure,
    ...(onCheckpointFailure === undefined ? {} : { onCheckpointFailure }),
  });
  const starts = await Starts.open(db, options.clock);
  const boot = options.boot === undefined ? bootId() : options.boot;
  const mayHaveLost = await openedAfterPowerLoss(db, { path, boot });
  const shared = { db, clock: options.clock, newId: options.newId };
  const outbox = new Outbox(shared);
  const people = new People(shared);
  const inbox = new Inbox({ ...shared, outbox, interpret: options.interpret ?? (() => null) });
  let isBroken = false;
  return {
    outbox,
    inbox,
    turns: new Turns({ ...shared, outbox, inbox }),
    usage: new UsageStore(shared),
    settings: new SessionSettings(shared),
    deadLetters: new DeadLetters(shared),
    previews: new PreviewStore(shared),
    questions: new QuestionStore({ ...shared, outbox }),
    allowances: new Allowances(shared),
    consolidations: new Consolidations(shared),
    cron: new CronRuns({ ...shared, inbox, outbox }),
    heartbeats: new Heartbeats({ ...shared, inbox }),
    cursors: new CursorStore(shared),
    subagents: new Subagents({ ...shared, inbox }),
    people,
    pairing: new Pairing({ ...shared, outbox, people, random: options.random ?? systemRandom }),
    retention: new Retention(shared),
    newestId: newestId(db),
    mayHaveLost,
    starts,
    lossRecovered: () => lossRecovered(db),
    brokeDown: () => {
      isBroken = true;
    },
    [Symbol.dispose]: () => db.close(isBroken ? undefined : () => closedInOrder(db)),
  };
}

function newestId(db: Database): string {
  const newest = (sql: string): string => db.get(sql)?.textOrNull('id') ?? '';
  const ids = [
    newest('SELECT max(id) AS id FROM turns'),
    newest('SELECT max(id) AS id FROM archives'),
    newest('SELECT id FROM inbound ORDER BY seq DESC LIMIT 1'),
  ];
  return ids.reduce((a, b) => (a > b ? a : b));
}

/** What people chose for one conversation by command; kept until they take it back. */
class SessionSettings {
  readonly #ports: JournalPorts;

  constructor(ports: JournalPorts) {
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
