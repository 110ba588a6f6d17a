import { createHash } from 'node:crypto';
import { closeSync, readSync, type Stats } from 'node:fs';
import { cut, cutStart } from '../../../util/text.ts';
import type { FoundFiles, GrepTask, ShownFile } from './find.ts';
import { shownName, type SearchProgress } from './glob-files.ts';
import { globMatcher } from './glob-pattern.ts';
import { searchPattern, type SearchPattern } from './search-pattern.ts';
import { eachLine, reading, type LinesRead } from './text-lines.ts';
import { newLeftOut, walkFiles, type WalkedFile } from './walk.ts';

const LONGEST_LINE = 300;
/** Bytes; of larger files it is not known whether strangers wrote them: tools do not write such. */
const MOST_HASHED = 50 * 1024 * 1024;
/** Of a long line, what stands before its match. */
const LEAD = 60;

/** Searches the lines of files. Binary files are passed over. */
export async function grepFiles(task: GrepTask, { elapsed, progress }: SearchProgress): Promise<FoundFiles> {
  const pattern = searchPattern(task.pattern, task);
  const wanted = task.glob === null ? () => true : globMatcher(task.glob, task.base.path);
  const left = newLeftOut();
  const page = new Page(task);
  const late = (): boolean => elapsed() > task.budgetMs;
  let searched = 0;
  let isLate = false;
  const parts: Record<LinesRead, number> = { all: 0, beginnings: 0, binary: 0 };
  const walk = walkFiles(
    task.base,
    {
      ignored: task.ignored,
      want: (below) => {
        isLate ||= late();
        if (isLate || page.isFull) return 'stop';
        return wanted(below) ? 'yes' : 'no';
      },
    },
    left,
  );
  for await (const file of walk) {
    searched += 1;
    progress(searched);
    const read = await searchFile(file, { task, pattern, page, late });
    if (read === 'late') isLate = true;
    else parts[read] += 1;
  }
  const ended = left.ended === 'entries' ? 'entries' : isLate ? 'time' : null;
  return {
    ...page.result(),
    searched,
    closed: left.closed,
    ignored: left.ignored,
    binary: parts.binary,
    beginnings: parts.beginnings,
    ended,
  };
}

interface Search {
  readonly task: GrepTask;
  readonly pattern: SearchPattern;
  readonly page: Page;
  readonly late: () => boolean;
}

/** Lines between two looks at the clock. */
const LINES_AT_ONCE = 20_000;

/** `late`: there was no time for all of it. */
async function searchFile(file: WalkedFile, { task, pattern, page, late }: Search): Promise<LinesRead | 'late'> {
  const opened = await file.open();
  if (opened === undefined) return 'all';
  const { fd, stat } = opened;
  const { literal, indexIn } = pattern;
  let isLate = false;
  let number = 0;
  let read: LinesRead = 'all';
  try {
    const hits = page.begin(file);
    read = eachLine(
      reading(fd),
      (line) => {
        number += 1;
        if (number % LINES_AT_ONCE === 0 && late()) isLate = true;
        return !isLate && hits.line(number, line, indexIn(line));
      },
      literal === null ? undefined : (bytes) => bytes.includes(literal),
    );
    hits.end(() => (task.mode === 'lines' ? hashOf(fd, stat) : null), stat);
  } catch {
    // A file that breaks while it is read has no more lines.
  } finally {
    closeSync(fd);
  }
  return isLate ? 'late' : read;
}

/** The result that is being put together. */
class Page {
  readonly #task: GrepTask;
  readonly #lines: string[] = [];
  readonly #shown: ShownFile[] = [];
  #used = 0;
  #passed = 0;
  #results = 0;
  #next: number | null = null;

  constructor(task: GrepTask) {
    this.#task = task;
  }

  get isFull(): boolean {
    return this.#next !== null;
  }

  begin(file: WalkedFile): Hits {
    const { mode } = this.#task;
    return mode === 'lines' ? this.#quote(file) : this.#name(file, mode === 'count');
  }

