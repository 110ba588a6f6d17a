import { closeSync, type Stats } from 'node:fs';
import picomatch from 'picomatch';
import { AppError, cut, cutStart, errorMessage, harmless, plural, systemClock } from '../../../core/api-paths.ts';
import type { FoundFiles, SearchTask } from './find.ts';
import { LONGEST_LINE, readLines, type LinesRead } from './lines.ts';
import { walkFiles, type WalkedFile } from './walk.ts';

const LONGEST_GLOB = 1_000;
const LONGEST_PATTERN = 2_000;
/** Of a line that is shown. */
const LONGEST_SHOWN = 300;
/** Of a long line, what stands before its match. */
const LEAD = 60;

const PROGRESS_MS = 1_000;

/** Finds files by their names, those that changed last first; or lines in them, files in order. */
export async function searchFiles(task: SearchTask, progress: (text: string) => void): Promise<FoundFiles> {
  const { base, glob, pattern, mode = 'lines' } = task;
  const matches = glob === undefined ? () => true : globMatcher(glob, base.path);
  const indexIn = pattern === undefined ? undefined : lineMatcher(pattern, task.ignoreCase);
  const page = new Page(task);
  const named: { readonly file: WalkedFile; readonly name: string; readonly stat: Stats }[] = [];
  const counts: Record<LinesRead, number> = { all: 0, beginnings: 0, binary: 0 };
  const start = systemClock.monotonic();
  let reports = 0;
  let searched = 0;
  let isLate = false;
  const isOver = (): boolean => {
    const ms = systemClock.monotonic() - start;
    if (ms > (reports + 1) * PROGRESS_MS) progress(`searched ${searched} files`);
    reports = Math.floor(ms / PROGRESS_MS);
    isLate ||= ms > task.budgetMs;
    return isLate || page.next !== null;
  };
  const left = await walkFiles(base, {
    ignored: task.ignored ?? false,
    isOver,
    wants: (below) => {
      const isWanted = matches(below);
      // What is searched is names, or what is in the files that are wanted.
      if (isWanted || indexIn === undefined) searched += 1;
      return isWanted;
    },
    visit: async (file) => {
      const name = shownName(task, file);
      if (indexIn !== undefined) {
        counts[await searchLines(file, name, { task, indexIn, page, isOver })] += 1;
        return;
      }
      const stat = file.look();
      if (stat !== undefined) named.push({ file, name, stat });
    },
  });
  named.sort((a, b) => b.stat.mtimeMs - a.stat.mtimeMs || (a.name < b.name ? -1 : 1));
  for (const { file, name } of named) page.addFile(name, file);
  const what = indexIn === undefined ? 'such file' : mode === 'lines' ? 'match' : 'file with a match';
  const body = page.results === 0 ? `No ${what} in ${plural(searched, 'file')}.` : page.lines.join('\n');
  const things = (count: number): string => `${plural(count, 'file or folder', 'files or folders')} left out`;
  const long = `a line longer than ${LONGEST_LINE / 1024 / 1024} MB: only the beginning of that line was searched`;
  const notes: readonly (readonly [boolean, string])[] = [
    [page.results === 0 && counts.binary > 0, `${plural(counts.binary, 'binary file')} among them, not searched`],
    [counts.beginnings > 0, `${plural(counts.beginnings, 'file')} with ${long}`],
    [page.next !== null, `there are more; continue at offset ${page.next}`],
    [left.closed > 0, `${things(left.closed)}: the owner would have to approve them, or they cannot be opened`],
    [left.ignored > 0, `${things(left.ignored)} that git ignores; see with ignored: true`],
    [isLate, `there was no time to look at everything; a smaller path finds every ${what}`],
    [left.isTooMuch, `there are too many files to look at all; a smaller path finds every ${what}`],
  ];
  const said = notes.flatMap(([isSo, note]) => (isSo ? `(${note})` : []));
  return {
    output: [body, ...said].join('\n\n'),
    shown: page.shown,
    metadata: { found: page.results, searched, truncated: page.next !== null },
  };
}

/**
 * A pattern of paths: `*` and `?` within a name, `**` over any folders, `[a-z]`, `[!a]`, `{a,b}`, `\` before what is meant
 * as it is. Without a slash it matches names in any folder; names that begin with a dot are like any other. One with a
 * slash in front may name `base` or begin there. Throws a sentence for one that is not closed.
 */
function globMatcher(pattern: string, base: string): (below: string) => boolean {
  try {
    if (pattern.length > LONGEST_GLOB) throw new Error(`it is longer than ${LONGEST_GLOB} characters`);
    const source = pattern.replace(/^(?:\.\/+)+/u, '').replaceAll(/(?<!\\)[()|]/gu, String.raw`\$&`);
    const matches = picomatch(pattern.includes('/') ? source : `**/${source}`, {
      dot: true,
      posix: true,
      nonegate: true,
      noextglob: true,
      keepQuotes: true,
      strictBrackets: true,
      flags: 's',
    });
    if (!source.startsWith('/')) return (below) => matches(below);
    return (below) => matches(`/${below}`) || matches(`${base}/${below}`);
  } catch (error) {
    const shown = JSON.stringify(cut(pattern, 80));
    throw new AppError('glob-pattern', `The pattern ${shown} cannot be used: ${errorMessage(error)}.`);
  }
}

/**
 * Where a line matches first, -1: it does not. What is harmless elsewhere (`\-`, a leading `(?i)`) is no error. Throws a
 * sentence for an expression that is broken.
 */
