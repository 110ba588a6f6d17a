import type { Permit } from '../../core/api-channels.ts';
import type { CappedFile, CommandDecision, CommandReach, ResultBits } from '../../core/api-commands.ts';
import { type Clock, errorMessage, sleep } from '../../core/api.ts';
import type { ProcessRecord } from './background.ts';
import { CommandOutput, withoutControls } from './output.ts';
import { runCommand, type Bounds, type ProgramCall } from './run.ts';

/** A command that is to go on by itself. */
export interface BackgroundCommand {
  readonly command: string;
  readonly program: ProgramCall;
  /** Absolute. */
  readonly cwd: string;
  readonly bounds: Bounds;
  readonly reach: CommandReach;
  /** It did not start without a yes, and is told nothing without one. */
  readonly asks: boolean;
  /** What is to be said of a command in its place. */
  readonly check: (command: string) => CommandDecision;
  /** Of what it prints. */
  readonly bits: ResultBits;
  /** Whether its folder holds text of others by now. @default it doesn't */
  readonly readsMarked?: () => boolean;
  /** What it changes in this folder gets marked; null: nothing does. */
  readonly marksIn: string | null;
  /** It starts only while this is granted, and ends with it. @default always permitted */
  readonly permit?: Permit;
}

/** How one ended. */
interface ProcessEnd {
  /** Null after a signal, and where it did not start. */
  readonly exitCode: number | null;
  readonly isFailed: boolean;
  /** Sentences. */
  readonly notes: readonly string[];
}

type OutputPage = Readonly<Record<'from' | 'next' | 'more' | 'dropped', number> & Record<'text' | 'newest', string>>;

interface ProcessOptions {
  readonly record: ProcessRecord;
  /** What a later process finds it by. */
  readonly mark: string;
  /** Keeps what it writes. */
  readonly file: CappedFile;
  readonly clock: Clock;
  /** Marks what changed in a folder since then, ms since 1970. Never rejects. */
  readonly markChanged: (folder: string, from: number) => Promise<void>;
  /** Absolute path. */
  readonly workspace: string;
}

const INPUT_WAIT_MS = 2_000;
const NEWEST_CHARS = 2_000;

/** A command that runs beside the turns of its session. */
export class BackgroundProcess {
  readonly id: string;
  readonly command: BackgroundCommand;
  readonly record: ProcessRecord;
  /** Keeps what it writes. */
  readonly file: CappedFile;
  /** Its session is not to be told of its end. */
  isQuiet = false;
  /** Null while it runs. */
  end: ProcessEnd | null = null;
  /** Resolves when nothing of it runs any more. */
  readonly done: Promise<void>;
  readonly #options: ProcessOptions;
  readonly #begun: number;
  readonly #stop = new AbortController();
  readonly #output: CommandOutput;
  #input: NodeJS.WritableStream | null = null;
  #durationMs: number | undefined;
  #untrusted: boolean;
  #cursor = 0;
  /** Since when, and in which folder, its changes get marked; null: they don't. */
  #theirs: { readonly folder: string; readonly from: number } | null;

  constructor(command: BackgroundCommand, options: ProcessOptions) {
    this.id = options.record.id;
    this.record = options.record;
    this.file = options.file;
    this.command = command;
    this.#options = options;
    this.#output = new CommandOutput((bytes) => options.file.add(bytes));
    this.#begun = options.clock.monotonic();
    this.#untrusted = command.bits.untrusted === true;
    this.#theirs = command.marksIn === null ? null : { folder: command.marksIn, from: options.clock.now() };
    this.done = this.#follow();
  }

  get durationMs(): number {
    return this.#durationMs ?? Math.round(this.#options.clock.monotonic() - this.#begun);
  }

  get bits(): ResultBits {
    this.#untrusted ||= this.command.readsMarked?.() === true;
    return this.#untrusted ? { ...this.command.bits, untrusted: true } : this.command.bits;
  }

  /** Ends it with all it started; resolves when that is done. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('it is to end'));
    await this.done;
  }

  /** From now on its output is untrusted, and its changes get marked. */
  taint(): void {
    this.#untrusted = true;
    const { clock, workspace } = this.#options;
    this.#theirs = { folder: workspace, from: this.#theirs?.from ?? clock.now() };
  }

