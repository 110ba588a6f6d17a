import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type { App } from '../../app.ts';
import { HookRunner } from '../hooks/hooks.ts';
import type { ChosenModel, Turn } from '../turn/current-turn.ts';
import { runTurn } from '../turn/turn.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import { originsOf } from '../../bus/origins.ts';
import type { ModelRequest, StoredImage, ToolSpec } from '../../providers/provider.ts';
import { asRole } from '../../security/access/access.ts';
import { createRedactor } from '../../security/redact/redact.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { Session } from '../../session/session.ts';
import { Tape } from '../../session/tape.ts';
import { readTail } from '../../session/tape-tail.ts';
import { MediaStore } from '../../storage/media.ts';
import { PromptParts } from '../../storage/prompt-parts.ts';
import { SpillStore } from '../../storage/spill.ts';
import { ToolRegistry } from '../../tools/registry/registry.ts';
import { defineTool, NO_SKILLS } from '../../tools/tool.ts';
import { createIds } from '../../util/ids.ts';
import { silentLog } from '../../util/log.ts';
import { Slots } from '../../util/slots.ts';
import type { Clock } from '../../util/clock.ts';

/** What one turn is run with. */
export interface TurnPlan {
  readonly turn: string;
  readonly sessionKey: string;
  /** The conversation before the turn, oldest first. */
  readonly history: readonly TapeEntry[];
  readonly role: string;
  /** Ids of the messages that the turn answers. */
  readonly sources: readonly string[];
  readonly chosen: ChosenModel;
  /** Layers of the system prompt. */
  readonly system: readonly string[];
  readonly tools: readonly ToolSpec[];
  /** Tools that change something; they run one by one. */
  readonly effects: ReadonlySet<string>;
  readonly images: (hash: string) => StoredImage | undefined;
  readonly reasoning: NonNullable<ModelRequest['reasoning']>;
  readonly temperature: number | null;
  /** Most model calls. */
  readonly maxIterations: number;
  readonly clock: Clock;
  /** @default never aborts */
  readonly signal?: AbortSignal;
  /** The entry to write in place of this one: the recorded message of a person, the answer to a tool call. */
  readonly inPlaceOf: (draft: EntryDraft, entries: readonly TapeEntry[]) => EntryDraft;
  /** Ids of messages that join before the next model call. @default none */
  readonly joining?: () => readonly string[];
  /** Entries that something else wrote before the next model call, such as a trim. @default none */
  readonly meanwhile?: () => readonly TapeEntry[];
  /** Most tokens of the next answer. */
  readonly maxOutputTokens: () => number;
}

/**
 * Runs one turn through the real `runTurn`, with a given model, given answers to tool calls and a given conversation, and
 * returns its entries. No tool is executed, no person is asked and no home is used: its tape lies in a folder that is
 * removed afterwards.
 */
