import { accessSync, constants, existsSync, lstatSync, readdirSync, statSync, type Stats } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { damagedFiles, damageText } from '../../core/storage/home-files.ts';
import { openToRead } from '../../core/storage/open-database.ts';
import { sweepFolder } from '../../core/storage/old-files.ts';
import { tapeName } from '../../core/session/tape-name.ts';
import { isEphemeral } from '../../core/util/ephemeral-session.ts';
import { errorMessage } from '../../core/util/errors.ts';
import { machineZone } from '../../core/util/time-zone.ts';
import { megabytes, oneLine, plural, shellWord } from '../../core/util/text.ts';
import { failed, note, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const storeChecks = checksOn('home', [
  ['store.journal', 'state.db is whole, and of a version that this program knows', journal],
  ['store.search', 'search.db, the full-text index, is whole', search],
  ['store.tapes', 'each line of the newest conversations can be read', tapes],
  ['store.files', 'no file of the home is gone, emptied or unreadable', files],
  ['store.quarantine', 'nothing damaged was set aside', quarantine],
  ['store.size', 'the journal, the logs and the audit log have a usual size', size],
]);

/** Larger databases are not read from end to end, bytes. */
const CHECKED_BYTES = 400_000_000;
/** Of tapes, the newest first. */
const READ_BYTES = 48_000_000;
const FROM_BACKUP =
  'If you miss something: restore the file from a backup (docs/backup.md) while the assistant is stopped';
const LARGE = { logsBytes: 500_000_000, journalBytes: 1_000_000_000, freeShare: 0.4, freeBytes: 100_000_000 };

function journal({ paths, journal: opened, journalTrouble, command }: Scene): readonly Found[] {
  const restore = command('restore BACKUP');
  if (journalTrouble !== null) {
    return [
      failed(`${paths.state} could not be opened: ${oneLine(journalTrouble, 200).replace(/\.$/u, '')}.`, restore),
    ];
  }
  if (opened === null) return [ok('There is no journal yet.')];
  const unreadable = damageOf(() => (opened.oldestReader, []));
  if (unreadable !== null) return [failed(`${paths.state} is damaged: ${unreadable}.`, restore)];
  if (opened.oldestReader > opened.newestSchema) {
    return [
      failed(
        `${paths.state} was written by a newer version of this program.`,
        'Start the newer version again, or restore a backup from before it (docs/backup.md)',
      ),
    ];
  }
  const { size: bytes } = statSync(paths.state);
  if (bytes > CHECKED_BYTES) {
    return [
      note(
        `${paths.state} has ${megabytes(bytes)} and was not read from end to end.`,
        `sqlite3 ${shellWord(paths.state)} 'PRAGMA quick_check'`,
      ),
    ];
  }
  const damage = damageOf(() => opened.damage());
  if (damage !== null) return [failed(`${paths.state} is damaged: ${damage}.`, restore)];
  if (opened.schema < opened.newestSchema) {
    return [
      note(
        'The journal is of an older version; the next start brings it up to date and keeps a copy in backups/.',
        command('gateway'),
      ),
    ];
  }
  return [ok(`state.db is whole (${megabytes(bytes)}).`)];
}

function search({ paths, gateway, holder }: Scene): readonly Found[] {
  const { size: bytes = 0 } = statSync(paths.search, { throwIfNoEntry: false }) ?? {};
  if (bytes === 0 || bytes > CHECKED_BYTES) return [];
  const damage = damageOf(() => {
    using db = openToRead(paths.search, { isOpen: gateway !== null || holder !== null });
    return db
      .prepare('PRAGMA quick_check(5)')
      .all()
      .flatMap((row) => (row['quick_check'] === 'ok' ? [] : [String(row['quick_check'])]));
  });
  if (damage === null) return [ok('search.db is whole.')];
  return [
    warning(
      `${paths.search} is damaged: ${damage}; it is an index, which the assistant makes anew.`,
      `rm ${['', '-wal', '-shm']
        .map((end) => `${paths.search}${end}`)
        .filter((path) => existsSync(path))
        .map(shellWord)
        .join(' ')}`,
    ),
  ];
}

/** What is wrong with a database; null: nothing. */
function damageOf(check: () => readonly string[]): string | null {
  try {
    const [first] = check();
    return first === undefined ? null : oneLine(first, 200).replace(/\.$/u, '');
  } catch (error) {
    return oneLine(errorMessage(error), 200).replace(/\.$/u, '');
  }
}

async function tapes({ paths, journal: opened }: Scene): Promise<readonly Found[]> {
  const found = namesIn(paths.sessions)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => ({
      path: join(paths.sessions, name),
      facts: lstatSync(join(paths.sessions, name), { throwIfNoEntry: false }),
    }));
  const unreadable = found
    .filter(({ path, facts }) => facts !== undefined && !isReadable(path, facts))
    .map(({ path }) => failed(`${path} can't be read, so its conversation waits.`, `ls -ld ${shellWord(path)}`));
  if (unreadable.length > 0) return unreadable;
  const files = found
    .flatMap(({ path, facts }) => (facts?.isFile() === true ? [{ path, size: facts.size, at: facts.mtimeMs }] : []))
    .toSorted((a, b) => b.at - a.at);
  let left = READ_BYTES;
  let read = 0;
  const damaged: string[] = [];
  const newest = newestByTape(opened, paths.sessions);
  const incomplete = [...newest.keys()].filter((path) => !existsSync(path));
  for (const { path, size: bytes } of files) {
    if (bytes > left) continue;
    left -= bytes;
    read += 1;
    const text = await readFile(path, 'utf8');
    const turn = newest.get(path);
    if (turn !== undefined && !text.includes(turn)) incomplete.push(path);
    const lines = text.split('\n');
    // Without a line end at the end the last line is being written, or was cut off by a crash: the next start sees to it.
    lines.pop();
    const bad = lines.findIndex((line) => line !== '' && !isJson(line));
    if (bad !== -1) damaged.push(`${path} (line ${bad + 1})`);
  }
  const [first, ...others] = damaged;
  const lacking = incomplete.map((path) =>
    failed(`${path} is gone or lacks messages that were answered.`, FROM_BACKUP),
  );
  if (first === undefined && lacking.length > 0) return lacking;
  if (first === undefined) return [ok(`${plural(read, 'conversation')} can be read.`)];
  const more = others.length === 0 ? '' : `, and ${plural(others.length, 'other')}`;
  const unread = `${first}${more} cannot be read there; that line is left out of the conversation.`;
  return [...lacking, warning(unread, FROM_BACKUP)];
}

