import {
  AppError,
  parseChat,
  sessionKeyOf,
  z,
  type App,
  type Contributions,
  type InboundMessage,
} from '../../core/api.ts';
import type { RecordedJob } from '../../core/api-tools.ts';
import { cronCommand } from './command.ts';
import type { RestoredJob } from './restore-jobs.ts';
import { CronRuns } from './runs.ts';
import type { CronCaller } from './service.ts';
import { cron as settings } from './settings.ts';
import { cronTool, type CronPort, type CronToolCaller } from './tool.ts';

/** The schedule in a running assistant. What keeps and runs the jobs is loaded at the first use, or when it starts. */
export function openCron(app: App): Contributions {
  const { journal, changes, bus } = app;
  const runs = new CronRuns({ ...journal, clock: app.clock });
  const isEnabled = (): boolean => app.settingsOf(settings).enabled;
  const load = async () => app.once((await import('./schedule-service.ts')).schedule);
  let started: Awaited<ReturnType<typeof load>> | undefined;
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
  const port: CronPort = {
    add: async (by, job) => await (await load()).ask((service) => service.add(personOf(by), job)),
    list: async (by) => await (await load()).ask((service) => service.list(personOf(by))),
    one: async (by, action, id) => await (await load()).one(personOf(by), action, id),
    job: async (by, id) => {
      const caller = personOf(by);
      const shown = await (await load()).one(caller, 'show', id).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'cron-unknown') return null;
        throw error;
      });
      return shown?.jobs[0] ?? null;
    },
    silence: (turnId, reason) => runs.silence(turnId, reason),
  };
  const listening = bus.listen((event) => {
    if (event.type !== 'turn-end' || started === undefined) return;
    if (event.answers.some((id) => id.startsWith('cron:'))) void started.cron.look();
  });
  return {
    tools: isEnabled() ? [cronTool(port)] : [],
    commands: [
      cronCommand(
        async (message, action, id, code) => (await (await load()).one(personIn(message), action, id, code)).text,
      ),
    ],
    turns: {
      cron: {
        holdBack: async ({ turnId, messages }, { outcome, answer }, hasSent) => {
          // What fails again and again is told after three times; what runs once, or was asked for now, says so itself.
          if (outcome === 'failed') {
            const { once, asked } = messages.at(-1)?.metadata ?? {};
            return once !== true && asked !== true && (await runs.silence(turnId, answer));
          }
          if (runs.silenced(turnId) !== null) return true;
          return !hasSent && answer === '' && (await runs.silence(turnId, 'it had nothing to report'));
        },
        wasHeldBack: (turnId) => runs.silenced(turnId) !== null,
      },
    },
    sessions: { cron: { isOver: (key) => !runs.jobs().some(({ id }) => key === `cron:${id}`) } },
    undo: {
      restore: async (recorded: readonly RecordedJob[], dry: boolean): Promise<readonly RestoredJob[]> => {
        if (recorded.length === 0) return [];
        const [opened, { restoreJobs }] = await Promise.all([load(), import('./restore-jobs.ts')]);
        opened.requireOn();
        const restored = await restoreJobs(recorded, { jobStore: opened.jobs, clock: app.clock, dry });
        if (!dry) await opened.cron.look();
        return restored;
      },
    },
    why: {
      find: async (about, count) => {
        const found = runs.runs(about, count);
        const job = runs.job(about);
        if (job === undefined && found.length === 0) return undefined;
        const isActive = runs.jobs().some(({ id }) => id === about);
        const state = isActive ? (job?.enabled === true ? 'on' : 'off') : 'over';
        const { jobStory, stepOf } = await import('./why.ts');
        return {
          story: (turnCause) =>
            jobStory({ id: about, runs: found, state, turnCause }, { zone: app.zone(), now: app.clock.now() }),
          turn: found[0]?.turnId != null && /failed|stopped/u.test(found[0].execution) ? found[0].turnId : null,
          steps: found.map(stepOf),
        };
      },
      newest: async (count) => {
        const { stepOf } = await import('./why.ts');
        return runs.newest(count).map(stepOf);
      },
    },
    retries: ({ role, chatType, channel, chatId }) => {
      // Others see their jobs' failures in `/cron`, and a group hears of no job but its own.
      if (role !== 'owner' || !isEnabled()) return [];
      const failed = runs
        .jobs()
        .filter((job) => chatType === 'direct' || isFor(job, { channel, chatId }))
        .filter(({ id, since }) => runs.failures(id, since).count > 0);
      return failed.map(({ id }) => `The last run of the job \`${id}\` failed: \`/cron run ${id}\` runs it again.`);
    },
    restored: async (until) => {
      const { cron } = await load();
      const due = (await cron.dueUpTo(until)).map((id) => `\`${id}\``).join(', ');
      const again = isEnabled() ? ' `/cron run ID` runs one now.' : '';
      return {
        says:
          due === ''
            ? ''
            : `These jobs came due after it and may have run already, so I don't run them for those times: ${due}.${again}`,
        end: () => cron.skipRestored(until),
      };
    },
    zone: () => started?.jobs.zone,
    start: async () => {
      // A trial runs nothing; safe mode sends what needs neither a plugin nor a model.
      if (!isEnabled() || (app.safe && !journal.starts.isLoop)) return;
      started = await load();
      await started.start();
    },
    stop: async () => {
      listening[Symbol.dispose]();
      await started?.cron.stop();
    },
  };
}

const jobChat = z.object({ chat: z.string() });

/** Whether a job sends to this chat. */
function isFor(
  { definition }: { readonly definition: string },
  here: Pick<InboundMessage, 'channel' | 'chatId'>,
): boolean {
  const to = parseChat(jobChat.parse(JSON.parse(definition)).chat);
  return to?.channel === here.channel && to.chatId === here.chatId;
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
  if (role === 'owner') {
    const creator = { channel: 'terminal', id: 'owner', account: 'local', chat: 'main', chatType: 'direct' } as const;
    return { creator, role: 'owner', chat: 'terminal:main' };
  }
  throw new AppError('cron-refused', 'Nothing says who asks for this.');
}
