import { join } from 'node:path';
import { readAnswer } from '../agent/questions/answers.ts';
import { openJournal, type Journal } from '../journal/journal.ts';
import type { Starts } from '../journal/starts.ts';
import { hasStrangersTag } from '../memory/files/history-file.ts';
import { MemorySearch } from '../memory/search/search.ts';
import { MemoryStore } from '../memory/files/store.ts';
import { Sessions } from '../session/sessions.ts';
import { openKeptFiles, type KeptFiles } from '../stores/kept-files.ts';
import { AuditLog } from '../storage/audit-log.ts';
import { isLogDiscarded } from '../storage/wal-header.ts';
import { ChangeLog } from '../storage/change-log.ts';
import { within } from '../security/paths/rules.ts';
import { EditorSessions } from '../storage/editor-sessions.ts';
import { reportingDisk } from '../storage/disk.ts';
import { MediaStore } from '../storage/media.ts';
import { PromptParts } from '../storage/prompt-parts.ts';
import { SpillStore } from '../storage/spill.ts';
import { UndoLog } from '../storage/undo-log.ts';
import { Uploads } from '../storage/uploads.ts';
import { isEphemeral } from '../util/ephemeral-session.ts';
import { errorMessage, type AppError } from '../util/errors.ts';
import type { Ground } from '../assistant/base.ts';
import { DamageReports } from './home-files.ts';
import { Marks } from '../files/marks.ts';
import { oldMarks } from '../storage/old-marks.ts';
import type { KeptHome } from '../../host/homes/kept-home.ts';

/** Everything that lasts. */
export interface Stores {
  /** Files that were found damaged. */
  readonly damage: DamageReports;
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly media: MediaStore;
  /** Files from the page. */
  readonly uploads: Uploads;
  /** Prompt layers and tool lists by hash; pruned with the tapes that name them. */
  readonly promptParts: PromptParts;
  /** Long results. */
  readonly spill: SpillStore;
  /** What file tools replaced, for /undo. */
  readonly changes: ChangeLog;
  /** What was taken back. */
  readonly undone: UndoLog;
  readonly audit: AuditLog;
  readonly memory: MemoryStore;
  /** SOUL.md and its like. */
  readonly files: KeptFiles;
  /** Which files may hold untrusted text. */
  readonly marks: Marks;
  readonly search: MemorySearch;
  /** The conversations of code editors. */
  readonly editors: EditorSessions;
}

export type StoresBase = Pick<
  Ground,
  'program' | 'paths' | 'clock' | 'random' | 'newId' | 'log' | 'config' | 'startedAt' | 'redact' | 'boot' | 'storage'
>;

/**
 * Opens what lies in the home; the stack closes it. The home's lock must be held. `onSyncFailure`: the disk did not
 * confirm a write, or the home was lost, so the process has to start anew. `kept`: PostgreSQL keeps the home.
 */
export async function openStores(
  base: StoresBase,
  stack: AsyncDisposableStack,
  {
    onSyncFailure,
    kept,
    starts,
  }: {
    readonly onSyncFailure: (error: AppError) => void;
    readonly kept: KeptHome | null;
    readonly starts: Starts;
  },
): Promise<Stores> {
  const { paths, clock, random, newId, log, config, startedAt, redact } = base;
  const boot = kept?.boot ?? base.boot;
  const watermark = kept?.watermark;
  const damage = stack.use(new DamageReports(clock));
  if (isLogDiscarded(paths.state)) {
    log.error('journal: the write-ahead log is damaged and left out', { path: paths.state });
    damage.found(
      `${paths.state}-wal was damaged, so what the journal noted last is lost: it may miss the newest messages, approvals and jobs. If you miss something, take the home from a backup (docs/backup.md).`,
    );
  }
  const backupPath = (from: number): string => join(paths.backups, `state-v${from}-${startedAt}.db`);
  const onCheckpointFailure = (reason: string): void => log.warn('journal: checkpoint failed', { reason });
  // The first write that the disk refuses, by any store, changes the known state of the disk.
  const onFailure = (error: unknown): void => void base.storage.failed(error);
  const listeners = { onSyncFailure, onCheckpointFailure, onFailure };
  const journal = stack.use(
    await openJournal({
      path: paths.state,
      backupPath,
      clock,
      newId,
      boot,
      watermark,
      interpret: readAnswer,
      origins: base.program.origins,
      tables: base.program.tables,
      starts,
      ...listeners,
    }),
  );
  // A clock that was put back must not make new turns look older than those before.
  newId.after(journal.newestId);
  const disk = reportingDisk(base.storage);
  const media = new MediaStore(paths.media, clock, disk);
  const sessions = new Sessions({
    directory: paths.sessions,
    quarantine: paths.quarantine,
    clock,
    newId,
    log,
    mayHaveLost: journal.mayHaveLost,
    image: (hash) => media.image(hash),
    openAppend: kept?.openTape(disk.open) ?? disk.open,
    newestTurn: (key) => (isEphemeral(key) ? undefined : journal.turns.newestAnswered(key)),
    onDamage: (sentence) => damage.found(sentence),
  });
  stack.defer(() => sessions.close());
  const search = stack.use(
    new MemorySearch({
      sessions: paths.sessions,
      workspace: paths.workspace,
      database: paths.search,
      timezone: config.agent.timezone,
      clock,
      log,
      onRefused: () => void base.storage.look(),
    }),
  );
  const editors = await EditorSessions.open({
    path: paths.editors,
    onDamage: (kept) => log.error('editors: the file of folders was damaged; you are asked again about each', { kept }),
    quarantine: paths.quarantine,
    clock,
    isOpen: (folder) => !config.tools.restrictToWorkspace || within(paths.workspace, folder),
  });
  const memory = new MemoryStore({
    workspace: paths.workspace,
    versions: paths.versions,
    clock,
    log,
    timezone: config.agent.timezone,
    redact,
    disk,
    facts: journal.facts,
  });
  await memory
    .catchUp()
    .catch((error: unknown) => log.warn('memory: source of facts not recorded yet', { reason: errorMessage(error) }));
  const history = join(paths.workspace, 'memory', 'HISTORY.md');
  const marks = new Marks({
    db: journal.db,
    clock,
    workspace: paths.workspace,
    folders: [paths.media, paths.spill, join(paths.workspace, 'downloads')],
    log: { path: history, holdsUntrusted: hasStrangersTag },
  });
  // An earlier version kept them in a file.
  const old = join(paths.versions, 'untrusted.jsonl');
  const found = await oldMarks(old, { workspace: paths.workspace, log: history });
  if (found !== null) {
    await marks.record(found, 'outside');
    await disk.remove(old);
  }
  return {
    damage,
    journal,
    sessions,
    search,
    editors,
    media,
    uploads: new Uploads(join(paths.media, 'uploads'), { clock, random, disk }),
    promptParts: new PromptParts(paths.prompts, clock, disk),
    spill: new SpillStore(paths.spill, disk),
    marks,
    changes: new ChangeLog({
      folder: join(paths.versions, 'undo'),
      clock,
      disk,
      onChange: (path) => base.storage.wrote(path),
    }),
    undone: new UndoLog({ folder: join(paths.versions, 'undo', 'done'), disk }),
    audit: stack.use(
      new AuditLog(paths.audit, { clock, log, disk, mask: (text) => redact(text, { knownBy: 'value' }) }),
    ),
    files: openKeptFiles(base),
    memory,
  };
}
