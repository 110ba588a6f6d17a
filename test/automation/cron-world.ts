import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ORIGINS, TABLES } from '../support/extensions.ts';
import { CronRuns } from '../../src/extensions/cron/runs.ts';
import type { InboundDraft, InboundMessage, Role } from '../../src/core/bus/messages.ts';
import { CronScheduler } from '../../src/extensions/cron/scheduler.ts';
import { CronService } from '../../src/extensions/cron/service.ts';
import type { App } from '../../src/core/app.ts';
import { appWith } from '../support/app-with.ts';
import { hashOfJob, jobSchema, type Job, type JobCreator } from '../../src/extensions/cron/job.ts';
import { JobStore } from '../../src/extensions/cron/job-store.ts';
import { JobsFile } from '../../src/extensions/cron/jobs-file.ts';
import type { CronRun } from '../../src/extensions/cron/rows.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { tempFolder } from '../support/temp.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const CREATOR: JobCreator = {
  channel: 'telegram',
  id: '42',
  account: 'bot',
  chat: '42',
  chatType: 'direct',
};

/** The scheduler with a real journal and a real file, under a clock that the test moves; the agent is a sentence. */
export class CronWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly folder: string;
  readonly store: CronRuns;
  readonly journal: Journal;
  readonly notices: { readonly id: string; readonly text: string }[] = [];
  readonly #stack: AsyncDisposableStack;
  settings = { catchUp: 'once' as 'once' | 'skip', graceMinutes: 720, maxConcurrent: 2 };
  role: Role | null = 'owner';
  /** Ids of jobs that cannot be started: the look at them throws. */
  readonly broken = new Set<string>();
  peopleWait = false;
  /** The configured zone, and the machine's. */
  zones: { readonly timezone: string | null; readonly machineZone: string } = {
    timezone: 'Europe/Vienna',
    machineZone: 'UTC',
  };
  /** How the next turns end; a turn stays open while it is null. */
  outcome: 'answered' | 'failed' | null = 'answered';
  /** What was asked of the agent, oldest first. */
  readonly requests: { readonly message: InboundMessage; readonly at: number }[] = [];
  jobStore!: JobStore;
  cron!: CronScheduler;
  service!: CronService;
  #up = false;
  #answering: Promise<void> = Promise.resolve();
  longestSleepMs = 60_000;

  private constructor(parts: { clock: VirtualClock; folder: string; journal: Journal; stack: AsyncDisposableStack }) {
    this.clock = parts.clock;
    this.folder = parts.folder;
    this.journal = parts.journal;
    this.store = new CronRuns({ ...parts.journal, clock: parts.clock });
    this.#stack = parts.stack;
  }

  static async open(start = Date.UTC(2026, 10, 21, 12)): Promise<CronWorld> {
    await using stack = new AsyncDisposableStack();
    const clock = new VirtualClock(start);
    const folder = stack.use(await tempFolder()).path;
    await mkdir(join(folder, 'cron'));
    const newId = createIds(clock, systemRandom);
    // Its watch of the file, every 5 s, would take most of the time of a virtual month.
    const unwatched = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      timer: () => ({ [Symbol.dispose]() {} }),
    };
    const options = {
      path: join(folder, 'state.db'),
      backupPath: null,
      clock: unwatched,
      newId,
      tables: TABLES,
      origins: ORIGINS,
    };
    const journal = stack.use(await openJournal(options));
    return new CronWorld({ clock, folder, journal, stack: stack.move() });
  }

  get path(): string {
    return join(this.folder, 'cron', 'jobs.json');
  }

  /** A process begins. */
  async start(): Promise<void> {
    const { clock } = this;
    const file = new JobsFile({
      path: this.path,
      quarantine: join(this.folder, 'quarantine'),
      clock,
      zone: 'Europe/Vienna',
      hasChannel: (name) => name !== 'whatsapp',
    });
    this.jobStore = new JobStore({
      file,
      runs: this.store,
      clock,
      log: silentLog,
      ...this.zones,
      found: async (entries) =>
        this.notices.push(...entries.map(({ job, hash }) => ({ id: `found:${job.id}:${hash}`, text: job.text }))) > 0,
      rewritten: async (jobs) => this.notices.push({ id: 'rewritten', text: String(jobs) }) > 0,
      broken: async ({ reason, copy }) => this.notices.push({ id: `broken:${copy}`, text: reason }) > 0,
    });
    const app = appWith({
      clock,
      log: silentLog,
      newId: createIds(clock, systemRandom),
      safe: false,
      serving: true,
      settingsOf: (() => this.settings) as unknown as App['settingsOf'],
      people: {
        roleNow: ({ account }: JobCreator) => {
          if (this.broken.has(account)) throw new Error('a gate is broken');
          return this.role;
        },
      } as unknown as App['people'],
      bus: { sessionOf: ({ channel, chatId }: InboundDraft) => `${channel}:${chatId}` } as App['bus'],
      journal: { inbox: { counts: () => ({ accepted: this.peopleWait ? 1 : 0 }) } } as unknown as App['journal'],
      rendered: async (text) => text,
      notices: {
        tell: async (id: string, text: string) => {
          if (!this.notices.some((one) => one.id === id)) this.notices.push({ id, text });
          return true;
        },
      } as unknown as App['notices'],
      turns: { stop: () => {} } as unknown as App['turns'],
    });
    const { longestSleepMs } = this;
    this.cron = new CronScheduler(app, this.jobStore, { runs: this.store, longestSleepMs });
    this.service = new CronService(app, this.jobStore, { cron: this.cron, runs: this.store });
    this.journal.inbox.onQueued(() => this.#wake());
    this.#up = true;
    const { cron } = this;
    clock.settled = async () => {
      for (let rounds = 0; rounds < 2; rounds += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        await cron.idle();
        await this.#answering;
      }
    };
    await this.cron.start();
    this.#wake();
    await clock.settled();
  }

  /** The process ends; nothing more happens until it starts again. */
  async stop(): Promise<void> {
    if (!this.#up) return;
    this.#up = false;
    await this.cron.stop();
    await settle();
  }

  async add(job: Partial<Job> & Pick<Job, 'id'>, role: Role = 'owner'): Promise<Job> {
    const whole = jobSchema.parse({ text: 'do it', chat: 'telegram:42', ...job });
    await this.jobStore.add(whole, { creator: { ...CREATOR, account: job.id }, role }, this.clock.now());
    await this.cron.look();
    return whole;
  }

  /** As a person with an editor. */
  async edit(jobs: readonly object[] | string): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true });
    const text = typeof jobs === 'string' ? jobs : JSON.stringify({ version: 1, jobs });
    await writeFile(this.path, text);
    await this.cron.look();
  }

  async onDisk(): Promise<readonly Job[]> {
    return (JSON.parse(await readFile(this.path, 'utf8')) as { jobs: readonly Job[] }).jobs;
  }

  hash(job: Job): string {
    return hashOfJob(job);
  }

  runs(job: string): readonly CronRun[] {
    return this.store.runs(job, 100_000).toReversed();
  }

  /** Texts that were sent, oldest first. */
  sent(): readonly string[] {
    return this.journal.outbox.page(0, 100_000).map(({ message }) => message.text);
  }

  /** Ends the turns that are open, or begins and ends what waits. */
  #wake(): void {
    this.#answering = this.#answering.then(() => this.#answer());
  }

  async #answer(): Promise<void> {
    for (const { message } of this.journal.inbox.page(0, 1_000)) {
      const turn = { id: message.id, session: message.sessionKey, role: message.role, messages: [message] };
      const claimed = await this.journal.turns.claim(turn);
      if (claimed.length > 0) this.requests.push({ message, at: this.clock.now() });
    }
    await this.finish();
  }

  async finish(): Promise<void> {
    if (this.outcome === null) return;
    for (const { id } of this.journal.turns.open()) await this.journal.turns.close(id, this.outcome, []);
    if (this.#up) void this.cron.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#stack.disposeAsync();
  }
}
