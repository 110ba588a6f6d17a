import { join } from 'node:path';
import { cronCommand } from '../../agent/commands/cron.ts';
import type { ChatCommand } from '../../agent/commands/command.ts';
import type { PeoplePorts } from '../../agent/ports.ts';
import type { HookRunner } from '../../agent/hooks/hooks.ts';
import { renderer } from '../../agent/turn/shown-text.ts';
import type { CronScheduler } from '../../automation/cron-scheduler.ts';
import type { CronAnswer, CronCaller, CronService } from '../../automation/cron-service.ts';
import type { JobCreator } from '../../automation/job.ts';
import type { JobStore } from '../../automation/job-store.ts';
import type { RestoredJob } from '../../automation/restore-jobs.ts';
import type { RecordedJob } from '../../storage/change-log.ts';
import { machineZone } from '../../util/time-zone.ts';
import type { MessageBus } from '../../bus/bus.ts';
import { sessionKeyOf, type InboundMessage, type Role } from '../../bus/messages.ts';
import type { RequestParams } from '../../gateway/operations/operations.ts';
import { asRole, decideAccess, localRole, weakest } from '../../security/access/access.ts';
import { cronTool, type CronToolCaller, type CronPort } from '../../tools/cron.ts';
import type { Tool } from '../../tools/tool.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { plural } from '../../util/text.ts';
import { hasChannel } from '../../config/channels.ts';
import { isOwnersChannel } from '../../util/owners-channels.ts';
import type { Base } from '../base.ts';
import type { Stores } from '../storage/stores.ts';
import { createTellOwner } from '../tell-owner.ts';
import { foundNotice } from './found-jobs.ts';

const OFF = 'The schedule is switched off (`cron.enabled` in the configuration).';
const RESTS =
  'I am in safe mode: reminders with a fixed text are sent, other scheduled jobs wait. /restart ends safe mode.';

export interface AutomationParts {
  readonly stores: Pick<Stores, 'journal' | 'changes'>;
  readonly bus: MessageBus;
  readonly hooks: Pick<HookRunner, 'has' | 'decide'>;
  readonly stopTurn: (turnId: string) => void;
}

/** The schedule, joined with what it reaches; loaded when it is needed. */
export interface Automation extends AsyncDisposable {
  /** None where the schedule is switched off. */
  readonly tools: readonly Tool[];
  readonly command: ChatCommand;
  readonly request: (params: RequestParams<'cron'>) => Promise<CronAnswer>;
  /** Takes recorded changes of jobs back, see `restoreJobs`. */
  readonly restoreJobs: (changes: readonly RecordedJob[], dry: boolean) => Promise<readonly RestoredJob[]>;
  /** Jobs that came due up to `at` and may have run before a restore: `dueUpTo` names them, `skipRestored` ends them. */
  readonly restored: () => Promise<Pick<CronScheduler, 'dueUpTo' | 'skipRestored'>>;
  /** Whether what a scheduled turn says is kept from people. */
  readonly holdBack: PeoplePorts['holdBack'];
  /** The person's time zone, as far as it is known. */
  readonly zone: () => string;
  /** Begins to keep the schedule. Never throws. */
  start(): Promise<void>;
}

interface CronServices {
  readonly cron: CronScheduler;
  readonly service: CronService;
  readonly jobStore: JobStore;
}

