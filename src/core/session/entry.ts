import * as z from 'zod';

/** The `<context>` block of the program at the beginning of a person's message. */
const CONTEXT = /^<context>\n[\s\S]*\n<\/context>$/u;

/**
 * The entries of a tape, one JSON line each. An entry is never rewritten; the history is computed from them.
 * `role` of people, `origin` and `outcome` have the meanings of bus/messages.ts, but are plain strings here, so that a tape
 * of another version of the program can be read.
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
  costUsd: z.number().optional(),
  estimated: z.boolean().optional(),
});

const hash = z.string().regex(/^[0-9a-f]{64}$/u);
/** One attempt of a model call: provider, model, the request that was sent, and the error if it failed. */
const attempt = z.object({
  provider: z.string(),
  model: z.string(),
  /** Number of the API key, counted from 1, if the provider has several. */
  key: z.number().optional(),
  /** SHA-256 of the request body; null: nothing was sent, or it is unknown. */
  body: hash.nullable(),
  bytes: z.number(),
  reasoning: z.string(),
  withoutImages: z.boolean().optional(),
  /** How the request was changed for its server. */
  quirks: z.array(z.string()).readonly().exactOptional(),
  failed: z
    .object({
      kind: z.string(),
      status: z.number().optional(),
      reason: z.string(),
      /** The server's own words. */
      said: z.string().exactOptional(),
      /** How long the next attempt waited, ms. */
      waitMs: z.number().exactOptional(),
    })
    .optional(),
});
/** The parts of a model request, so that it can be rebuilt from the tape. */
const call = z.object({
  /** Id of the newest entry in the history at that time. */
  after: z.string(),
  /** SHA-256 of each layer of the system prompt and of the list of tools, which lie under `prompts/`. */
  layers: z.array(hash),
  tools: hash,
  toolChoice: z.union([z.string(), z.object({ tool: z.string() })]),
  maxOutputTokens: z.number(),
  temperature: z.number().optional(),
  /** A hook changed the messages, so they differ from the tape. */
  changed: z.boolean().optional(),
  /** The model of the turn, `provider/model`, where none of the attempts asked it. */
  passedOver: z.string().exactOptional(),
  /** How long it waited for a free place among those that ask at once, ms; left out below a second. */
  placeMs: z.number().exactOptional(),
  attempts: z.array(attempt),
});

/** What a tool call changed or tried to change; kinds and outcomes as in tools/tool.ts. */
const effect = z.object({
  tool: z.string(),
  kind: z.string(),
  /** Null: the tool does not say. */
  target: z.string().nullable(),
  outcome: z.string(),
  exitCode: z.number().exactOptional(),
  missing: z.boolean().exactOptional(),
  minor: z.boolean().exactOptional(),
});

/** Content that a provider refused. People still see it; later requests have a short text in its place. */
const refused = z.object({
  /** Who refused it, `provider/model`. */
  model: z.string(),
  parts: z.array(
    z.object({
      entry: z.string(),
      what: z.enum(['images', 'documents', 'skills', 'others', 'result', 'message', 'summary']),
      /** Index of the part in the content of a message, or of the image in a result. @default all of this kind */
      at: z.number().exactOptional(),
    }),
  ),
  /** Layers of the system prompt, left out as long as their text has this SHA-256. */
  layers: z.array(z.object({ name: z.string(), hash })),
  /** Id of the earlier turn whose search goes on here; this replaces what that turn left out. @default its own turn */
  search: z.string().exactOptional(),
  /**
   * A trial on the search for the cause, which counts if the next request is accepted. `suspects`: keys of what may be the
   * cause, of which the first `tried` are left out, and those that are `held`. As in `Trial`; `again`: the same request;
   * `control`: the whole request after the cause was found; `found`: without the cause, after the control was refused.
   */
  trial: z
    .object({
      stage: z.enum(['again', 'all', 'half', 'rest', 'control', 'found']),
      suspects: z.array(z.string()),
      tried: z.number(),
      held: z.array(z.string()).exactOptional(),
      isProven: z.boolean().exactOptional(),
    })
    .exactOptional(),
});

