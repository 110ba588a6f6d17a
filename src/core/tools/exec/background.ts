import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as z from 'zod';
import { endLeftPrograms } from '../../security/enclosure/processes.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { CappedFile } from '../../storage/capped-file.ts';
import { ensureDirectory, namesIn, readIfExists, replaceDurable } from '../../storage/files.ts';
import { backoffMs } from '../../util/backoff.ts';
import { sleep, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { Random } from '../../util/random.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { oneLine } from '../../util/text.ts';
import type { FileOrigins } from '../../files/origins.ts';
import type { Executed, ToolContext } from '../tool.ts';
import { BackgroundProcess, type BackgroundCommand } from './background-process.ts';
import { withNotes } from './run.ts';

const recordSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  command: z.string(),
  /** Absolute path of what it wrote. */
  output: z.string(),
  /** Milliseconds since 1970. */
  startedAt: z.number(),
  untrusted: z.boolean(),
  /** Who is told of its end, and where. */
  addressee: z.object({
    channel: z.string(),
    account: z.string(),
    chatId: z.string(),
    threadId: z.string().optional(),
    chatType: z.enum(['direct', 'group']),
    sender: z.object({
      id: z.string(),
      name: z.string().optional(),
      username: z.string().optional(),
      isBot: z.boolean(),
    }),
    role: z.enum(['owner', 'trusted', 'guest']),
    sessionKey: z.string(),
  }),
});

/** What outlives the assistant's own process about a command in the background: a file until somebody knows of its end. */
type ProcessRecord = z.infer<typeof recordSchema>;
export type Addressee = ProcessRecord['addressee'];

/** What wakes a session. */
export interface ProcessNews {
  /** Of the process; news of the same one are the same. */
  readonly id: string;
  readonly addressee: Addressee;
  readonly text: string;
  readonly untrusted: boolean;
}

export interface BackgroundProcessesOptions {
  /** Where the outputs of a session lie; it can read them there. */
  readonly outputs: (sessionKey: string) => string;
  /** Folder for what has to outlive the assistant's own process. */
  readonly records: string;
  /** Absolute path of the one that commands run in. */
  readonly workspace: string;
  /** Whom the turn that answers this message speaks to; undefined: no one. */
  readonly addressee: (messageId: string) => Addressee | undefined;
  /** Queues the news, once for each process. May reject while the disk is full. */
  readonly wake: (news: ProcessNews) => Promise<void>;
  /** The news are known: takes them back as long as no turn has them. */
  readonly withdraw: (news: Pick<ProcessNews, 'id' | 'addressee'>) => Promise<void>;
  readonly redact: (text: string) => string;
  /** @default nothing is known of strangers */
  readonly origins?: FileOrigins;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

interface Entry {
  readonly process: BackgroundProcess;
  readonly record: ProcessRecord;
  /** Its session is not to be told of its end. */
  isQuiet: boolean;
  /** The news are on their way or out. */
  waking: Promise<void> | undefined;
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
/** How long news may take to be queued before they are taken back. */
const NEWS_WAIT_MS = 1_000;
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
  readonly #options: BackgroundProcessesOptions;
  readonly #entries = new Map<string, Entry>();
  /** By session, since a person last started something there. */
  readonly #wakes = new RecentMap<string, number>(MOST_SESSIONS);
  readonly #closing = new AbortController();
  #starting = 0;

  constructor(options: BackgroundProcessesOptions) {
    this.#options = options;
  }

  /** Ends what an earlier process left running and has its sessions told; `hasDied`: it did not stop in order. Never rejects. */
  async recover({ hasDied = true } = {}): Promise<void> {
    const { clock, log, workspace, records } = this.#options;
    try {
      if (hasDied && !(await endLeftPrograms(workspace, clock)))
        log.error('exec: commands of an earlier process could not be ended');
      for (const name of await namesIn(records)) {
        const record = parsed((await readIfExists(join(records, name))) ?? '');
        if (record === undefined || `${record.id}.json` !== name) await rm(join(records, name), { force: true });
        else void this.#publish({ ...record, text: lostText(record) }, () => true);
      }
    } catch (error) {
      log.error('background: records of earlier commands not read', { reason: errorMessage(error) });
    }
  }

