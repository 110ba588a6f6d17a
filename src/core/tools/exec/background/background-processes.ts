import { basename, join } from 'node:path';
import { CappedFile } from '../../../storage/capped-file.ts';
import { endLeftPrograms } from '../../../security/enclosure/processes.ts';
import { ensureDirectory } from '../../../storage/files.ts';
import { backoffMs } from '../../../util/backoff.ts';
import { sleep, type Clock } from '../../../util/clock.ts';
import { AppError, errorMessage } from '../../../util/errors.ts';
import type { Logger } from '../../../util/log.ts';
import type { Random } from '../../../util/random.ts';
import { RecentMap } from '../../../util/recent-map.ts';
import { oneLine } from '../../../util/text.ts';
import type { FileOrigins } from '../../files/taint.ts';
import type { ToolContext } from '../../tool.ts';
import { BackgroundProcess, type BackgroundCommand } from './process.ts';
import { ProcessRecords, type Addressee, type ProcessRecord, endedText, lostText } from './records.ts';

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

/** Who starts a command in the background. */
type StartContext = Pick<ToolContext, 'call' | 'person'>;

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
  readonly #records: ProcessRecords;
  readonly #entries = new Map<string, Entry>();
  /** By session, since a person last started something there. */
  readonly #wakes = new RecentMap<string, number>(MOST_SESSIONS);
  readonly #closing = new AbortController();
  #starting = 0;

  constructor(options: BackgroundProcessesOptions) {
    this.#options = options;
    this.#records = new ProcessRecords(options.records);
  }

  /** Ends what an earlier process left running and has its sessions told; `hasDied`: it did not stop in order. Never rejects. */
  async recover({ hasDied = true } = {}): Promise<void> {
    const { clock, log, workspace } = this.#options;
    try {
      if (hasDied && !(await endLeftPrograms(workspace, clock)))
        log.error('exec: commands of an earlier process could not be ended');
      for (const record of await this.#records.all())
        void this.#publish({ ...record, text: lostText(record) }, () => true);
    } catch (error) {
      log.error('background: records of earlier commands not read', { reason: errorMessage(error) });
    }
  }

  /** Starts a command. Throws an `AppError` when it cannot run here. */
  async start(command: BackgroundCommand, context: StartContext): Promise<BackgroundProcess> {
    const addressee = this.#addressee(context);
    this.#requireSlot(context);
    this.#starting += 1;
    try {
      const { outputs, clock, origins, random } = this.#options;
      const id = Array.from(random.bytes(8), (byte) => SIGNS[byte % SIGNS.length]).join('');
      const folder = outputs(context.call.sessionKey);
      await ensureDirectory(folder);
      await using undo = new AsyncDisposableStack();
      const file = await CappedFile.create(join(folder, `process-${id}.txt`), MOST_OUTPUT_BYTES);
      undo.defer(() => file.close());
      const record: ProcessRecord = {
        v: 1,
        id,
        command: oneLine(this.#options.redact(command.command), 200),
        output: file.path,
        startedAt: clock.now(),
        untrusted: command.mayWriteTheirs,
        addressee,
      };
      // Recorded first, so that after a crash its processes are found by their mark.
      await this.#records.put(record);
      undo.defer(() => this.#records.remove(id));
      const process = await BackgroundProcess.start(command, {
        id,
        mark: this.#options.workspace,
        file,
        clock,
        origins,
      });
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
    return this.#of(sessionKey).filter(({ process }) => process.end === null).length;
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

  #addressee({ call, person }: StartContext): Addressee {
    const { messageId, sessionKey } = call;
    const { role, origin } = person;
    const found = this.#options.addressee(messageId);
    if (found === undefined || origin === 'subagent') {
      const why = 'no one could be told here when the command ends; run it without background: true';
      throw new AppError('process-nobody', `Nothing was started, because ${why}.`);
    }
    if (origin === 'user' || origin === 'api') this.#wakes.delete(sessionKey);
    return { ...found, role, sessionKey };
  }

  #requireSlot({ call }: StartContext): void {
    const all = [...this.#entries.values()].filter(({ process }) => process.end === null).length;
    if (this.#closing.signal.aborted || all + this.#starting >= MOST_RUNNING_IN_ALL) {
      throw new AppError('process-room', 'Nothing was started: too many commands run in the background already.');
    }
    const running = this.of(call.sessionKey).filter(({ end }) => end === null);
    if (running.length >= MOST_RUNNING) {
      const ids = running.map(({ id }) => id).join(', ');
      throw new AppError(
        'process-room',
        `Nothing was started: ${MOST_RUNNING} commands run in the background here already (${ids}). End one with process first.`,
      );
    }
    if ((this.#wakes.get(call.sessionKey) ?? 0) >= MOST_WAKES) {
      throw new AppError(
        'process-circle',
        `Nothing was started: commands in the background woke this session ${MOST_WAKES} times since a person last asked for one. Run it without background: true, or say what is left to do.`,
      );
    }
  }

  async #ended(entry: Entry): Promise<void> {
    const { process, record } = entry;
    const { sessionKey } = record.addressee;
    this.#dropOldest();
    await sleep(this.#options.clock, NEWS_DELAY_MS, this.#closing.signal).catch(() => {});
    if (entry.isQuiet) {
      await this.#forget(record.id);
      return;
    }
    // What ends with the assistant is told at its next start.
    if (this.#closing.signal.aborted) return;
    this.#wakes.set(sessionKey, (this.#wakes.get(sessionKey) ?? 0) + 1);
    const untrusted = record.untrusted || process.bits.untrusted === true;
    const news = { ...record, untrusted, text: endedText(record, process) };
    entry.waking = this.#publish(news, () => !entry.isQuiet);
    await entry.waking;
  }

  /** Never rejects; what is not queued when the assistant ends is queued at its next start. */
  async #publish(news: ProcessNews, isWanted: () => boolean): Promise<void> {
    const { wake, clock, random, log } = this.#options;
    const { signal } = this.#closing;
    for (let failures = 1; !signal.aborted && isWanted(); failures += 1) {
      try {
        await wake(news);
        await this.#records.remove(news.id);
        return;
      } catch (error) {
        log.error('background: the end of a command could not be told', { reason: errorMessage(error) });
        await sleep(clock, backoffMs(failures, AGAIN, random), signal).catch(() => {});
      }
    }
  }

  /** No one has to be told of it any more. */
  async #forget(id: string): Promise<void> {
    await this.#records.remove(id).catch((error: unknown) =>
      this.#options.log.warn('background: record not removed', {
        reason: errorMessage(error),
      }),
    );
  }

  #dropOldest(): void {
    const ended = [...this.#entries.values()].filter(({ process }) => process.end !== null);
    for (const entry of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) void this.#drop(entry);
  }

  async #drop(entry: Entry): Promise<void> {
    this.#entries.delete(entry.record.id);
    await entry.process.close().catch((error: unknown) =>
      this.#options.log.warn('background: output not closed', {
        file: basename(entry.record.output),
        reason: errorMessage(error),
      }),
    );
  }
}
