import type { CommandDecision, CommandReach } from '../../security/commands/guard.ts';
import type { GitKeeper, GitWatch, TakenBack } from '../../security/sandbox/git-keeper.ts';
import type { CappedFile } from '../../storage/capped-file.ts';
import { sleep, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Permit } from '../../util/permit.ts';
import type { FileOrigins, ResultBits } from '../../files/origins.ts';
import { undoneNotes } from './git.ts';
import { CommandOutput, withoutControls } from './output.ts';
import { isFailure, notesOf, runCommand, type Bounds, type CommandOutcome, type ProgramCall } from './run.ts';

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
  /** What it writes while strangers have a say counts as theirs. */
  readonly mayWriteTheirs: boolean;
  /** Undoes what it makes the owner's git run, while strangers have a say. @default nothing does */
  readonly git?: GitKeeper;
  /** It starts only while this is granted, and ends with it. @default always permitted */
  readonly permit?: Permit;
}

export type ProcessEnd =
  | { readonly type: 'exited'; readonly outcome: CommandOutcome }
  /** Somebody wanted it to end. */
  | { readonly type: 'stopped' }
  /** It did not start. */
  | { readonly type: 'failed'; readonly reason: string };

/** A part of what it wrote. */
export interface OutputPage {
  readonly text: string;
  /** Bytes before it, and where the next one begins. */
  readonly from: number;
  readonly next: number;
  /** Bytes after it that can be read now. */
  readonly more: number;
  /** Bytes that came when no more were kept. */
  readonly dropped: number;
  /** Of what was dropped, where the page is the last one. */
  readonly newest: string;
}

export interface ProcessOptions {
  readonly id: string;
  /** What a later process finds it by. */
  readonly mark: string;
  /** Keeps what it writes. */
  readonly file: CappedFile;
  readonly clock: Clock;
  readonly origins: FileOrigins | undefined;
}

const INPUT_WAIT_MS = 2_000;
const NEWEST_CHARS = 2_000;

/** A command that runs beside the turns of its session. */
export class BackgroundProcess {
  readonly id: string;
  readonly command: BackgroundCommand;
  /** Resolves when nothing of it runs any more. */
  readonly done: Promise<void>;
  readonly #options: ProcessOptions;
  readonly #begun: number;
  readonly #stop = new AbortController();
  readonly #output: CommandOutput;
  #input: NodeJS.WritableStream | null = null;
  #end: ProcessEnd | null = null;
  #durationMs: number | undefined;
  #untrusted: boolean;
  #cursor = 0;
  #watch: GitWatch | undefined;
  #undone: readonly TakenBack[] = [];
  /** It has ended, and what it left is being looked at. */
  #isOver = false;

  private constructor(command: BackgroundCommand, options: ProcessOptions, watch?: GitWatch) {
    this.#watch = watch;
    this.id = options.id;
    this.command = command;
    this.#options = options;
    this.#output = new CommandOutput((bytes) => options.file.add(bytes));
    this.#begun = options.clock.monotonic();
    this.#untrusted = command.bits.untrusted === true;
    this.done = this.#follow();
  }

  /** Starts one; rejects when it cannot be written down that what it writes may be theirs. */
  static async start(command: BackgroundCommand, options: ProcessOptions): Promise<BackgroundProcess> {
    const { origins } = options;
    const watch = command.mayWriteTheirs ? await command.git?.begin() : undefined;
    if (!command.mayWriteTheirs || origins === undefined) return new BackgroundProcess(command, options, watch);
    return await new Promise((resolve, reject) => {
      const marking = origins.during(async () => {
        const process = new BackgroundProcess(command, options, watch);
        resolve(process);
        await process.done;
      });
      marking.catch((error: unknown) => {
        void watch?.end().catch(() => {});
        reject(error);
      });
    });
  }

  /** Null while it runs. */
  get end(): ProcessEnd | null {
    return this.#end;
  }

  /** Null while it runs, after a signal, and where it did not start. */
  get exitCode(): number | null {
    return this.#end?.type === 'exited' ? this.#end.outcome.exitCode : null;
  }

  get durationMs(): number {
    return this.#durationMs ?? Math.round(this.#options.clock.monotonic() - this.#begun);
  }

  /** Bytes of its output. */
  get bytes(): number {
    return this.#options.file.bytes;
  }

  /** Where what it wrote can be read. */
  get path(): string {
    return this.#options.file.path;
  }

  get bits(): ResultBits {
    return this.#untrusted ? { ...this.command.bits, untrusted: true } : this.command.bits;
  }