export function createAutomation(base: Base, parts: AutomationParts): Automation {
  const { stores, bus } = parts;
  const { config, log } = base;
  const { journal, changes } = stores;
  let opened: Promise<CronServices> | undefined;
  let jobStore: JobStore | undefined;
  const open = (): Promise<CronServices> => (opened ??= openCron(base, parts));
  const services = (): Promise<CronServices> => {
    if (!config.cron.enabled) throw new AppError('cron-off', OFF);
    return open();
  };
  const ask = async (question: (service: CronService) => Promise<CronAnswer>): Promise<CronAnswer> => {
    const answer = await question((await services()).service);
    return base.safe ? { ...answer, text: `${answer.text}\n\n${RESTS}` } : answer;
  };
  const one = (by: CronCaller, action: string, id: string, code = ''): Promise<CronAnswer> =>
    ask((service) => {
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
  const personOf = (by: CronToolCaller): CronCaller => ({
    ...callerOf(by, journal.inbox.byId([by.messageId])[0]),
    turnId: by.turnId,
    record: ({ job, before, after }) =>
      changes.recordJob({
        sessionKey: by.sessionKey,
        turnId: by.turnId,
        callId: by.id,
        job,
        before: before && JSON.stringify(before),
        after: after && JSON.stringify(after),
      }),
  });
  const cronPort: CronPort = {
    add: (by, job) => ask((service) => service.add(personOf(by), job)),
    list: (by) => ask((service) => service.list(personOf(by))),
    one: (by, action, id) => one(personOf(by), action, id),
    job: async (by, id) => {
      const caller = personOf(by);
      const shown = await ask((service) => service.show(caller, id)).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'cron-unknown') return null;
        throw error;
      });
      return shown?.jobs[0] ?? null;
    },
    silence: (turnId, reason) => journal.cron.silence(turnId, reason),
  };
  const listening = bus.listen((event) => {
    if (event.type !== 'turn-end' || opened === undefined) return;
    if (event.answers.some((id) => id.startsWith('cron:'))) void opened.then(({ cron }) => cron.look());
  });
  return {
    tools: config.cron.enabled ? [cronTool(cronPort)] : [],
    command: cronCommand({
      cron: async (message, action, id, code) => (await one(personIn(message), action, id, code)).text,
    }),
    request: async ({ action, id, code, job }) => {
      const by = ownerAtHome(journal.questions.ownersChat());
      if (action !== 'add' && action !== 'replace') return await one(by, action, id ?? '', code);
      if (job === undefined)
        throw new AppError('cron-refused', 'The job is missing: say when it runs and what it does.');
      return await ask((service) => (action === 'add' ? service.add(by, job) : service.replace(by, id ?? '', job)));
    },
    restoreJobs: async (recorded, dry) => {
      if (recorded.length === 0) return [];
      const [{ jobStore: store, cron }, { restoreJobs }] = await Promise.all([
        services(),
        import('../../automation/restore-jobs.ts'),
      ]);
      const restored = await restoreJobs(recorded, { jobStore: store, clock: base.clock, dry });
      if (!dry) await cron.look();
      return restored;
    },
    restored: async () => (await open()).cron,
    holdBack: async ({ turnId, messages }, { outcome, answer }, hasSent) => {
      const message = messages.at(-1);
      if (message?.origin !== 'cron') return false;
      // What fails again and again is told after three times; what runs once, or was asked for now, says so itself.
      if (outcome === 'failed') {
        if (message.metadata['once'] === true || message.metadata['asked'] === true) return false;
        return await journal.cron.silence(turnId, answer);
      }
      if (journal.cron.silenced(turnId) !== null) return true;
      return !hasSent && answer === '' && (await journal.cron.silence(turnId, 'it had nothing to report'));
    },
    zone: () => jobStore?.zone ?? config.agent.timezone ?? machineZone(),
    start: async () => {
      if (!config.cron.enabled) return;
      try {
        const { cron, jobStore: found } = await services();
        jobStore = found;
        await cron.start();
      } catch (error) {
        log.error('cron: start failed', { reason: errorMessage(error) });
      }
    },
    [Symbol.asyncDispose]: async () => {
      listening[Symbol.dispose]();
      if (opened !== undefined) await (await opened).cron.stop();
    },
  };
}