  /** Starts a command and returns its first output; ends it if the turn is stopped meanwhile. */
  async begin(
    command: BackgroundCommand,
    context: Pick<ToolContext, 'call' | 'person'>,
    signal: AbortSignal,
  ): Promise<Executed> {
    const process = await this.#start(command, context);
    const { clock } = this.#options;
    await Promise.race([process.done, sleep(clock, FIRST_LOOK_MS, signal).catch(() => {})]);
    if (signal.aborted) {
      await this.kill(process);
      signal.throwIfAborted();
    }
    const { text, more } = await process.page(undefined, FIRST_CHARS);
    const isOver = process.end !== null;
    if (isOver) await this.seen(process);
    const { id, path, durationMs, bits, exitCode } = process;
    const rest = more > 0 ? [`The tool process with the action poll and the id ${id} shows the rest.`] : [];
    const running = `It runs in the background as ${id}. You are told when it ends, so do not wait for it. The tool process shows its output, writes to its input and ends it. Its output is also in the file ${path}.`;
    return {
      title: oneLine(`${isOver ? 'ran' : 'started'} ${escapeControlChars(command.command)}`, 80),
      output: withNotes(text, isOver ? [...process.endNotes, ...rest] : [running]),
      metadata: isOver ? { process: id, exitCode, durationMs } : { process: id, state: 'running' },
      ...(process.isFailed ? { isError: true } : {}),
      ...bits,
    };
  }

  /** Throws an `AppError` when it cannot run here. */
  async #start(command: BackgroundCommand, context: Pick<ToolContext, 'call' | 'person'>): Promise<BackgroundProcess> {
    const addressee = this.#addressee(context);
    this.#requireSlot(context.call.sessionKey);
    this.#starting += 1;
    try {
      const { outputs, workspace, clock, origins, random, redact, records } = this.#options;
      const id = Array.from(random.bytes(8), (byte) => SIGNS[byte % SIGNS.length]).join('');
      const folder = outputs(context.call.sessionKey);
      await ensureDirectory(folder);
      await using undo = new AsyncDisposableStack();
      const file = await CappedFile.create(join(folder, `process-${id}.txt`), MOST_OUTPUT_BYTES);
      undo.defer(() => file.close());
      const record: ProcessRecord = {
        v: 1,
        id,
        command: oneLine(redact(command.command), 200),
        output: file.path,
        startedAt: clock.now(),
        untrusted: command.mayWriteTheirs,
        addressee,
      };
      // Recorded first, so that its session is told even after a crash.
      await ensureDirectory(records);
      await replaceDurable(this.#recordPath(id), `${JSON.stringify(record)}\n`);
      undo.defer(() => rm(this.#recordPath(id), { force: true }));
      const process = await BackgroundProcess.start(command, { id, mark: workspace, file, clock, origins });
      undo.move();
      const entry: Entry = { process, record, isQuiet: false, waking: undefined };
      this.#entries.set(id, entry);
      void process.done.then(() => this.#ended(entry));
      return process;
    } finally {
      this.#starting -= 1;
    }
  }

  /** Those of a session, oldest first. */
  of(sessionKey: string): readonly BackgroundProcess[] {
    return this.#of(sessionKey).map(({ process }) => process);
  }

  /** How many of a session run. */
  running(sessionKey: string): number {
    return this.of(sessionKey).filter(({ end }) => end === null).length;
  }

  /** Its session knows of its end: it is not told of it. */
  async seen({ id }: BackgroundProcess): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.process.end === null || entry.isQuiet) return;
    entry.isQuiet = true;
    const { clock, withdraw, log } = this.#options;
    if (entry.waking !== undefined) {
      await Promise.race([entry.waking, sleep(clock, NEWS_WAIT_MS)]);
      await withdraw(entry.record).catch((error: unknown) =>
        log.warn('background: the end of a command is told twice', { process: id, reason: errorMessage(error) }),
      );
    }
    await this.#forget(id);
  }

  /** Ends one for its own session, which is not told of it. */
  async kill({ id }: BackgroundProcess): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.isQuiet ||= entry.process.end === null;
    await entry.process.stop();
    await this.#forget(id);
  }

  /** Somebody stopped the session: all that it has running ends, and it is told of nothing. */
  async stopSession(sessionKey: string): Promise<void> {
    const entries = this.#of(sessionKey);
    for (const entry of entries) entry.isQuiet = true;
    await Promise.all(entries.map(({ process }) => this.kill(process)));
  }

