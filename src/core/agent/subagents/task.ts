import * as z from 'zod';
import { sessionKeyOf, type InboundMessage } from '../../bus/messages.ts';
import type { Origin } from '../../bus/origins.ts';
import { runFactsOf, runMetadata } from '../../bus/run.ts';
import { matches } from '../../tools/registry/decide.ts';
import type { ToolFacts } from '../../tools/tool.ts';

export const SUBAGENT: Origin = { name: 'subagent', isAsked: true, hasReader: true };

const bits = z.object({ untrusted: z.boolean(), private: z.boolean() });

const taskSchema = z.object({
  label: z.string(),
  /** Id of the `spawn` call. */
  callId: z.string(),
  /** The session and turn that spawned it, and the origin of that turn. */
  session: z.string(),
  turn: z.string(),
  origin: z.string(),
  /** The turn that spawned it began at or after this, ms since 1970. */
  since: z.number(),
  /** True: the call waits for the result; false: the result comes as a message. */
  wait: z.boolean(),
  /** True: it starts from the conversation of the session that spawned it. */
  inherit: z.boolean(),
  /** Names or patterns of its tools; null: all that a subagent may use. */
  tools: z.array(z.string()).nullable(),
  /** Length of the chain of subagents since a person last wrote. */
  depth: z.number(),
});

/** A task that a turn gave to a subagent. */
export type SubagentTask = z.infer<typeof taskSchema>;

const resultSchema = z.object({
  label: z.string(),
  status: z.string(),
  /** The session and turn of its steps; `merge`: they are copied to the session that spawned it. */
  session: z.string(),
  turn: z.string(),
  merge: z.boolean(),
  depth: z.number(),
});

/** The facts about a subagent's result in its message. */
export type SubagentResult = z.infer<typeof resultSchema>;

/** The task in a message that starts a subagent; null for any other message. */
export function subagentOf(message: InboundMessage | undefined): SubagentTask | null {
  if (message?.origin !== SUBAGENT.name) return null;
  return taskSchema.safeParse(message.metadata['subagent']).data ?? null;
}

/** The facts in a message that brings a subagent's result; null for any other message. */
export function resultOf(message: Pick<InboundMessage, 'metadata' | 'origin'> | undefined): SubagentResult | null {
  if (message?.origin !== SUBAGENT.name) return null;
  return resultSchema.safeParse(message.metadata['result']).data ?? null;
}

/** Length of the chain of subagents that led to this message since a person last wrote. */
export function depthOf(message: InboundMessage): number {
  return resultOf(message)?.depth ?? 0;
}

/** Why a subagent may not call a tool; null: the usual rules decide. */
export function withheldFromTask(task: SubagentTask, { name, withheldFrom = [] }: ToolFacts): string | null {
  if (withheldFrom.includes('subagent')) return `a subagent cannot use ${name}; say in your result what is to be done`;
  if (task.tools !== null && !matches(task.tools, name)) return `this task was given to you without the tool ${name}`;
  return null;
}

/** The message that starts a subagent's turn; its result goes back to the chat of `asked`. */
export function taskMessage(
  asked: InboundMessage,
  given: {
    readonly id: string;
    readonly now: number;
    readonly role: InboundMessage['role'];
    readonly task: SubagentTask;
    /** Name of a lasting session for the subagent; null: a new session for this task alone. */
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
    origin: SUBAGENT.name,
    untrusted: false,
    // What the run may not use, its subagents may not use for it.
    metadata: {
      subagent: task,
      taint,
      ...(model === null ? {} : { model }),
      ...runMetadata({ tools: runFactsOf(asked).tools }),
    },
  };
}

/** The session key of a subagent; it contains that of its parent, so that no two parents share one. */
function sessionOf({ session, callId }: SubagentTask, name: string | null): string {
  return sessionKeyOf({ channel: 'subagent', chatId: session, threadId: name ?? callId });
}