  result(): Pick<FoundFiles, 'text' | 'shown' | 'results' | 'next'> {
    return { text: this.#lines.join('\n'), shown: this.#shown, results: this.#results, next: this.#next };
  }

  /** Room for one more result; false when it belongs to another page. */
  #admit(chars: number): 'show' | 'pass' | 'full' {
    const { offset, limit, pageChars } = this.#task;
    if (this.#passed < offset) {
      this.#passed += 1;
      return 'pass';
    }
    const isFull = this.#results >= limit || (this.#results > 0 && this.#used + chars > pageChars);
    if (isFull) {
      this.#next = offset + this.#results;
      return 'full';
    }
    this.#results += 1;
    return 'show';
  }

  #write(line: string): void {
    this.#lines.push(line);
    this.#used += line.length + 1;
  }

  #name(file: WalkedFile, counts: boolean): Hits {
    let count = 0;
    return {
      line: (_number, _line, index) => {
        if (index !== -1) count += 1;
        return counts || count === 0;
      },
      end: (_hash, { ctimeMs }) => {
        if (count === 0) return;
        const line = `${shownName(this.#task, file)}${counts ? `: ${count}` : ''}`;
        if (this.#admit(line.length) !== 'show') return;
        this.#write(line);
        this.#shown.push({ path: file.path, hash: null, isQuoted: false, ctimeMs });
      },
    };
  }

  #quote(file: WalkedFile): Hits {
    const { context, pageChars } = this.#task;
    const head = shownName(this.#task, file);
    let before: string[] = [];
    /** The number of the last line that was written. */
    let last = 0;
    let after = 0;
    return {
      line: (number, line, index) => {
        if (index === -1) {
          if (context === 0) return true;
          const text = `${number}- ${around(line, 0)}`;
          if (after > 0 && this.#used + text.length < pageChars) {
            after -= 1;
            last = number;
            this.#write(text);
          } else {
            after = 0;
            before.push(text);
            if (before.length > context) before.shift();
          }
          return true;
        }
        const text = `${number}: ${around(line, index)}`;
        const chars = [...before, ...(last === 0 ? [head] : []), text].reduce((sum, part) => sum + part.length + 1, 0);
        const verdict = this.#admit(chars);
        if (verdict === 'show') {
          if (last === 0) this.#write(head);
          else if (context > 0 && number - before.length > last + 1) this.#write('--');
          for (const earlier of before) this.#write(earlier);
          this.#write(text);
          last = number;
          after = context;
        } else {
          after = 0;
        }
        before = [];
        return verdict !== 'full';
      },
      end: (hash, { ctimeMs }) => {
        if (last > 0) this.#shown.push({ path: file.path, hash: hash(), isQuoted: true, ctimeMs });
      },
    };
  }
}

/** What is done with the lines of one file. */
interface Hits {
  /** `index`: where it matches, or -1. False when no more lines are needed. */
  readonly line: (number: number, line: string, index: number) => boolean;
  readonly end: (hash: () => string | null, stat: Stats) => void;
}

/** A long line, cut so that its match is seen. */
function around(line: string, index: number): string {
  if (line.length <= LONGEST_LINE) return line;
  const from = Math.max(0, Math.min(index - LEAD, line.length - LONGEST_LINE));
  const part = cut(cutStart(line, line.length - from), LONGEST_LINE);
  return `${from > 0 ? '…' : ''}${part}${from + LONGEST_LINE < line.length ? '…' : ''}`;
}

const buffer = Buffer.allocUnsafe(64 * 1024);

/** As `UntrustedFiles` knows files. */
function hashOf(fd: number, { size }: Stats): string | null {
  if (size > MOST_HASHED) return '';
  const hash = createHash('sha256');
  let isBlank = true;
  for (let at = 0; ;) {
    const length = readSync(fd, buffer, 0, buffer.length, at);
    if (length === 0) break;
    const bytes = buffer.subarray(0, length);
    isBlank &&= bytes.every((byte) => byte <= 0x20);
    hash.update(bytes);
    at += length;
  }
  return isBlank ? null : hash.digest('hex');
}
