import * as z from 'zod';
import type { HookName } from './hooks.ts';
import { misfit } from '../../util/misfit.ts';

const text = z.string();
const key = z.string().min(1);
const object = z.custom((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'an object');
export const role = z.enum(['owner', 'trusted', 'guest']);
export const media = z.array(z.looseObject({ kind: key, mediaType: text, path: text }));
const scalar = z.union([text, z.number(), z.boolean(), z.null()], 'a text, a number, true, false or null');

const inbound = z.looseObject({
  id: key,
  channel: key,
  account: text,
  chatId: text,
  threadId: text.optional(),
  chatType: z.enum(['direct', 'group']),
  sender: z.looseObject({ id: text, isBot: z.boolean() }),
  role,
  text,
  media,
  mentioned: z.boolean(),
  context: z.array(z.looseObject({ senderName: text, text, at: z.number() })),
  receivedAt: z.number(),
  externalId: key,
  sessionKey: key,
  origin: key,
  untrusted: z.boolean(),
  shared: text.optional(),
  metadata: object,
});

const outbound = z.looseObject({
  id: key,
  channel: key,
  chatId: text,
  threadId: text.optional(),
  kind: z.enum(['answer', 'part', 'notice', 'approval']),
  text,
  media,
  metadata: object,
  expiresAt: z.number().optional(),
});

const part = z.looseObject({ type: z.enum(['text', 'image', 'reasoning', 'tool-call']) });
const chatMessage = z.discriminatedUnion(
  'role',
  [
    z.looseObject({ role: z.literal('user'), content: z.array(part) }),
    z.looseObject({ role: z.literal('assistant'), content: z.array(part) }),
    z.looseObject({ role: z.literal('tool'), callId: text, name: text, output: text, isError: z.boolean() }),
  ],
  'a message with the role "user", "assistant" or "tool"',
);
const request = z.looseObject({
  model: key,
  system: z.array(text),
  messages: z.array(chatMessage).min(1),
  tools: z.array(z.looseObject({ name: key, description: text, parameters: object })),
  toolChoice: z.union([z.enum(['auto', 'none']), z.looseObject({ tool: key })], '"auto", "none" or {tool: NAME}'),
  maxOutputTokens: z.number().positive(),
});

export const result = z.looseObject({
  title: text,
  output: text,
  metadata: z.record(text, scalar),
  isError: z.boolean().optional(),
  untrusted: z.boolean().optional(),
  private: z.boolean().optional(),
});

function decisionAbout(value: z.ZodType): z.ZodType {
  return z.discriminatedUnion(
    'type',
    [
      z.looseObject({ type: z.literal('proceed') }),
      z.looseObject({ type: z.literal('replace'), value }),
      z.looseObject({ type: z.literal('deny'), reason: text }),
    ],
    '{type: "proceed"}, {type: "replace", value} or {type: "deny", reason}',
  );
}

/** Schema of a hook's answer, by stage. `undefined` is always allowed; null stands for an answer that is not checked here. */
const VALUES = {
  session: key,
  admit: decisionAbout(inbound),
  loadState: object,
  prompt: z.array(text),
  model: key,
  beforeModel: decisionAbout(request),
  beforeTool: decisionAbout(z.looseObject({ name: key, arguments: text })),
  afterTool: decisionAbout(result),
  render: decisionAbout(text),
  runModel: null,
  onError: key,
  dispatch: decisionAbout(outbound),
  saveState: null,
  turnEnd: null,
} satisfies Record<HookName, z.ZodType | null>;

export const HOOK_NAMES = Object.keys(VALUES);

/** Throws an error of one sentence, which names the wrong field, when an answer does not have the form of its stage. */
export function checkHookValue(hook: HookName, answer: unknown): void {
  const { [hook]: form } = VALUES;
  if (answer === undefined || form === null) return;
  const wrong = misfit(answer, form, 'its answer');
  if (wrong !== null) throw new Error(wrong);
}
