import { originsOf, type Origins } from '../bus/origins.ts';
import { Database, type DatabaseOptions } from '../storage/database.ts';
import { openDatabase } from '../storage/open-database.ts';
import { bootId } from '../util/boot-id.ts';
import type { AppError } from '../util/errors.ts';
import type { Clock } from '../util/clock.ts';
import { systemRandom, type Random } from '../util/random.ts';
import { Allowances } from './allowances.ts';
import { Around } from './around.ts';
import { ChannelLog } from './channel-log.ts';
import { Consolidations } from './consolidations.ts';
import type { Interpreter } from './answers.ts';
import { CursorStore } from './cursors.ts';
import { EndedLogins } from './ended-logins.ts';
import { Facts } from './facts.ts';
import { FreeChoices } from './free-choices.ts';
import { JournalFeed } from './feed.ts';
import { HomeFileRecords } from './home-files.ts';
import { DeadLetters } from './dead-letters.ts';
import { InboundPlaces } from './inbound-places.ts';
import { Inbox } from './inbox.ts';
import { Landings } from './landings.ts';
import { Lives } from './lives.ts';
import { ModelFacts } from './model-facts.ts';
import { Outbox } from './outbox.ts';
import { PreviewStore } from './previews.ts';
import { PairingCodes } from './pairing.ts';
import { People } from './people.ts';
import { closedInOrder, lossRecovered, noteUnconfirmed, openedAfterPowerLoss } from './power-loss.ts';
import { QuestionStore } from './questions.ts';
import { endWaiting, type EndedByRestore } from './restored.ts';
import { Reactions } from './reactions.ts';
import { Retention } from './retention.ts';
import { journalMigrations } from './schema.ts';
import { ShownReactions } from './shown-reactions.ts';
import { Starts } from './starts.ts';
import { Subagents } from './subagents.ts';
import { CORE_VIEWS, type NamedTables } from './tables.ts';
import { TurnRecords } from './turn-records.ts';
import { Turns } from './turns.ts';
import { UsageStore } from './usage.ts';
import { INBOUND, OUTBOUND, JournalStore, type JournalDatabase } from './rows.ts';

/** The journal: one SQLite file with inbox, turns, outbox and what else crosses the border of a turn. One process has it open. */
export interface Journal extends Disposable {
  /** For the tables of extensions: their statements name these alone, and the views `core_…`. */
  readonly db: Database;
  readonly inbox: Inbox;
  readonly places: InboundPlaces;
  readonly turns: Turns;
  readonly turnRecords: TurnRecords;
  readonly lives: Lives;
  /** Changes of commands that landed in the workspace. */
  readonly landings: Landings;
  readonly around: Around;
  readonly channelLog: ChannelLog;
  readonly outbox: Outbox;
  readonly usage: UsageStore;
  readonly settings: SessionSettings;
  readonly deadLetters: DeadLetters;
  readonly previews: PreviewStore;
  readonly questions: QuestionStore;
  /** Commands that an owner allowed from now on. */
  readonly allowances: Allowances;
  readonly freeChoices: FreeChoices;
  readonly consolidations: Consolidations;
  /** Where the facts of MEMORY.md come from. */
  readonly facts: Facts;
  /** Read cursors of platforms that do not take acknowledgements. */
  readonly feed: JournalFeed;
  readonly cursors: CursorStore;
  readonly homeFiles: HomeFileRecords;
  readonly modelFacts: ModelFacts;
  readonly subagents: Subagents;
  readonly endedLogins: EndedLogins;
  /** What people think of the assistant's messages. */
  readonly reactions: Reactions;
  readonly shownReactions: ShownReactions;
  readonly people: People;
  readonly pairing: PairingCodes;
  /** How many messages came in and were to go out since this home began, those that retention deleted included. */
  messageCounts(): { readonly in: number; readonly out: number };
  /** Deletes old rows. */
  readonly retention: Retention;
  /** The greatest id of a turn, message or consolidation; '' when there is none. */
  readonly newestId: string;
  /** An earlier process may have lost what it wrote last, see `openedAfterPowerLoss`. */
  readonly mayHaveLost: boolean;
  /** This start and the failed ones before it. */
  readonly starts: Starts;
  /** Call it when the process ends because of an error: the journal is closed, but the next start finds it left open. */
  markCrashed(): void;
  /** Ends what waits in a journal that was restored from a backup; null: that was done before. */
  endWaiting(ending: Parameters<typeof endWaiting>[2]): Promise<EndedByRestore | null>;
  /** Resolves when the journal has made a commit durable, which is a sign of life; rejects when it cannot. */
  answers(): Promise<void>;
  /** Call it when recovery has adopted all turns that only the tapes have, so that the next process need not look again. */
  lossRecovered(): Promise<void>;
}