async function openCron(base: Base, { stores, bus, hooks, stopTurn }: AutomationParts): Promise<CronServices> {
  const { config, paths, clock, log, newId, redact } = base;
  const { journal } = stores;
  const [{ CronScheduler }, { CronService }, { JobStore: Store }, { JobsFile, brokenSentence }] = await Promise.all([
    import('../../automation/cron-scheduler.ts'),
    import('../../automation/cron-service.ts'),
    import('../../automation/job-store.ts'),
    import('../../automation/jobs-file.ts'),
  ]);
  const tellOwner = createTellOwner(base, { journal, bus });
  const zone = machineZone();
  const jobStore = new Store({
    file: new JobsFile({
      path: join(paths.workspace, 'cron', 'jobs.json'),
      quarantine: paths.quarantine,
      clock,
      zone: config.agent.timezone ?? zone,
      hasChannel: (name) => hasChannel(config, name),
    }),
    runs: journal.cron,
    clock,
    log,
    timezone: config.agent.timezone,
    machineZone: zone,
    found: (entries) => {
      const { id, text, button } = foundNotice(entries);
      return tellOwner(id, text, button);
    },
    broken: (file) => {
      const { reason, copy } = file;
      log.warn('cron: cron/jobs.json cannot be used', { reason, copy });
      const kept = copy === null ? '' : ` A copy of the file is in ${copy}.`;
      return tellOwner(`cron-broken:${copy ?? clock.now()}`, `${brokenSentence(file)}${kept}`);
    },
    rewritten: (jobs) => {
      log.warn('cron: cron/jobs.json was gone and is written again', { jobs });
      const text = `cron/jobs.json was gone, so I wrote it again with the ${plural(jobs, 'job')} that I knew. To remove a job: \`/cron remove ID\`.`;
      return tellOwner(`cron-rewritten:${clock.now()}`, text);
    },
  });
  const cron = new CronScheduler({
    jobStore,
    runs: journal.cron,
    clock,
    log,
    newId,
    get settings() {
      return config.cron;
    },
    gates: {
      roleOf: (creator, then) => roleNow(base, stores, creator, then),
      onlyMessages: base.safe,
      // A terminal's own process sends nothing to platforms: that is left to the gateway.
      reaches: (channel) => base.serving || channel === 'terminal',
      mainSession: (message) => {
        const { id: _, sessionKey: __, ...draft } = message;
        return bus.sessionOf({ ...draft, origin: 'user' });
      },
      rendered: async (text, { id, session }) => {
        const missing = base.plugins.missingGuards.find((guard) => guard.hooks?.render !== undefined);
        // Thrown, so that the reminder waits for its guard.
        if (missing !== undefined) throw new Error(`the guard ${JSON.stringify(missing.name)} isn't running`);
        return (await renderer({ turnId: id, sessionKey: session, messages: [] }, { hooks, redact })?.(text)) ?? text;
      },
      peopleWait: () => (journal.inbox.counts()['accepted'] ?? 0) > 0,
    },
    tellOwner: async (id, text) => void (await tellOwner(id, text)),
  });
  return {
    cron,
    jobStore,
    service: new CronService({ jobStore, runs: journal.cron, cron, clock, machineZone: zone, stopTurn }),
  };
}

/** The weaker of a role then and what the person may be now; null: they are not let in any more. */
export function roleNow(
  { config }: Pick<Base, 'config'>,
  { journal }: Pick<Stores, 'journal'>,
  by: Pick<JobCreator, 'channel' | 'id' | 'chatType' | 'chat'>,
  then: string,
): Role | null {
  if (isOwnersChannel(by.channel)) return weakest(asRole(then), localRole('terminal'));
  const decision = decideAccess({
    via: 'channel',
    settings: config.channels[by.channel],
    pairedRole: (id) => journal.people.pairedRole(by.channel, id),
    chatType: by.chatType,
    chatId: by.chat,
    sender: { id: by.id, isBot: false, isSelf: false },
  });
  return decision.allowed ? weakest(asRole(then), decision.role) : null;
}

function personIn(message: InboundMessage): CronCaller {
  const { channel, sender, account, chatId, chatType, threadId, role } = message;
  return {
    creator: {
      channel,
      id: sender.id,
      ...(sender.name === undefined ? {} : { name: sender.name }),
      account,
      chat: chatId,
      chatType,
    },
    role,
    chat: sessionKeyOf({ channel, chatId, ...(threadId === undefined ? {} : { threadId }) }),
  };
}

/** A turn's rights are those of the turn, which may be less than those of who spoke last in it. */
function callerOf({ role }: CronToolCaller, message: InboundMessage | undefined): CronCaller {
  if (message !== undefined) return { ...personIn(message), role };
  if (role === 'owner') return ownerAtHome(undefined);
  throw new AppError('cron-refused', 'Nothing says who asks for this.');
}

/** A person at the terminal; their jobs write to the chat in which the owner last wrote. */
function ownerAtHome(chat: InboundMessage | undefined): CronCaller {
  return {
    creator: { channel: 'terminal', id: 'owner', account: 'local', chat: 'main', chatType: 'direct' },
    role: localRole('terminal'),
    chat: chat === undefined ? 'terminal:main' : sessionKeyOf({ channel: chat.channel, chatId: chat.chatId }),
  };
}
