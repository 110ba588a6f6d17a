import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { backoffMs } from '../../core/api-channels.ts';
import { CappedFile, endLeftPrograms, namesIn } from '../../core/api-commands.ts';
import { ensureDirectory, readIfExists, replaceDurable } from '../../core/api-files.ts';
import { type Executed, type ToolContext, escapeControlChars } from '../../core/api-tools.ts';
import { type App, AppError, RecentMap, errorMessage, oneLine, sleep } from '../../core/api.ts';
import { BackgroundProcess, type BackgroundCommand } from './background-process.ts';
import { withNotes } from './run.ts';

const recordSchema = z.object({
  v: z.literal(2),
  id: z.string(),
  command: z.string(),
  /** Absolute path of what it wrote. */
  output: z.string(),
  untrusted: z.boolean(),
  /** The inbound message whose turn started it: its chat is told of the end. */
  messageId: z.string(),
  role: z.enum(['owner', 'trusted', 'guest']),
  sessionKey: z.string(),
  /** What it changes in this folder gets marked; `from`: its start, ms since 1970. */
  marks: z.object({ folder: z.string(), from: z.number() }).optional(),
});

/** What outlives the assistant's own process about a command in the background: a file until somebody knows of its end. */
export type ProcessRecord = z.infer<typeof recordSchema>;

/** What wakes a session, once for each process. */
export type ProcessNews = ProcessRecord & { readonly text: string };

export interface BackgroundOptions extends Pick<App, 'redact' | 'clock' | 'random' | 'log'> {
  /** Where the outputs of a session lie; it can read them there. */
  readonly outputs: (sessionKey: string) => string;
  /** Folder for what has to outlive the assistant's own process. */
  readonly records: string;
  /** Absolute path of the one that commands run in. */
  readonly workspace: string;
  /** Whether somebody can be told where this message came from. */
  readonly reaches: (messageId: string) => boolean;
  /** Queues the news. May reject while the disk is full. */
  readonly wake: (news: ProcessNews) => Promise<void>;
  /** Marks what changed in a folder since `from`, ms since 1970. @default nothing is marked */
  readonly markChanged?: (folder: string, from: number) => Promise<void>;
  /** The news are known: takes them back as long as no turn has them. */
  readonly withdraw: (record: ProcessRecord) => Promise<void>;
}

/** In a session, and in all. */
const MOST_RUNNING = 8;
const MOST_RUNNING_IN_ALL = 64;
/** Processes that have ended and can still be looked at. */
const MOST_ENDED = 64;
const MOST_OUTPUT_BYTES = 20 * 1024 ** 2;
/** How long a command is looked at before it is left to itself: most mistakes show at once. */
const FIRST_LOOK_MS = 500;
/** Characters of what it wrote until then. */
const FIRST_CHARS = 4_000;
/** Delay in ms before the session is told of an end, so that a turn that waits for it sees it first. */
const NEWS_DELAY_MS = 150;
const AGAIN = { firstMs: 1_000, maxMs: 60_000 };
/** How often a session is woken before a person has to say something again. */
const MOST_WAKES = 10;
const MOST_SESSIONS = 1_024;
const SIGNS = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * The commands that run in the background, for all sessions. If a command ends and its session has not seen or caused
 * that, the session is told once. No command outlives the assistant: what a killed process left is ended at the next
 * start.
 */
export class BackgroundProcesses implements AsyncDisposable {
  readonly #options: BackgroundOptions;
  readonly #all = new Map<string, BackgroundProcess>();
  /** By session, since a person last started something there. */
  readonly #wakes = new RecentMap<string, number>(MOST_SESSIONS);
  readonly #closing = new AbortController();
  /** Of commands that ended with an earlier process. */
  #lost: readonly ProcessRecord[] = [];
  #starting = 0;

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** Ends what an earlier process left running, before anything starts; `hasDied`: it did not stop in order. Never rejects. */
  async recover({ hasDied = true } = {}): Promise<void> {
    const { clock, log, workspace, records } = this.#options;
    try {
      if (hasDied && !(await endLeftPrograms(workspace, clock)))
        log.error('exec: commands of an earlier process could not be ended');
      for (const name of await namesIn(records)) {
        const record = parsed((await readIfExists(join(records, name))) ?? '');
        if (record === undefined || `${record.id}.json` !== name) await rm(join(records, name), { force: true });
        else {
          this.#lost = [...this.#lost, record];
          if (record.marks !== undefined) await this.#mark(record.marks.folder, record.marks.from);
        }
      }
    } catch (error) {
      log.error('background: records of earlier commands not read', { reason: errorMessage(error) });
    }
  }

