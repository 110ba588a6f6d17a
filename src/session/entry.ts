import * as z from 'zod';

/** The block of the program's own that a person's message begins with. */
const CONTEXT = /^<context>\n[\s\S]*\n<\/context>$/u;

/**
 * The lines of a tape. What happened is never rewritten; history is a fold over these.
 * Roles of people, `origin` and `outcome` have the meanings of bus/messages.ts, kept here as text because the tape
 * outlives versions of the program.
 */

const text = z.object({ type: z.literal('text'), text: z.string() });
/** Images are stored once by content hash under `media/`; the tape names the hash. */
const image = z.object({ type: z.literal('image'), mediaType: z.string(), hash: z.string() });
const reasoning = z.object({
  type: z.literal('reasoning'),
  provider: z.string(),
  model: z.string(),
  text: z.string(),
  data: z.unknown().default(null),
});
const toolCall = z.object({
  type: z.literal('tool-call'),
  callId: z.string(),
  providerCallId: z.string(),
  name: z.string(),
  arguments: z.string(),
});
const usage = z.object({
  input: z.number(),
  cached: z.number(),
  cacheWrite: z.number(),
  output: z.number(),
  reasoning: z.number(),
});

const hash = z.string().regex(/^[0-9a-f]{64}$/u);
/** One attempt of a model call: what was sent where, and why it failed if it did. */
const attempt = z.object({
  provider: z.string(),
  model: z.string(),
  /** Which of several keys, counted from 1. */
  key: z.number().optional(),
  /** SHA-256 of the body's bytes; null: nothing was sent, or it is not known. */
  body: hash.nullable(),
  bytes: z.number(),
  reasoning: z.string(),
  withoutImages: z.boolean().optional(),
  failed: z.object({ kind: z.string(), status: z.number().optional(), reason: z.string() }).optional(),
});
/** What a model was asked with, so that the request can be built again from the tape. */
const call = z.object({
  /** The newest entry that was in the history then. */
  after: z.string(),
  /** SHA-256 of each layer of the system prompt and of the list of tools, which lie under `prompts/`. */
  layers: z.array(hash),
  tools: hash,
  toolChoice: z.union([z.string(), z.object({ tool: z.string() })]),
  maxOutputTokens: z.number(),
  temperature: z.number().optional(),
  /** A plugin changed the messages, which are not those of the tape. */
  changed: z.boolean().optional(),
  attempts: z.array(attempt),
});

const base = {
  v: z.literal(1),
  /** ULID; a repeated id is ignored on reading, so an append may be repeated after a crash. */
  id: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
  /** The turn it belongs to; null for what happens between turns. */
  turn: z.string().nullable(),
  untrusted: z.boolean().optional(),
  private: z.boolean().optional(),
  /** Of an untrusted entry: where the text of others came from, as a person calls it (`a web page`). */
  source: z.string().optional(),
};

export const entrySchema = z.discriminatedUnion('kind', [
  /** The first line of a tape. */
  z.object({ ...base, kind: z.literal('session'), key: z.string() }),
  z.object({
    ...base,
    kind: z.literal('turn-start'),
    sources: z.array(z.string()),
    role: z.string(),
    origin: z.string(),
  }),
  /** What the model is sent, exactly. */
  z.discriminatedUnion('role', [
    z.object({
      ...base,
      kind: z.literal('message'),
      role: z.literal('user'),
      /** Ids of the inbound messages whose text this is. */
      sources: z.array(z.string()),
      /** Names of the skills that it brings in; they are active until the turn ends. */
      skills: z.array(z.string()).optional(),
      /** Its words are the label of a button that the model made. */
      pressed: z.boolean().optional(),
      content: z.array(z.discriminatedUnion('type', [text, image])),
    }),
    z.object({
      ...base,
      kind: z.literal('message'),
      role: z.literal('assistant'),
      content: z.array(z.discriminatedUnion('type', [text, reasoning, toolCall])),
      provider: z.string(),
      model: z.string(),
      stopReason: z.string(),
      usage: usage.nullable(),
    }),
    z.object({
      ...base,
      kind: z.literal('message'),
      role: z.literal('tool'),
      callId: z.string(),
      name: z.string(),
      output: z.string(),
      isError: z.boolean(),
      /** A person was asked about the call and said yes. */
      approved: z.boolean().optional(),
      images: z.array(image).optional(),
      /** As for a user message. */
      skills: z.array(z.string()).optional(),
    }),
  ]),
  /** Written before a tool of class `effect` starts. */
  z.object({ ...base, kind: z.literal('intent'), callId: z.string(), name: z.string(), class: z.string() }),
  z.object({
    ...base,
    kind: z.literal('turn-end'),
    outcome: z.string(),
    /** What the person is shown. Of a turn without an answer it closes the turn in the history, see `closingText`. */
    answer: z.string(),
    /** What had come of an answer when the turn ended without one, as people saw it. */
    partial: z.string().optional(),
    target: z.object({ channel: z.string(), chatId: z.string(), threadId: z.string().optional() }),
    usage,
    costUsd: z.number().nullable(),
    model: z.string().nullable(),
    iterations: z.number(),
  }),
  /** `summary` stands for everything up to and including the entry `upTo`; appended later than what it covers. */
  z.object({ ...base, kind: z.literal('anchor'), summary: z.string(), upTo: z.string(), reason: z.string() }),
  /** Everything before is out of the history; one that was written in a turn leaves that turn whole. */
  z.object({ ...base, kind: z.literal('reset'), reason: z.string() }),
  /** These turns are out of the history. */
  z.object({ ...base, kind: z.literal('retract'), turns: z.array(z.string()) }),
  /**
   * In force until the next trim: tool results up to the entry `stubUpTo` are stubs, images up to `imagesUpTo` are
   * markers. Entries up to `dropUpTo` (always the end of a whole user turn) are out of the history for good. Null: none.
   */
  z.object({
    ...base,
    kind: z.literal('trim'),
    stubUpTo: z.string().nullable(),
    imagesUpTo: z.string().nullable(),
    dropUpTo: z.string().nullable(),
    /** With `dropUpTo`: the summary then in force, so that no reader looks further back for its anchor. The session fills it in. */
    summary: z.string().nullable().optional(),
  }),
  /** For readers of the tape; never part of the history. One with a `call` is written after each model call of a turn. */
  z.object({ ...base, kind: z.literal('note'), text: z.string(), call: call.optional() }),
]);

export type CallRecord = z.infer<typeof call>;
export type TapeEntry = z.infer<typeof entrySchema>;
export type MessageEntry = Extract<TapeEntry, { kind: 'message' }>;
export type EntryOf<Kind extends TapeEntry['kind']> = Extract<TapeEntry, { kind: Kind }>;

/** An entry before the tape gave it its version, id and time. */
export type EntryDraft = DistributiveOmit<TapeEntry, 'v' | 'id' | 'at'> & { readonly id?: string };

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** What a person or the model said in an entry: no context block, no skill's text, no reasoning, no calls; may be empty. */
export function saidIn(entry: TapeEntry): string {
  if (entry.kind !== 'message' || entry.role === 'tool') return '';
  const texts = entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (entry.role === 'assistant') return texts.join('\n');
  const from = CONTEXT.test(texts[0] ?? '') ? 1 : 0;
  return texts.slice(from, texts.length - (entry.skills?.length ?? 0)).join('\n');
}