function lineMatcher(pattern: string, ignoreCase = false): (line: string) => number {
  const source = pattern.replace(/^\(\?i\)/u, '');
  const flags = ignoreCase || source !== pattern ? 'i' : '';
  let problem = pattern.length > LONGEST_PATTERN ? `it is longer than ${LONGEST_PATTERN} characters` : '';
  // Strictly first, so that \p{…} and whole characters work.
  for (const more of problem === '' ? ['u', ''] : []) {
    try {
      const regex = new RegExp(source, flags + more);
      return (line) => line.search(regex);
    } catch (error) {
      problem = errorMessage(error).replace(/^Invalid regular expression: /u, '');
    }
  }
  throw new AppError('search-pattern', `The pattern is no regular expression: ${problem}.`);
}

/** A file name as it is shown. It is untrusted, so it must not break its line. */
function shownName({ prefix }: SearchTask, { below }: WalkedFile): string {
  return harmless(`${prefix}${below}`).replaceAll(/[\r\n]/gu, '␊');
}

/** The results from `offset` on, as many as fit. */
class Page {
  readonly lines: string[] = [];
  readonly shown: string[] = [];
  results = 0;
  /** The offset of the first result that does not fit. */
  next: number | null = null;
  readonly #task: SearchTask;
  #used = 0;
  #passed = 0;

  constructor(task: SearchTask) {
    this.#task = task;
  }

  /** Adds the lines of one result; `pass`: it belongs to an earlier page, `full`: to a later one. */
  add(lines: readonly string[]): 'added' | 'pass' | 'full' {
    const { offset = 0, limit, pageChars } = this.#task;
    if (this.#passed < offset) {
      this.#passed += 1;
      return 'pass';
    }
    const chars = lines.reduce((sum, line) => sum + line.length + 1, 0);
    if (this.results >= limit || (this.results > 0 && this.#used + chars > pageChars)) {
      this.next ??= offset + this.results;
      return 'full';
    }
    this.results += 1;
    this.lines.push(...lines);
    this.#used += chars;
    return 'added';
  }

  /** Adds a line to the last result; false when there is no room for it. */
  append(line: string): boolean {
    const fits = this.#used + line.length < this.#task.pageChars;
    if (fits) this.lines.push(line);
    if (fits) this.#used += line.length + 1;
    return fits;
  }

  /** Adds a file of which only the name is shown. */
  addFile(line: string, { path }: WalkedFile): void {
    if (this.next === null && this.add([line]) === 'added') this.shown.push(path);
  }
}

interface Searching {
  readonly task: SearchTask;
  /** Where a line matches first; -1: it does not. */
  readonly indexIn: (line: string) => number;
  readonly page: Page;
  readonly isOver: () => boolean;
}

/** Searches the lines of one file. */
async function searchLines(file: WalkedFile, name: string, searching: Searching): Promise<LinesRead> {
  const opened = await file.open();
  if (opened === undefined) return 'all';
  const { fd } = opened;
  const { task, indexIn, page, isOver } = searching;
  const { mode = 'lines' } = task;
  const quotes = new Quotes(name, searching);
  let number = 0;
  let count = 0;
  try {
    const read = readLines(fd, (lines) => {
      for (const line of lines) {
        number += 1;
        const at = indexIn(line);
        if (at !== -1) count += 1;
        if (mode === 'lines' ? !quotes.take(number, line, at) : mode === 'files' && count > 0) return false;
      }
      return !isOver();
    });
    if (quotes.last > 0) page.shown.push(file.path);
    else if (mode !== 'lines' && count > 0) page.addFile(mode === 'count' ? `${name}: ${count}` : name, file);
    return read;
  } catch {
    // A file that breaks while it is read has no more lines.
    return 'all';
  } finally {
    closeSync(fd);
  }
}

/** The lines of one file that match, with those around them. */
class Quotes {
  /** The number of the last line that is shown; 0: there is none. */
  last = 0;
  readonly #name: string;
  readonly #searching: Searching;
  #before: string[] = [];
  #after = 0;

  constructor(name: string, searching: Searching) {
    this.#name = name;
    this.#searching = searching;
  }

  /** `at`: where the line matches, or -1. False when no more lines are needed. */
  take(number: number, line: string, at: number): boolean {
    const { page, task } = this.#searching;
    const { context = 0 } = task;
    if (at === -1) {
      if (context === 0) return true;
      const text = `${number}- ${around(line, 0)}`;
      if (this.#after > 0 && page.append(text)) {
        this.#after -= 1;
        this.last = number;
        return true;
      }
      this.#after = 0;
      this.#before.push(text);
      if (this.#before.length > context) this.#before.shift();
      return true;
    }
    const isApart = context > 0 && number - this.#before.length > this.last + 1;
    const head = this.last === 0 ? [this.#name] : isApart ? ['--'] : [];
    const became = page.add([...head, ...this.#before, `${number}: ${around(line, at)}`]);
    if (became === 'added') this.last = number;
    this.#after = became === 'added' ? context : 0;
    this.#before = [];
    return became !== 'full';
  }
}

/** A long line, cut so that its match is seen. */
function around(line: string, at: number): string {
  if (line.length <= LONGEST_SHOWN) return line;
  const from = Math.max(0, Math.min(at - LEAD, line.length - LONGEST_SHOWN));
  const part = cut(cutStart(line, line.length - from), LONGEST_SHOWN);
  return `${from > 0 ? '…' : ''}${part}${from + LONGEST_SHOWN < line.length ? '…' : ''}`;
}