  /** Ends all; their sessions are told at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the process is stopping'));
    const entries = [...this.#entries.values()];
    await Promise.all(entries.map(({ process }) => process.stop()));
    await Promise.all(entries.map((entry) => this.#drop(entry)));
  }

  #of(sessionKey: string): readonly Entry[] {
    return [...this.#entries.values()].filter(({ record }) => record.addressee.sessionKey === sessionKey);
  }

  #addressee({ call, person }: Pick<ToolContext, 'call' | 'person'>): Addressee {
    const { role, origin } = person;
    const found = this.#options.addressee(call.messageId);
    if (found === undefined || origin === 'subagent') {
      const why = 'no one could be told here when the command ends; run it without background: true';
      throw new AppError('process-nobody', `Nothing was started, because ${why}.`);
    }
    if (origin === 'user' || origin === 'api') this.#wakes.delete(call.sessionKey);
    return { ...found, role, sessionKey: call.sessionKey };
  }

  #requireSlot(sessionKey: string): void {
    const all = [...this.#entries.values()].filter(({ process }) => process.end === null).length;
    if (this.#closing.signal.aborted || all + this.#starting >= MOST_RUNNING_IN_ALL)
      throw new AppError('process-room', 'Nothing was started: too many commands run in the background already.');
    const running = this.of(sessionKey).filter(({ end }) => end === null);
    if (running.length >= MOST_RUNNING) {
      const ids = running.map(({ id }) => id).join(', ');
      throw new AppError(
        'process-room',
        `Nothing was started: ${MOST_RUNNING} commands run in the background here already (${ids}). End one with process first.`,
      );
    }
    if ((this.#wakes.get(sessionKey) ?? 0) >= MOST_WAKES) {
      throw new AppError(
        'process-circle',
        `Nothing was started: commands in the background woke this session ${MOST_WAKES} times since a person last asked for one. Run it without background: true, or say what is left to do.`,
      );
    }
  }

  async #ended(entry: Entry): Promise<void> {
    const { process, record } = entry;
    const { sessionKey } = record.addressee;
    const ended = [...this.#entries.values()].filter((one) => one.process.end !== null);
    for (const one of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) void this.#drop(one);
    await sleep(this.#options.clock, NEWS_DELAY_MS, this.#closing.signal).catch(() => {});
    if (entry.isQuiet) return await this.#forget(record.id);
    // What ends with the assistant is told at its next start.
    if (this.#closing.signal.aborted) return;
    this.#wakes.set(sessionKey, (this.#wakes.get(sessionKey) ?? 0) + 1);
    const untrusted = record.untrusted || process.bits.untrusted === true;
    entry.waking = this.#publish({ ...record, untrusted, text: endedText(record, process) }, () => !entry.isQuiet);
    await entry.waking;
  }

  /** Never rejects; what is not queued when the assistant ends is queued at its next start. */
  async #publish(news: ProcessNews, isWanted: () => boolean): Promise<void> {
    const { wake, clock, random, log } = this.#options;
    const { signal } = this.#closing;
    for (let failures = 1; !signal.aborted && isWanted(); failures += 1) {
      try {
        await wake(news);
        await rm(this.#recordPath(news.id), { force: true });
        return;
      } catch (error) {
        log.error('background: could not report that a command finished', { reason: errorMessage(error) });
        await sleep(clock, backoffMs(failures, AGAIN, random), signal).catch(() => {});
      }
    }
  }

  /** No one has to be told of it any more. */
  async #forget(id: string): Promise<void> {
    await rm(this.#recordPath(id), { force: true }).catch((error: unknown) =>
      this.#options.log.warn('background: record not removed', { reason: errorMessage(error) }),
    );
  }

  async #drop(entry: Entry): Promise<void> {
    this.#entries.delete(entry.record.id);
    const file = basename(entry.record.output);
    await entry.process
      .close()
      .catch((error: unknown) =>
        this.#options.log.warn('background: output not closed', { file, reason: errorMessage(error) }),
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
function endedText({ id, command, output }: ProcessRecord, process: BackgroundProcess): string {
  const { durationMs, bytes, endNotes } = process;
  return [
    `The command that you started in the background as ${id} has ended, after ${Math.round(durationMs / 1000)} s: ${quoted(command)}`,
    endNotes.join(' '),
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
