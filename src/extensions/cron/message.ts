import { FROM, type InboundMessage, type OutboundMessage, parseChat, type Role, sessionKeyOf } from '../../core/api.ts';
import { localText, durationText } from '../../core/api-time.ts';
import type { Job, JobCreator } from './job.ts';

/** A run that starts later than this after its due time, ms, says that it is late. */
export const ON_TIME_MS = 60_000;
const TTL_MS = 24 * 3_600_000;

export interface RunFacts {
  readonly job: Job;
  readonly dueAt: number;
  readonly now: number;
  /** Time zone of the person, for the times in texts. */
  readonly zone: string;
}

/** The session in which the runs of a job are held. */
export function jobSession(id: string): string {
  return sessionKeyOf({ channel: 'cron', chatId: id });
}

/** The message that a run of kind `message` sends. Its id depends on the job and the due time only, so a repeat is not sent twice. */
export function reminder({ job, dueAt, now, zone }: RunFacts): OutboundMessage {
  const late = now - dueAt > ON_TIME_MS;
  const note = `\n\n_Late: this was for ${localText(dueAt, zone)}, and I couldn't send it then._`;
  const text = late ? `${job.text}${note}` : job.text;
  return toChat(job, { id: runId(job.id, dueAt), text, now, from: `the reminder ${job.id}` });
}

/** The notice that a task was missed and will not be done. */
export function missedNotice({ job, dueAt, now, zone }: RunFacts, why: string): OutboundMessage {
  const text = `I missed the task \`${job.id}\` of ${localText(dueAt, zone)}: ${why}. It was not done.`;
  return toChat(job, { id: `${runId(job.id, dueAt)}:missed`, text, now, from: 'the schedule' });
}

/** The notice that a job that runs once came due before a restore, so that nobody knows whether it ran. */
export function restoredNotice({ job, dueAt, now, zone }: RunFacts): OutboundMessage {
  const what = (done: string): string =>
    `I may have ${done} \`${job.id}\` of ${localText(dueAt, zone)} already, before I was restored from a backup`;
  const text =
    job.kind === 'message'
      ? `${what('sent the reminder')}. In case I didn't: ${job.text}`
      : `${what('done the task')}, so I didn't do it again.`;
  return toChat(job, { id: `${runId(job.id, dueAt)}:restored`, text, now, from: 'the schedule' });
}

/** The inbound message that starts the turn of a run, or runs its command. */
export function runRequest(
  facts: RunFacts,
  by: {
    readonly id: string;
    readonly creator: JobCreator;
    readonly role: Role;
    readonly sessionKey: string;
    readonly isLast: boolean;
    /** A person asked for this run just now. */
    readonly asked: boolean;
  },
): InboundMessage {
  const { job, dueAt, now } = facts;
  const { creator } = by;
  const target = jobAddressOf(job);
  const isHome = creator.channel === target.channel && creator.chat === target.chatId;
  return {
    id: by.id,
    ...target,
    account: creator.channel === target.channel ? creator.account : 'cron',
    // Nothing is known of another chat, so it counts as a group.
    chatType: isHome ? creator.chatType : 'group',
    sender: { id: creator.id, ...(creator.name === undefined ? {} : { name: creator.name }), isBot: false },
    role: by.role,
    text: job.kind === 'command' ? job.text : taskText(facts),
    media: [],
    mentioned: true,
    context: [],
    receivedAt: now,
    externalId: runId(job.id, dueAt),
    sessionKey: by.sessionKey,
    origin: 'cron',
    untrusted: false,
    metadata: { job: job.id, dueAt, once: by.isLast, asked: by.asked, [FROM]: `the job ${job.id}` },
  };
}

/** The chat that the messages of a job go to. */
export function jobAddressOf({ chat }: Pick<Job, 'chat'>): {
  readonly channel: string;
  readonly chatId: string;
  readonly threadId?: string;
} {
  // The file was checked when it was read.
  return parseChat(chat) ?? { channel: 'terminal', chatId: 'main' };
}

/** Begins with the program's own words, so that no prompt is read as a slash command. */
function taskText({ job, dueAt, now, zone }: RunFacts): string {
  const late = now - dueAt > ON_TIME_MS ? `, ${durationText(now - dueAt)} late` : '';
  return [
    `Scheduled task "${job.id}", due ${localText(dueAt, zone)}${late}:`,
    job.text,
    'This turn was started by the schedule, and no one waits for an answer. Your last text is sent to this chat; when there is nothing worth telling, call the tool cron with the action silent instead.',
  ].join('\n\n');
}

/** The id of a run: that of its message, and its turn's external id. */
export function runId(job: string, dueAt: number): string {
  return `cron:${job}:${dueAt}`;
}

function toChat(
  job: Job,
  { id, text, now, from }: { readonly id: string; readonly text: string; readonly now: number; readonly from: string },
): OutboundMessage {
  return {
    id,
    ...jobAddressOf(job),
    kind: 'notice',
    text,
    media: [],
    expiresAt: now + TTL_MS,
    metadata: { job: job.id, [FROM]: from },
  };
}