const base = {
  v: z.literal(1),
  /** ULID; a repeated id is ignored on reading, so an append may be repeated after a crash. */
  id: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
  /** Id of its turn; null for an entry between turns. */
  turn: z.string().nullable(),
  untrusted: z.boolean().optional(),
  private: z.boolean().optional(),
  /** Where untrusted content came from, as a person calls it: `a web page`. */
  source: z.string().optional(),
  /** Of a summary: the roles of the turns that it sums up. `Session` fills it in. */
  authors: z.array(z.string()).optional(),
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
  /** A message, exactly as the model gets it. */
  z.discriminatedUnion('role', [
    z.object({
      ...base,
      kind: z.literal('message'),
      role: z.literal('user'),
      /** Ids of the inbound messages that it contains; empty: a note of the program. */
      sources: z.array(z.string()),
      /** Names of the skills that it calls; they are active until the turn ends. */
      skills: z.array(z.string()).optional(),
      /** Its text is the label of a button that the model made. */
      pressed: z.boolean().optional(),
      /** Index in `content` of the person's own words: nothing that they quoted, forwarded or pressed. @default there are none */
      own: z.number().exactOptional(),
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
      /** Why it was refused or failed, for people; the model reads `output`. */
      problem: z.string().exactOptional(),
      /** It was not run: a rule, a plugin or a person refused it. */
      refused: z.boolean().exactOptional(),
      /** As in `ToolResult`. */
      silences: z.literal(true).exactOptional(),
      /** A person was asked about the call and said yes. */
      approved: z.boolean().optional(),
      /** As in `ToolResult`. */
      author: z.enum(['person', 'outside']).exactOptional(),
      images: z.array(image).optional(),
      effects: z.array(effect).readonly().exactOptional(),
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
    /** Why it failed, as in `TurnSummary`. @default not known, or it did not fail */
    errorKind: z.string().exactOptional(),
    /** The text that the person gets. For a turn that failed or was stopped it is the reason, see `closingText`. */
    answer: z.string(),
    /** The program's own line that names what was not done, mostly at the end of `answer`. The model never reads it. */
    unfinished: z.string().exactOptional(),
    /** The part of an answer that people saw before the turn failed or was stopped. */
    partial: z.string().optional(),
    target: z.object({ channel: z.string(), chatId: z.string(), threadId: z.string().optional() }),
    usage,
    costUsd: z.number().nullable(),
    model: z.string().nullable(),
    iterations: z.number(),
  }),
  /** `summary` replaces all entries up to and including `upTo` in the history. */
  z.object({ ...base, kind: z.literal('anchor'), summary: z.string(), upTo: z.string(), reason: z.string() }),
  /** Removes all earlier entries from the history, except those of its own turn. */
  z.object({ ...base, kind: z.literal('reset'), reason: z.string() }),
  /** Removes these turns, or content that a provider refused, from the history. */
  z.object({ ...base, kind: z.literal('retract'), turns: z.array(z.string()), refused: refused.exactOptional() }),
  /**
   * Shortens the history. Until the next trim, tool results up to the entry `stubUpTo` and images up to `imagesUpTo` are
   * replaced by a short text. Entries up to `dropUpTo` (always the end of a turn) are removed for good. Null: none.
   */
  z.object({
    ...base,
    kind: z.literal('trim'),
    stubUpTo: z.string().nullable(),
    imagesUpTo: z.string().nullable(),
    dropUpTo: z.string().nullable(),
    /** With `dropUpTo`: a copy of the summary at that time, so that readers need not go back to its anchor. `Session` fills it in. */
    summary: z.string().nullable().optional(),
  }),
  /** A note for readers of the tape, never part of the history. Each model call of a turn has one with `call`. */
  z.object({ ...base, kind: z.literal('note'), text: z.string(), call: call.optional() }),
]);

export type CallRecord = z.infer<typeof call>;
export type TapeEntry = z.infer<typeof entrySchema>;
export type MessageEntry = Extract<TapeEntry, { kind: 'message' }>;
export type UserEntry = Extract<MessageEntry, { role: 'user' }>;
export type AssistantEntry = Extract<MessageEntry, { role: 'assistant' }>;
export type ToolEntry = Extract<MessageEntry, { role: 'tool' }>;
/** The record of a model call. */
export type CallNote = EntryOf<'note'> & { readonly call: CallRecord };
export type EntryOf<Kind extends TapeEntry['kind']> = Extract<TapeEntry, { kind: Kind }>;

/** An entry before the tape gave it its version, id and time. */
export type EntryDraft = DistributiveOmit<TapeEntry, 'v' | 'id' | 'at'> & { readonly id?: string };

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** The text that a person or the model wrote in an entry, without context block, skills, reasoning and calls; may be ''. */
export function saidIn(entry: TapeEntry): string {
  if (entry.kind !== 'message' || entry.role === 'tool') return '';
  const texts = entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (entry.role === 'assistant') return texts.join('\n');
  const from = CONTEXT.test(texts[0] ?? '') ? 1 : 0;
  return texts.slice(from, texts.length - (entry.skills?.length ?? 0)).join('\n');
}

/** Whether a turn of this origin began with a message of a person or an API client. */
export function isByPeople(origin: string): boolean {
  return origin === 'user' || origin === 'api';
}

/** Whether a turn is older than another, by their ULIDs, which grow (see `createIds`). False when an id is no ULID. */
export function isOlderTurn(turn: string, than: string): boolean {
  return isUlid(turn) && isUlid(than) && turn < than;
}

function isUlid(id: string): boolean {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/u.test(id);
}