  /** Resolves when it was taken, or `busy` when so much waits already. */
  async write(text: string): Promise<'written' | 'busy' | 'closed'> {
    const input = this.#input;
    if (input?.writable !== true) return 'closed';
    if ('writableLength' in input && Number(input.writableLength) > 0) return 'busy';
    const taken = new Promise<'written' | 'closed'>((resolve) =>
      input.write(text, (error) => resolve(error == null ? 'written' : 'closed')),
    );
    // What it does not read now it may read later.
    return await Promise.race([taken, sleep(this.#options.clock, INPUT_WAIT_MS).then(() => 'written' as const)]);
  }

  closeInput(): void {
    this.#input?.end();
  }

  /**
   * About `chars` characters of its output from the byte `offset` on (negative: before the end); without one where the page before ended.
   * `from`, `next`: its first byte and the one after it; `more`: bytes after it that can be read now; `dropped`: bytes that
   * were not kept; `newest`: of those, where the page is the last one.
   */
  async page(offset: number | undefined, chars: number): Promise<OutputPage> {
    const { file } = this;
    await file.settled();
    const { kept, dropped } = file;
    const wanted = offset ?? this.#cursor;
    const at = Math.min(kept, Math.max(0, wanted < 0 ? kept + wanted : wanted));
    const bytes = await file
      .read(at, chars)
      .catch((error: unknown) => Buffer.from(`[What it wrote cannot be read: ${errorMessage(error)}]`));
    // The rest of a character that began before.
    const whole = bytes.subarray(0, 3).findIndex((byte) => (byte & 0xc0) !== 0x80);
    const skip = at === 0 ? 0 : Math.max(0, whole);
    const from = at + skip;
    const mayGrow = this.end === null && dropped === 0;
    const { text, length, isLast } = pageOf(bytes.subarray(skip), chars, { left: kept - from, mayGrow });
    this.#cursor = from + length;
    const newest = isLast && dropped > 0 ? this.#output.last(NEWEST_CHARS) : '';
    const mark = text === '' ? '' : this.#output.markAt(from);
    return { text: mark + text, from, next: this.#cursor, more: isLast ? 0 : kept - this.#cursor, dropped, newest };
  }

  async #follow(): Promise<void> {
    const { file, clock, mark } = this.#options;
    const { program, cwd, bounds, permit } = this.command;
    const stop = this.#stop.signal;
    let end: ProcessEnd;
    try {
      const outcome = await runCommand({
        program,
        cwd,
        mark,
        bounds,
        signal: permit === undefined ? stop : AbortSignal.any([stop, permit.ended]),
        permit,
        clock,
        output: this.#output,
        onStart: (input) => (this.#input = input),
      });
      const { exitCode, isFailed, notes } = outcome;
      const code = exitCode === null ? [] : [`The command ended with exit code ${exitCode}.`];
      end = { exitCode, isFailed, notes: [...code, ...notes] };
    } catch (error) {
      end = stop.aborted
        ? { ...STOPPED, isFailed: false }
        : { exitCode: null, isFailed: true, notes: [`The command could not be run: ${errorMessage(error)}`] };
    }
    this.#durationMs = this.durationMs;
    if (this.#theirs !== null) await this.#options.markChanged(this.#theirs.folder, this.#theirs.from);
    this.end = end;
    await file.settled();
  }
}

const STOPPED = { exitCode: null, notes: ['The command was ended, with all processes that it had started.'] };

/**
 * The beginning of `bytes` in at most `chars` characters, how many bytes that is, and whether nothing is there after it; `left`:
 * bytes that can be read. Before what may follow it ends with a whole character; before what is there already, with a whole
 * line if one ends in its second half.
 */
function pageOf(
  bytes: Buffer,
  chars: number,
  { left, mayGrow }: { readonly left: number; readonly mayGrow: boolean },
): { readonly text: string; readonly length: number; readonly isLast: boolean } {
  let { length } = bytes;
  for (;;) {
    const part = bytes.subarray(0, length);
    const isAll = length >= left;
    const line = isAll ? 0 : part.lastIndexOf(0x0a) + 1;
    const whole = line > length / 2 ? line : isAll && !mayGrow ? length : length - brokenEnd(part);
    const text = withoutControls(part.subarray(0, whole));
    if (text.length <= chars || whole <= 1) return { text, length: whole, isLast: isAll };
    length = Math.max(1, Math.floor((whole * chars) / text.length) - 1);
  }
}

/** How many bytes at the end are a UTF-8 character that is not whole. */
function brokenEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes.at(-back) ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const expected = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return expected > back ? back : 0;
  }
  return 0;
}