  /** Whether it came to a bad end. */
  get isFailed(): boolean {
    const end = this.#end;
    return end !== null && end.type !== 'stopped' && (end.type === 'failed' || isFailure(end.outcome));
  }

  /** How it ended, in sentences; none while it runs. */
  get endNotes(): readonly string[] {
    const end = this.#end;
    if (end === null) return [];
    const undone = undoneNotes(this.#undone);
    if (end.type === 'failed') return [`The command could not be run: ${end.reason}`, ...undone];
    if (end.type === 'stopped') return ['The command was ended, with all processes that it had started.', ...undone];
    const { exitCode } = end.outcome;
    const code = exitCode === null ? [] : [`The command ended with exit code ${exitCode}.`];
    return [...code, ...notesOf(end.outcome, this.command.bounds), ...undone];
  }

  /** Ends it with all it started; resolves when that is done. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('it is to end'));
    await this.done;
  }

  /** From now on strangers have a part in what it prints and writes; resolves when that holds. */
  async taint(): Promise<void> {
    if (this.#untrusted) return;
    this.#untrusted = true;
    if (this.command.mayWriteTheirs) return;
    const watch = await this.command.git?.begin();
    if (this.#isOver) await watch?.end();
    else this.#watch = watch;
    // A mark that cannot be written is ignored: other failed writes report the disk.
    void this.#options.origins?.during(() => this.done).catch(() => {});
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

  /** What it wrote cannot be read here any more. */
  async close(): Promise<void> {
    await this.#options.file.close();
  }

  /** About `chars` characters from `offset` on (negative: before the end); without one where the page before ended. */
  async page(offset: number | undefined, chars: number): Promise<OutputPage> {
    const { file } = this.#options;
    await file.settled();
    const { kept, dropped } = file;
    const wanted = offset ?? this.#cursor;
    const at = Math.min(kept, Math.max(0, wanted < 0 ? kept + wanted : wanted));
    const bytes = await this.#read(at, chars);
    // The rest of a character that began before.
    const skip =
      at === 0
        ? 0
        : Math.max(
            0,
            bytes.subarray(0, 3).findIndex((byte) => (byte & 0xc0) !== 0x80),
          );
    const from = at + skip;
    const mayGrow = this.#end === null && dropped === 0;
    const { text, length, isLast } = pageOf(bytes.subarray(skip), chars, { kept: kept - from, mayGrow });
    this.#cursor = from + length;
    const newest = isLast && dropped > 0 ? this.#output.last(NEWEST_CHARS) : '';
    const mark = text === '' ? '' : this.#output.markAt(from);
    return { text: mark + text, from, next: this.#cursor, more: isLast ? 0 : kept - this.#cursor, dropped, newest };
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    try {
      return await this.#options.file.read(offset, length);
    } catch (error) {
      return Buffer.from(`[What it wrote cannot be read: ${errorMessage(error)}]`);
    }
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
        limits: bounds,
        timeoutMs: bounds.seconds * 1000,
        signal: permit === undefined ? stop : AbortSignal.any([stop, permit.ended]),
        permit,
        clock,
        output: this.#output,
        onStart: (input) => (this.#input = input),
      });
      end = { type: 'exited', outcome };
    } catch (error) {
      end = stop.aborted ? { type: 'stopped' } : { type: 'failed', reason: errorMessage(error) };
    }
    this.#isOver = true;
    // What cannot be looked at is told of by the next command's look.
    this.#undone = (await this.#watch?.end().catch(() => [])) ?? [];
    this.#end = end;
    this.#durationMs = this.durationMs;
    await file.settled();
  }
}

/**
 * The beginning of `bytes` in at most `chars` characters, how many bytes that is, and whether nothing is there after it. Before what follows it ends with a
 * whole character; before what is there already, with a whole line if there is one in its second half.
 */
function pageOf(
  bytes: Buffer,
  chars: number,
  { kept, mayGrow }: { readonly kept: number; readonly mayGrow: boolean },
): { readonly text: string; readonly length: number; readonly isLast: boolean } {
  let { length } = bytes;
  for (;;) {
    const isAll = length >= kept;
    const line = isAll ? 0 : bytes.subarray(0, length).lastIndexOf(0x0a) + 1;
    const whole = line > length / 2 ? line : isAll && !mayGrow ? length : length - brokenEnd(bytes.subarray(0, length));
    const text = withoutControls(bytes.subarray(0, whole));
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