/** Of each tape, by its path, the newest turn that it must have. */
function newestByTape(opened: Scene['journal'], folder: string): ReadonlyMap<string, string> {
  try {
    const known = [...(opened?.newestAnswered() ?? [])].filter(([session]) => !isEphemeral(session));
    return new Map(known.map(([session, turn]) => [join(folder, tapeName(session)), turn]));
  } catch {
    // The check of the journal says so.
    return new Map();
  }
}

async function files({ paths, journal: opened }: Scene): Promise<readonly Found[]> {
  const found = await damagedFiles(paths.home, opened?.homeFiles() ?? new Map());
  return found.length === 0
    ? [ok('The files of the home are as they were.')]
    : [failed(damageText(found, machineZone()), FROM_BACKUP)];
}

function isReadable(path: string, facts: Stats): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return facts.isFile();
  } catch {
    return false;
  }
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function quarantine({ paths }: Scene): readonly Found[] {
  const names = namesIn(paths.quarantine);
  if (names.length === 0) return [ok('Nothing damaged was set aside.')];
  return [
    note(
      `${plural(names.length, 'damaged piece')} of data ${names.length === 1 ? 'was' : 'were'} set aside in ${paths.quarantine}; each is kept for 90 days.`,
      `ls -l ${shellWord(paths.quarantine)}`,
    ),
  ];
}

async function size({ paths, journal: opened, command }: Scene): Promise<readonly Found[]> {
  const findings: Found[] = [];
  const bytes = statSync(paths.state, { throwIfNoEntry: false })?.size ?? 0;
  const free = opened?.freeShare() ?? 0;
  if (bytes > LARGE.journalBytes || (free > LARGE.freeShare && free * bytes > LARGE.freeBytes)) {
    const unused = Math.round(free * 100);
    findings.push(note(`state.db has ${megabytes(bytes)}, and ${unused}% of it is unused.`, command('store vacuum')));
  }
  const logs = (await sweepFolder(paths.logs, null)).bytes;
  if (logs > LARGE.logsBytes)
    findings.push(note(`${paths.logs} has ${megabytes(logs)}.`, `du -h ${shellWord(paths.logs)}`));
  return findings.length === 0 ? [ok('The journal and the logs have a usual size.')] : findings;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
