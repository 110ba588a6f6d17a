import { parseChat, sessionKeyOf, type InboundMessage, type OutboundMessage, type Role } from '../bus/messages.ts';
import { durationText } from './durations.ts';
import type { Job, JobCreator } from './job.ts';
import { localText } from '../util/time-zone.ts';

/** From here on a run says that it is late. */
export const ON_TIME_MS = 60_000;
const TTL_MS = 24 * 3_600_000;

export interface RunFacts {
  readonly job: Job;
  readonly dueAt: number;
  readonly now: number;
  /** The person's, for what is said about times. */
  readonly zone: string;
}

/** The session in which the runs of a job are held. */
export function jobSession(id: string): string {
  return sessionKeyOf({ channel: 'cron', chatId: id });
}

/** What a run of the kind `message` sends; the same for the same due time. */
export function reminder({ job, dueAt, now, zone }: RunFacts): OutboundMessage {
  const late = now - dueAt > ON_TIME_MS;
  const note = `\n\n_Late: this was for ${localText(dueAt, zone)}, and I was not running then._`;
  return toChat(job, { id: runId(job.id, dueAt), text: late ? `${job.text}${note}` : job.text, now });
}

/** What is said of a task that will not be done any more. */
export function missedNotice({ job, dueAt, now, zone }: RunFacts, why: string): OutboundMessage {
  const text = `I missed the task \`${job.id}\` of ${localText(dueAt, zone)}: ${why}. It was not done.`;
  return toChat(job, { id: `${runId(job.id, dueAt)}:missed`, text, now });
}

/** What asks for the turn of a run, or runs its command. */
export function runRequest(
  facts: RunFacts,
  by: {
    readonly id: string;
    readonly creator: JobCreator;
    readonly role: Role;
    readonly sessionKey: string;
    readonly isLast: boolean;
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
    // Of another chat nothing is known, so it counts as one in which others read along.
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
    metadata: { job: job.id, dueAt, once: by.isLast },
  };
}

/** Where its words go. */
export function jobAddressOf({ chat }: Pick<Job, 'chat'>): {
  readonly channel: string;
  readonly chatId: string;
  readonly threadId?: string;
} {
  // The file was checked when it was read.
  return parseChat(chat) ?? { channel: 'terminal', chatId: 'main' };
}

/** It begins with words of the program's, so that no prompt is taken for a command. */
function taskText({ job, dueAt, now, zone }: RunFacts): string {
  const late = now - dueAt > ON_TIME_MS ? `, ${durationText(now - dueAt)} late` : '';
  return [
    `Scheduled task "${job.id}", due ${localText(dueAt, zone)}${late}:`,
    job.text,
    'This turn was started by the schedule, and no one waits for an answer. Your last text is sent to this chat; when there is nothing worth telling, call the tool cron with the action silent instead.',
  ].join('\n\n');
}

function runId(job: string, dueAt: number): string {
  return `cron:${job}:${dueAt}`;
}

function toChat(
  job: Job,
  { id, text, now }: { readonly id: string; readonly text: string; readonly now: number },
): OutboundMessage {
  return {
    id,
    ...jobAddressOf(job),
    kind: 'notice',
    text,
    media: [],
    expiresAt: now + TTL_MS,
    metadata: { job: job.id },
  };
}