export async function runGivenTurn(plan: TurnPlan): Promise<readonly TapeEntry[]> {
  const { sources } = plan;
  const folder = await mkdtemp(join(tmpdir(), 'assistant-replay-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const session = await openSession(plan, folder);
  stack.defer(() => session.close());
  const messages = sources.map((id) => messageOf(id, plan));
  const turn: Turn = {
    facts: { turnId: plan.turn, sessionKey: plan.sessionKey, messages },
    origin: ORIGINS.of('user'),
    role: asRole(plan.role),
    session,
    chosen: plan.chosen,
    system: plan.system,
    files: plan.system,
    layers: [],
    isOwners: false,
    tools: plan.tools,
    resize: async () => false,
    costUsd: () => null,
    signal: plan.signal ?? new AbortController().signal,
    live: () => {},
    pauseDeadline: () => ({ [Symbol.dispose]: () => {} }),
    untilDurable: async () => {},
    steering: {
      next: async () =>
        (plan.joining?.() ?? []).map((id) => ({ message: messageOf(id, plan), admitted: messageOf(id, plan) })),
    },
    join: (more) => void messages.push(...more),
    corrections: { inPlaceOf: async () => [], after: async () => [] },
    replace: () => {},
  };
  await runTurn(turn, appOf(plan, { folder, session }));
  return session.turn(plan.turn);
}

/** A tape on which what is given stands in place of what the turn made. */
class GivenSession extends Session {
  readonly #plan: TurnPlan;

  constructor(options: ConstructorParameters<typeof Session>[0], plan: TurnPlan) {
    super(options);
    this.#plan = plan;
  }

  override append(drafts: readonly EntryDraft[], durability?: 'lazy' | 'durable'): Promise<readonly TapeEntry[]> {
    const entries = this.turn(this.#plan.turn);
    return super.append(
      drafts.map((draft) => this.#plan.inPlaceOf(draft, entries)),
      durability ?? 'lazy',
    );
  }
}

async function openSession(plan: TurnPlan, folder: string): Promise<GivenSession> {
  const { sessionKey: key, clock, images } = plan;
  const tape = await Tape.open({
    path: join(folder, 'tape.jsonl'),
    key,
    quarantine: join(folder, 'quarantine'),
    clock,
    newId: createIds(clock, { bytes: (length) => new Uint8Array(length), fraction: () => 0 }),
    log: silentLog,
  });
  if (plan.history.length > 0) await tape.append(plan.history, 'lazy');
  const tail = await readTail(tape.entriesBackwards());
  return new GivenSession({ key, tape, tail, onUse: () => {}, image: images }, plan);
}

/** An app with the few services that a turn uses: there is no assistant. */
function appOf(plan: TurnPlan, { folder, session }: { folder: string; session: Session }): App {
  const { clock } = plan;
  const noOne = { approved: false, reason: 'No one is asked in a replay.' } as const;
  const meanwhile = async (): Promise<number> => {
    const entries = plan.meanwhile?.() ?? [];
    if (entries.length > 0) await session.append(entries);
    return entries.length;
  };
  const { temperature, reasoning, maxIterations } = plan;
  const few = {
    clock,
    log: silentLog,
    redact: createRedactor([]),
    config: { agent: { temperature, reasoning, maxIterations, timezone: null } },
    paths: { workspace: folder },
    program: { origins: ORIGINS },
    journal: {
      inbox: { correct: async () => false },
      turns: { absorb: async () => [] },
      reactions: { toldWith: () => [] },
      lives: { sentAs: () => undefined },
    },
    bus: { publishOutbound: async () => {} },
    promptParts: new PromptParts(join(folder, 'prompts'), clock),
    bounds: {
      before: async () => {
        await meanwhile();
        return { maxOutputTokens: plan.maxOutputTokens() };
      },
      over: () => {},
      sending: () => {},
      answered: async () => {},
      failed: async () => {},
      tighten: async () => (await meanwhile()) > 0,
      loss: () => null,
    },
    tools: registryOf(plan),
    turnSkills: { called: async () => [], active: async () => NO_SKILLS, folders: async () => [] },
    media: new MediaStore(join(folder, 'media'), clock),
    attachments: { fetch: async () => ({ media: [], spoken: [], heard: [], notes: [] }) },
    spill: new SpillStore(join(folder, 'spill')),
    editors: { folderOf: () => undefined },
    editorFiles: { of: () => undefined },
    slots: new Slots(1),
    questions: { approve: async () => noOne, ask: async () => ({ answered: false, reason: noOne.reason }) },
    hooks: new HookRunner(silentLog, clock),
  } satisfies Few<App>;
  return few as unknown as App;
}

/** An object in which any part may be missing, at any depth. */
type Few<T> = { readonly [K in keyof T]?: T[K] extends (...given: never) => unknown ? T[K] : Few<T[K]> };

const ORIGINS = originsOf([]);

/** The tools by name; none of them does anything, because what came of each call is given. */
function registryOf({ tools, effects, clock }: TurnPlan): ToolRegistry {
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: ['*'] },
    clock,
    redact: (text) => text,
    maxOutput: Number.MAX_SAFE_INTEGER,
  });
  for (const { name, description, parameters } of tools) {
    const tool = defineTool({
      name,
      description,
      parameters: z.looseObject({}),
      jsonSchema: parameters,
      effect: effects.has(name) ? 'effect' : 'none',
      role: 'guest',
      execute: async () => ({ title: name, output: '' }),
    });
    registry.register(tool);
  }
  return registry;
}

/** A message of which only the id counts: its text is in the recorded entry. */
function messageOf(id: string, { sessionKey, role, clock }: TurnPlan): InboundMessage {
  return {
    id,
    channel: 'replay',
    account: '',
    chatId: sessionKey,
    chatType: 'direct',
    sender: { id: 'replay', isBot: false },
    role: asRole(role),
    text: '',
    media: [],
    mentioned: true,
    context: [],
    receivedAt: clock.now(),
    externalId: id,
    sessionKey,
    origin: 'user',
    untrusted: false,
    metadata: {},
  };
}
