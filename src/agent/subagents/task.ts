import * as z from 'zod';
import { sessionKeyOf, type InboundMessage } from '../../bus/messages.ts';
import { matches } from '../../tools/registry/policy.ts';

const bits = z.object({ untrusted: z.boolean(), private: z.boolean() });

const taskSchema = z.object({
  label: z.string(),
  /** The call that asked for it. */
  callId: z.string(),
  /** The session that asked, its turn, and why that turn ran. */
  session: z.string(),
  turn: z.string(),
  origin: z.string(),
  /** No earlier than this the turn that asked began, ms since 1970. */
  since: z.number(),
  /** The call waits for the result; else it comes as a message. */
  wait: z.boolean(),
  inherit: z.boolean(),
  /** Names or patterns; null: all that it may have. */
  tools: z.array(z.string()).nullable(),
  /** How many subagents led to one another since a person spoke. */
  depth: z.number(),
});

/** A task that a turn gave to a subagent. */
export type SubagentTask = z.infer<typeof taskSchema>;

const resultSchema = z.object({
  label: z.string(),
  status: z.string(),
  /** Where its steps are; merged: they belong into the session that asked. */
  session: z.string(),
  turn: z.string(),
  merge: z.boolean(),
  depth: z.number(),
});

/** What a subagent brought back. */
export type SubagentResult = z.infer<typeof resultSchema>;

/** The task that a message gives to a subagent; null: it is no such message. */
export function subagentOf(message: InboundMessage | undefined): SubagentTask | null {
  if (message?.origin !== 'subagent') return null;
  return taskSchema.safeParse(message.metadata['subagent']).data ?? null;
}

/** What a message brings back from a subagent; null: it is no such message. */
export function resultOf(message: InboundMessage | undefined): SubagentResult | null {
  if (message?.origin !== 'subagent') return null;
  return resultSchema.safeParse(message.metadata['result']).data ?? null;
}

/** How many subagents led to this message since a person spoke. */
export function depthOf(message: InboundMessage): number {
  return resultOf(message)?.depth ?? 0;
}

/** Tools that speak to people, or make something that goes on by itself. */
const WITHHELD: ReadonlySet<string> = new Set(['message', 'spawn', 'cron', 'ask_user', 'stay_silent']);

/** Why a subagent may not call a tool; null: its role decides. */
export function withheldFrom(task: SubagentTask, tool: string): string | null {
  if (WITHHELD.has(tool)) return `a subagent cannot use ${tool}; say in your result what is to be done`;
  if (task.tools !== null && !matches(task.tools, tool)) return `this task was given to you without the tool ${tool}`;
  return null;
}

/** The message that asks for the turn of a subagent; its words come back to the chat of `asked` in a later one. */
export function taskMessage(
  asked: InboundMessage,
  given: {
    readonly id: string;
    readonly now: number;
    readonly role: InboundMessage['role'];
    readonly task: SubagentTask;
    /** A lasting colleague; null: this task alone. */
    readonly name: string | null;
    readonly text: string;
    readonly model: string | null;
    readonly taint: z.infer<typeof bits>;
  },
): InboundMessage {
  const { id, now, role, task, name, text, model, taint } = given;
  const { channel, account, chatId, threadId, chatType, sender } = asked;
  return {
    id,
    channel,
    account,
    chatId,
    ...(threadId === undefined ? {} : { threadId }),
    chatType,
    sender,
    role,
    text: [
      `Task "${task.label}":`,
      text,
      'You are a subagent: you work on this task alone and cannot ask anyone. Your last text is the result of the task. It goes to the assistant that gave you the task, not to a person, so put into it everything that you found out.',
    ].join('\n\n'),
    media: [],
    mentioned: true,
    context: [],
    receivedAt: now,
    externalId: `call:${task.callId}`,
    sessionKey: sessionOf(task, name),
    origin: 'subagent',
    untrusted: false,
    metadata: { subagent: task, taint, ...(model === null ? {} : { model }) },
  };
}

/** Of one session that asks: nobody else's colleague has the same. */
function sessionOf({ session, callId }: SubagentTask, name: string | null): string {
  return sessionKeyOf({ channel: 'subagent', chatId: session, threadId: name ?? callId });
}