  /** Has sessions told of what `recover` found. After a restore, what waits before the assistant has started is ended unread. */
  tellLost(): void {
    for (const record of this.#lost) void this.#tell({ ...record, text: lostText(record) });
    this.#lost = [];
  }

  /** Starts a command and returns its first output; ends it if the turn is stopped meanwhile. */
  async begin(
    command: BackgroundCommand,
    context: Pick<ToolContext, 'call' | 'person'>,
    signal: AbortSignal,
  ): Promise<Executed> {
    const process = await this.#start(command, context);
    await Promise.race([process.done, sleep(this.#options.clock, FIRST_LOOK_MS, signal).catch(() => {})]);
    if (signal.aborted) {
      await this.kill(process);
      signal.throwIfAborted();
    }
    const { text, more } = await process.page(undefined, FIRST_CHARS);
    const { id, record, durationMs, bits, end } = process;
    if (end !== null) await this.seen(process);
    const rest = more > 0 ? [`The tool process with the action poll and the id ${id} shows the rest.`] : [];
    const running = `It runs in the background as ${id}. You are told when it ends, so do not wait for it. The tool process shows its output, writes to its input and ends it. Its output is also in the file ${record.output}.`;
    return {
      title: oneLine(`${end === null ? 'started' : 'ran'} ${escapeControlChars(command.command)}`, 80),
      output: withNotes(text, end === null ? [running] : [...end.notes, ...rest]),
      metadata: end === null ? { process: id, state: 'running' } : { process: id, exitCode: end.exitCode, durationMs },
      ...(end?.isFailed === true ? { isError: true } : {}),
      ...bits,
    };
  }

  /** Throws an `AppError` when it cannot run here. */
  async #start(command: BackgroundCommand, context: Pick<ToolContext, 'call' | 'person'>): Promise<BackgroundProcess> {
    const { messageId, sessionKey } = context.call;
    this.#requireSomebody(context);
    this.#requireSlot(sessionKey);
    this.#starting += 1;
    try {
      const { outputs, workspace, clock, random, redact, records } = this.#options;
      const id = Array.from(random.bytes(8), (byte) => SIGNS[byte % SIGNS.length]).join('');
      const folder = outputs(sessionKey);
      await ensureDirectory(folder);
      await using undo = new AsyncDisposableStack();
      const file = await CappedFile.create(join(folder, `process-${id}.txt`), MOST_OUTPUT_BYTES);
      undo.defer(() => file.close());
      const record: ProcessRecord = {
        v: 2,
        id,
        command: oneLine(redact(command.command), 200),
        output: file.path,
        untrusted: command.marksIn !== null,
        messageId,
        role: context.person.role,
        sessionKey,
        ...(command.marksIn === null ? {} : { marks: { folder: command.marksIn, from: clock.now() } }),
      };
      // Recorded first, so that its session is told even after a crash.
      await ensureDirectory(records);
      await replaceDurable(this.#recordPath(id), `${JSON.stringify(record)}\n`);
      undo.defer(() => rm(this.#recordPath(id), { force: true }));
      const markChanged = (changed: string, from: number): Promise<void> => this.#mark(changed, from);
      const process = new BackgroundProcess(command, { record, mark: workspace, workspace, file, clock, markChanged });
      undo.move();
      this.#all.set(id, process);
      void process.done.then(() => this.#ended(process));
      return process;
    } finally {
      this.#starting -= 1;
    }
  }

  /** Those of a session, oldest first. */
  of(sessionKey: string): readonly BackgroundProcess[] {
    return [...this.#all.values()].filter(({ record }) => record.sessionKey === sessionKey);
  }

  /** The folders in which commands are running. */
  folders(): readonly string[] {
    return [...this.#all.values()].filter(({ end }) => end === null).map(({ command }) => command.cwd);
  }

  /** How many of a session run. */
  running(sessionKey: string): number {
    return this.of(sessionKey).filter(({ end }) => end === null).length;
  }

  /** Its session knows of its end: it is not told of it, and what is on the way to it is taken back. */
  async seen(process: BackgroundProcess): Promise<void> {
    if (process.end === null || process.isQuiet) return;
    process.isQuiet = true;
    await this.#takeBack(process);
    await this.#forget(process.id);
  }

  /** Ends one for its own session, which is not told of it. */
  async kill(process: BackgroundProcess): Promise<void> {
    process.isQuiet ||= process.end === null;
    await process.stop();
    await this.#forget(process.id);
  }

  /** Somebody stopped the session: all that it has running ends, and it is told of nothing. */
  async stopSession(sessionKey: string): Promise<void> {
    const all = this.of(sessionKey);
    for (const process of all) process.isQuiet = true;
    await Promise.all(all.map((process) => this.kill(process)));
  }

  /** Ends all; their sessions are told at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the process is stopping'));
    const all = [...this.#all.values()];
    await Promise.all(all.map((process) => process.stop()));
    await Promise.all(all.map((process) => this.#drop(process)));
  }

  #requireSomebody({ call, person: { origin } }: Pick<ToolContext, 'call' | 'person'>): void {
    if (origin === 'subagent' || !this.#options.reaches(call.messageId)) {
      const why = 'no one could be told here when the command ends; run it without background: true';
      throw new AppError('process-nobody', `Nothing was started, because ${why}.`);
    }
    if (origin === 'user' || origin === 'api') this.#wakes.delete(call.sessionKey);
  }

  #requireSlot(sessionKey: string): void {
    const all = [...this.#all.values()].filter(({ end }) => end === null);
    if (this.#closing.signal.aborted || all.length + this.#starting >= MOST_RUNNING_IN_ALL)
      throw new AppError('process-room', 'Nothing was started: too many commands run in the background already.');
    const here = all.filter(({ record }) => record.sessionKey === sessionKey);
    if (here.length >= MOST_RUNNING) {
      const ids = here.map(({ id }) => id).join(', ');
      throw new AppError(
        'process-room',
        `Nothing was started: ${MOST_RUNNING} commands run in the background here already (${ids}). End one with process first.`,
      );
    }
    if ((this.#wakes.get(sessionKey) ?? 0) >= MOST_WAKES)
      throw new AppError(
        'process-circle',
        `Nothing was started: commands in the background woke this session ${MOST_WAKES} times since a person last asked for one. Run it without background: true, or say what is left to do.`,
      );
  }

  async #ended(process: BackgroundProcess): Promise<void> {
    const { record, bits } = process;
    const { sessionKey } = record;
    const ended = [...this.#all.values()].filter(({ end }) => end !== null);
    for (const one of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) void this.#drop(one);
    await sleep(this.#options.clock, NEWS_DELAY_MS, this.#closing.signal).catch(() => {});
    if (process.isQuiet) return await this.#forget(record.id);
    // What ends with the assistant is told at its next start.
    if (this.#closing.signal.aborted) return;
    this.#wakes.set(sessionKey, (this.#wakes.get(sessionKey) ?? 0) + 1);
    const untrusted = record.untrusted || bits.untrusted === true;
    await this.#tell({ ...record, untrusted, text: endedText(process) }, process);
  }

  /** Never rejects; what is not queued when the assistant ends is queued at its next start. */
  async #tell(news: ProcessNews, process?: BackgroundProcess): Promise<void> {
    const { wake, clock, random, log } = this.#options;
    const { signal } = this.#closing;
    const isKnown = (): boolean => process?.isQuiet === true;
    for (let failures = 1; !signal.aborted && !isKnown(); failures += 1) {
      try {
        await wake(news);
        if (process !== undefined && isKnown()) await this.#takeBack(process);
        return await this.#forget(news.id);
      } catch (error) {
        log.error('background: could not report that a command finished', { reason: errorMessage(error) });
        await sleep(clock, backoffMs(failures, AGAIN, random), signal).catch(() => {});
      }
    }
  }

  async #takeBack({ record }: BackgroundProcess): Promise<void> {
    await this.#attempt(
      this.#options.withdraw(record),
      'could not withdraw the report of a finished command',
      record.id,
    );
  }

  /** No one has to be told of it any more. */
  async #forget(id: string): Promise<void> {
    await this.#attempt(rm(this.#recordPath(id), { force: true }), 'record not removed', id);
  }

  async #drop({ id, file }: BackgroundProcess): Promise<void> {
    this.#all.delete(id);
    await this.#attempt(file.close(), 'output not closed', id);
  }

  /** Nobody waits for these, so that their failure is for the log. */
  async #attempt(work: Promise<unknown>, failure: string, id: string): Promise<void> {
    await work.catch((error: unknown) =>
      this.#options.log.warn(`background: ${failure}`, { process: id, reason: errorMessage(error) }),
    );
  }

  async #mark(folder: string, from: number): Promise<void> {
    const { markChanged, log } = this.#options;
    await markChanged?.(folder, from).catch((error: unknown) =>
      log.error('background: changed files not marked', { folder, reason: errorMessage(error) }),
    );
  }

  #recordPath(id: string): string {
    return join(this.#options.records, `${id}.json`);
  }
}

function parsed(text: string): ProcessRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Wakes a session when a command has ended. */
function endedText({ record: { id, command, output }, durationMs, file: { bytes }, end }: BackgroundProcess): string {
  return [
    `The command that you started in the background as ${id} has ended, after ${Math.round(durationMs / 1000)} s: ${quoted(command)}`,
    end?.notes.join(' '),
    bytes === 0
      ? 'It wrote nothing.'
      : `It wrote ${bytes} bytes; the tool process with the action poll shows them, and so does read_file with the path ${output}.`,
    'Tell the person what came of it, or go on with what waited for it.',
  ].join('\n');
}

/** Wakes a session when a command ended with the assistant's process. */
function lostText({ id, command, output }: ProcessRecord): string {
  return [
    `The command that you started in the background as ${id} is gone: the process of the assistant stopped while it ran, and it was ended with it: ${quoted(command)}`,
    `Whether it had done its work is not known. What it wrote until then is in ${output} (read_file).`,
    'Tell the person, or start it again if that is safe and still wanted.',
  ].join('\n');
}

function quoted(command: string): string {
  return `\`${command.replaceAll('`', "'")}\``;
}
