import { join } from 'node:path';
import { AppError, errorMessage, plural, sessionKeyOf, type App, type InboundMessage, type z } from '../../core/api.ts';
import { hasChannel, localRole } from '../../core/api-tools.ts';
import { machineZone } from '../../core/api-time.ts';
import { foundNotice } from './found-jobs.ts';
import { JobStore } from './job-store.ts';
import { brokenSentence, JobsFile } from './jobs-file.ts';
import type { CronAnswer, cronParams } from './operation.ts';
import { CronRuns } from './runs.ts';
import { CronScheduler } from './scheduler.ts';
import { CronService, type CronCaller } from './service.ts';
import { cron as settings } from './settings.ts';

const OFF = 'The schedule is switched off (`cron.enabled` in the configuration).';
const RESTS =
  'I am in safe mode: reminders with a fixed text are sent, other scheduled jobs wait. /restart ends safe mode.';

/** The rows of jobs and runs. */
export const runsOf = (app: App): CronRuns => new CronRuns({ ...app.journal, clock: app.clock });

/** The schedule of an assistant; use it by `app.once(schedule)`. */
export const schedule = (app: App): Schedule => new Schedule(app);

/** The jobs, what runs them when they are due, and what people ask of them. */
class Schedule implements AsyncDisposable {
  readonly #app: App;
  readonly jobs: JobStore;
  readonly cron: CronScheduler;
  readonly #service: CronService;

  constructor(app: App) {
    this.#app = app;
    const { config, paths, clock, log } = app;
    const runs = app.once(runsOf);
    const zone = machineZone();
    this.jobs = new JobStore({
      file: new JobsFile({
        path: join(paths.workspace, 'cron', 'jobs.json'),
        quarantine: paths.quarantine,
        clock,
        zone: config.agent.timezone ?? zone,
        hasChannel: (name) => hasChannel(config, name),
      }),
      runs,
      clock,
      log,
      timezone: config.agent.timezone,
      machineZone: zone,
      found: (entries) => {
        const { id, text, button } = foundNotice(entries);
        return app.notices.tell(id, text, button);
      },
      broken: (file) => {
        const { reason, copy } = file;
        log.warn('cron: cron/jobs.json cannot be used', { reason, copy });
        const kept = copy === null ? '' : ` A copy of the file is in ${copy}.`;
        return app.notices.tell(`cron-broken:${copy ?? clock.now()}`, `${brokenSentence(file)}${kept}`);
      },
      rewritten: (count) => {
        log.warn('cron: cron/jobs.json was gone and is written again', { jobs: count });
        const text = `cron/jobs.json was gone, so I wrote it again with the ${plural(count, 'job')} that I knew. To remove a job: \`/cron remove ID\`.`;
        return app.notices.tell(`cron-rewritten:${clock.now()}`, text);
      },
    });
    this.cron = new CronScheduler(app, this.jobs, { runs });
    this.#service = new CronService(app, this.jobs, { cron: this.cron, runs });
  }

  /** Throws `cron-off` where the schedule is off. */
  requireOn(): void {
    if (!this.#app.settingsOf(settings).enabled) throw new AppError('cron-off', OFF);
  }

  /** Asks the service; in safe mode its answer says what waits. Throws `cron-off` where the schedule is off. */
  async ask(question: (service: CronService) => Promise<CronAnswer>): Promise<CronAnswer> {
    this.requireOn();
    const answer = await question(this.#service);
    return this.#app.safe ? { ...answer, text: `${answer.text}\n\n${RESTS}` } : answer;
  }

  /** One of the actions on a job. */
  one(by: CronCaller, action: string, id: string, code = ''): Promise<CronAnswer> {
    return this.ask((service) => {
      switch (action) {
        case 'show':
          return service.show(by, id);
        case 'remove':
          return service.remove(by, id);
        case 'enable':
          return service.enable(by, id, code);
        case 'disable':
          return service.disable(by, id);
        case 'run':
          return service.run(by, id);
        default:
          return service.list(by);
      }
    });
  }

  /** Begins to run what is due. Never throws. */
  async start(): Promise<void> {
    await this.cron
      .start()
      .catch((error: unknown) => this.#app.log.error('cron: start failed', { reason: errorMessage(error) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cron.stop();
  }
}

/** What the operation answers: the owner asks, who is at the terminal or the page. */
export async function answerOwner(app: App, asked: z.output<typeof cronParams>): Promise<CronAnswer> {
  const { action, id, code, job } = asked;
  const by = ownerAtHome(app.people.ownersChat());
  const open = app.once(schedule);
  if (action !== 'add' && action !== 'replace') return await open.one(by, action, id ?? '', code);
  if (job === undefined) throw new AppError('cron-refused', 'The job is missing: say when it runs and what it does.');
  return await open.ask((service) => (action === 'add' ? service.add(by, job) : service.replace(by, id ?? '', job)));
}

/** A person at the terminal; their jobs write to the chat in which the owner last wrote. */
export function ownerAtHome(chat: InboundMessage | undefined): CronCaller {
  return {
    creator: { channel: 'terminal', id: 'owner', account: 'local', chat: 'main', chatType: 'direct' },
    role: localRole('terminal'),
    chat: chat === undefined ? 'terminal:main' : sessionKeyOf({ channel: chat.channel, chatId: chat.chatId }),
  };
}