export interface JournalOptions {
  readonly path: string;
  readonly backupPath: ((fromVersion: number) => string) | null;
  readonly clock: Clock;
  readonly newId: () => string;
  /** @default those of the core alone */
  readonly origins?: Origins;
  /** Of extensions. @default none */
  readonly tables?: readonly NamedTables[];
  /** Reads messages as answers to questions. @default no message is an answer */
  readonly interpret?: Interpreter;
  /** Called when the disk did not confirm a write; the journal then accepts nothing until the process starts again. */
  readonly onSyncFailure?: (error: AppError) => void;
  /** Called with the reason when SQLite's write-ahead log could not be checkpointed. */
  readonly onCheckpointFailure?: (reason: string) => void;
  /** Called with the error of each failed write or read, and when the file is found damaged. */
  readonly onFailure?: (error: unknown) => void;
  /** Id of the machine's boot; null: not known. @default read from the kernel */
  readonly boot?: string | null;
  /** @default this one is the first, and not kept */
  readonly starts?: Starts;
  /** For pairing codes. @default the system's */
  readonly random?: Random;
  /** Makes commits durable. @default the disk does */
  readonly watermark?: DatabaseOptions['watermark'];
}

export async function openJournal(options: JournalOptions): Promise<Journal> {
  const {
    path,
    backupPath,
    onSyncFailure,
    onCheckpointFailure,
    onFailure,
    tables = [],
    origins = originsOf([]),
  } = options;
  const opened = await openDatabase({ path, migrations: journalMigrations, parts: tables, backupPath });
  opened.exec(CORE_VIEWS);
  const db = new Database(opened, {
    path,
    clock: options.clock,
    onSyncFailure: (error) => {
      noteUnconfirmed(path);
      onSyncFailure?.(error);
    },
    onFailure,
    watermark: options.watermark,
    ...(onCheckpointFailure === undefined ? {} : { onCheckpointFailure }),
  });
  const boot = options.boot === undefined ? bootId() : options.boot;
  const mayHaveLost = await openedAfterPowerLoss(db, { path, boot });
  const open: JournalDatabase = { origins, db, clock: options.clock, newId: options.newId };
  const outbox = new Outbox(open);
  const people = new People(open);
  const inbox = new Inbox(open, outbox, options.interpret ?? (() => null));
  let isBroken = false;
  return {
    db,
    outbox,
    inbox,
    places: new InboundPlaces(db),
    turns: new Turns(open, outbox, inbox),
    turnRecords: new TurnRecords(open),
    lives: new Lives(open),
    landings: new Landings(open),
    around: new Around(open),
    channelLog: new ChannelLog(open),
    usage: new UsageStore(open),
    settings: new SessionSettings(open),
    deadLetters: new DeadLetters(open),
    previews: new PreviewStore(open),
    questions: new QuestionStore(open, outbox),
    allowances: new Allowances(open),
    freeChoices: new FreeChoices(open),
    consolidations: new Consolidations(open),
    facts: new Facts(open),
    cursors: new CursorStore(open),
    homeFiles: new HomeFileRecords(open),
    modelFacts: new ModelFacts(open),
    feed: new JournalFeed(open),
    subagents: new Subagents(open, inbox),
    endedLogins: new EndedLogins(open),
    reactions: new Reactions(open),
    shownReactions: new ShownReactions(open),
    people,
    pairing: new PairingCodes(open, outbox, people, options.random ?? systemRandom),
    retention: new Retention(open, tables),
    messageCounts: () => messageCounts(db),
    newestId: newestId(db),
    mayHaveLost,
    starts: options.starts ?? new Starts(null, options.clock),
    lossRecovered: () => lossRecovered(db),
    endWaiting: (ending) => endWaiting(open, outbox, ending),
    answers: () => db.write(() => {}),
    markCrashed: () => {
      isBroken = true;
    },
    [Symbol.dispose]: () => {
      db.close(isBroken ? undefined : () => closedInOrder(db));
    },
  };
}

function messageCounts(db: Database): ReturnType<Journal['messageCounts']> {
  const rows = db.all('SELECT name, seq FROM sqlite_sequence');
  const newest = new Map(rows.map((row) => [row.text('name'), row.number('seq')]));
  return { in: newest.get(INBOUND) ?? 0, out: newest.get(OUTBOUND) ?? 0 };
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

/** Settings of one session that people chose by command (/model, /busy). */
class SessionSettings extends JournalStore {
  /** The `provider/model` that was chosen for a session; null: the standard one. */
  model(session: string): string | null {
    const row = this.journal.db.get('SELECT model FROM session_models WHERE session = ?', session);
    return row?.text('model') ?? null;
  }

  setModel(session: string, model: string | null): Promise<void> {
    const { db, clock } = this.journal;
    return db.write(() => {
      if (model === null) db.run('DELETE FROM session_models WHERE session = ?', session);
      else db.run('INSERT OR REPLACE INTO session_models VALUES (?, ?, ?)', session, model, clock.now());
    });
  }

  /** What a message does to a running turn, as it was chosen for a session; null: as the configuration says. */
  whenBusy(session: string): string | null {
    return this.journal.db.get('SELECT mode FROM session_busy WHERE session = ?', session)?.text('mode') ?? null;
  }

  setWhenBusy(session: string, mode: string | null): Promise<void> {
    const { db, clock } = this.journal;
    return db.write(() => {
      if (mode === null) db.run('DELETE FROM session_busy WHERE session = ?', session);
      else db.run('INSERT OR REPLACE INTO session_busy VALUES (?, ?, ?)', session, mode, clock.now());
    });
  }
}
