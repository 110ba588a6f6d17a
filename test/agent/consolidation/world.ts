import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Consolidation, type NextRequest } from '../../../src/core/agent/consolidation/consolidation.ts';
import { Budget, type BudgetLimits } from '../../../src/core/agent/context/budget.ts';
import { memCommand } from '../../../src/core/agent/commands/mem.ts';
import { CallBounds } from '../../../src/core/agent/context/call-bounds.ts';
import { ContextWindow } from '../../../src/core/agent/context/fit.ts';
import type { Questions } from '../../../src/core/agent/questions/questions.ts';
import type { ChosenModel } from '../../../src/core/agent/turn/current-turn.ts';
import { sessionKeyOf, type InboundMessage, type OutboundMessage } from '../../../src/core/bus/messages.ts';
import type { Config } from '../../../src/core/config/schema.ts';
import type { App } from '../../../src/core/app.ts';
import { openJournal, type Journal } from '../../../src/core/journal/journal.ts';
import { MemoryStore } from '../../../src/core/memory/files/store.ts';
import { ContextWindows } from '../../../src/core/providers/context-window-registry.ts';
import { LearnedFacts } from '../../../src/core/providers/learned.ts';
import { Pricing } from '../../../src/core/providers/pricing.ts';
import type { ModelEvent, ModelRequest } from '../../../src/core/providers/provider.ts';
import type { EntryDraft, EntryOf } from '../../../src/core/session/entry.ts';
import type { Session } from '../../../src/core/session/session.ts';
import { Sessions } from '../../../src/core/session/sessions.ts';
import { systemClock, type Clock } from '../../../src/core/util/clock.ts';
import { createIds, type Ids } from '../../../src/core/util/ids.ts';
import { systemRandom } from '../../../src/core/util/random.ts';
import { noUsage } from '../../../src/core/util/token-usage.ts';
import { appWith } from '../../support/app-with.ts';
import { PROGRAM } from '../../support/extensions.ts';
import { inboundMessage } from '../../support/inbound.ts';
import { recordingLog } from '../../support/recording-log.ts';
import { tempFolder } from '../../support/temp.ts';
import { eventsOf, type Answering } from './model.ts';

export interface WorldOptions {
  readonly answer: Answering;
  /** Tokens. @default 8000 */
  readonly window?: number;
  readonly memory?: string;
  readonly clock?: Clock;
  /** Whether the owner agrees to a change; null: they never do. */
  readonly confirm?: ((signal: AbortSignal) => Promise<boolean>) | null;
  readonly limits?: Partial<BudgetLimits>;
}

export const OWNER = inboundMessage({ chatId: '1' });
export const GROUP: Partial<InboundMessage> = { chatId: '-100', chatType: 'group', role: 'guest' };
const UNLIMITED: BudgetLimits = {
  turnUsd: null,
  chatDayUsd: null,
  dayUsd: null,
  turnTokens: null,
  dayTokens: null,
  selfDayTokens: 1e9,
  guestDayTokens: null,
  jobTokens: 1e9,
};

/** Lets a number of durable steps happen and then behaves like a killed process, until the world is opened again. */
class Doom {
  #left = Infinity;
  #steps = 0;

  /** Steps since the start. */
  get steps(): number {
    return this.#steps;
  }

  after(steps: number): void {
    this.#left = steps;
  }

  revive(): void {
    this.#left = Infinity;
  }

  /** Dies before a step or after it. */
  async around<T>(step: () => Promise<T>): Promise<T> {
    this.#step();
    const value = await step();
    this.#step();
    return value;
  }

  #step(): void {
    this.#steps += 1;
    this.#left -= 1;
    if (this.#left < 0) throw new Error('killed');
  }

  /** The same object, whose methods of these names are steps. */
  watch<T extends object>(target: T, names: readonly (keyof T)[]): T {
    return new Proxy(target, {
      get: (on, name) => {
        const value: unknown = Reflect.get(on, name, on);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          const call = (): unknown => Reflect.apply(value, on, args);
          return names.includes(name as keyof T) ? this.around(async () => await call()) : call();
        };
      },
    });
  }
}

/** Archiving with everything real but the model and the owner. */
export class ConsolidationWorld implements AsyncDisposable {
  readonly folder: string;
  readonly options: WorldOptions;
  readonly log = recordingLog();
  readonly doom = new Doom();
  readonly requests: ModelRequest[] = [];
  /** What the owner was asked. */
  readonly confirmations: Confirmation[] = [];
  readonly notices: { readonly session: string; readonly text: string }[] = [];
  readonly clock: Clock;
  readonly newId: Ids;
  readonly #stack = new AsyncDisposableStack();
  readonly #watched = new WeakMap<Session, Session>();
  answer: Answering;
  consolidation!: Consolidation;
  journal!: Journal;
  sessions!: Sessions;
  context!: ContextWindow;
  store!: MemoryStore;

  private constructor(folder: string, options: WorldOptions) {
    this.folder = folder;
    this.options = options;
    this.answer = options.answer;
    this.clock = options.clock ?? systemClock;
    this.newId = createIds(this.clock, systemRandom);
  }

  static async open(options: WorldOptions): Promise<ConsolidationWorld> {
    const folder = await tempFolder();
    const world = new ConsolidationWorld(folder.path, options);
    world.#stack.use(folder);
    await mkdir(join(folder.path, 'memory'));
    if (options.memory !== undefined) await writeFile(join(folder.path, 'memory', 'MEMORY.md'), options.memory);
    await world.#open();
    return world;
  }

  /** What a new process finds. */
  async reopen(): Promise<void> {
    await this.#close();
    this.doom.revive();
    await this.#open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    await this.#stack.disposeAsync();
  }

  /** A turn from its claim to its close. */
  async say(text: string, answer: string, turn: Turn = {}): Promise<string> {
    const id = this.newId();
    const message = inboundMessage({ chatId: '1', text, ...turn.message, id: this.newId(), externalId: `m:${id}` });
    const session = await this.sessions.open(message.sessionKey);
    await this.journal.inbox.accept([message]);
    await this.journal.turns.claim({ id, session: session.key, role: message.role, messages: [message] });
    await session.append([
      { kind: 'turn-start', turn: id, sources: [message.id], role: message.role, origin: turn.origin ?? 'user' },
      { kind: 'message', role: 'user', turn: id, sources: [message.id], content: [{ type: 'text', text }] },
      ...(turn.more ?? []).map((draft) => ({ ...draft, turn: id })),
      {
        kind: 'message',
        role: 'assistant',
        turn: id,
        content: [{ type: 'text', text: answer }],
        provider: 'p',
        model: 'm',
        stopReason: 'stop',
        usage: null,
      },
      {
        kind: 'turn-end',
        turn: id,
        outcome: 'answered',
        answer,
        target: { channel: message.channel, chatId: message.chatId },
        usage: noUsage,
        costUsd: null,
        model: null,
        iterations: 1,
      },
    ]);
    await this.journal.turns.close(id, 'answered', []);
    return id;
  }

  /** What the model was asked as its n-th question, from 0 (from -1: backwards). */
  question(n: number): ModelRequest {
    const request = this.requests.at(n);
    if (request === undefined) throw new Error(`there was no question ${n}`);
    return request;
  }

  async request(key = OWNER.sessionKey): Promise<NextRequest> {
    const session = this.#watch(await this.sessions.open(key));
    return { session, model: { provider: 'p', model: 'm' }, system: ['Be kind.'], tools: [] };
  }

  async used(key?: string): Promise<number> {
    return (await this.context.report(await this.request(key))).used;
  }

  /** As after a turn; resolves when nothing is under way any more. */
  async afterTurn(key?: string): Promise<void> {
    this.consolidation.afterTurn(await this.request(key));
    await this.idle();
  }

  /** What /mem answers. */
  async mem(note = '', message = OWNER, signal = new AbortController().signal): Promise<string> {
    const command = memCommand(appWith({ consolidation: this.consolidation, redact: (text) => text }));
    const reply = await command.run({ turnId: 'C', message, args: note, dropped: 0, signal });
    return typeof reply === 'string' ? reply : '';
  }

  async idle(): Promise<void> {
    await this.consolidation.idle();
  }

  async anchors(key = OWNER.sessionKey): Promise<readonly EntryOf<'anchor'>[]> {
    const found: EntryOf<'anchor'>[] = [];
    const session = await this.sessions.open(key);
    for await (const entry of session.backwards()) if (entry.kind === 'anchor') found.unshift(entry);
    return found;
  }

  memory(): Promise<string> {
    return this.#read('MEMORY.md');
  }

  history(): Promise<string> {
    return this.#read('HISTORY.md');
  }

  async #read(name: string): Promise<string> {
    return await readFile(join(this.folder, 'memory', name), 'utf8').catch(() => '');
  }

  async #open(): Promise<void> {
    const { folder, log, clock, newId, doom } = this;
    this.journal = await openJournal({ path: join(folder, 'state.db'), backupPath: null, clock, newId });
    this.sessions = new Sessions({ directory: join(folder, 'sessions'), quarantine: folder, clock, newId, log });
    this.store = new MemoryStore({
      workspace: folder,
      versions: join(folder, 'versions'),
      clock,
      log,
      timezone: 'UTC',
      facts: this.journal.facts,
    });
    const pricing = new Pricing({ presets: PROGRAM.presets, models: {}, providers: {}, log });
    const most = this.options.window ?? 8000;
    const windows = new ContextWindows({
      learned: new LearnedFacts({ clock: systemClock }),
      pricing,
      most,
      ask: async () => null,
      clock,
      log,
    });
    const limits = { ...UNLIMITED, ...this.options.limits };
    const agent = { timezone: 'UTC', maxOutputTokens: 100, budget: limits };
    const parts: { -readonly [Name in keyof App]?: App[Name] } = {
      program: PROGRAM,
      config: { agent, memory: { consolidateAt: 0.5 } } as Config,
      clock,
      log,
      newId,
    };
    const app = appWith(parts);
    this.context = new ContextWindow(app, windows);
    const confirm = this.options.confirm ?? null;
    const approve: Questions['approve'] = async ({ sessionKey, callId, signal }, { title, detail, reason }) => {
      if (confirm === null) return { approved: false, reason: 'no one can be asked' };
      this.confirmations.push({ session: sessionKey, id: callId, title, detail, reason });
      return (await confirm(signal)) ? { approved: true } : { approved: false, reason: 'the owner said no' };
    };
    const consolidations = doom.watch(this.journal.consolidations, ['begin', 'save']);
    Object.assign(parts, {
      journal: { ...this.journal, consolidations },
      sessions: { open: async (key: string) => this.#watch(await this.sessions.open(key)) },
      memory: doom.watch(this.store, ['appendRendered', 'replace']),
      search: { scheduleSync: () => {} },
      models: { resolve: () => this.#model() },
      questions: { approve },
      bus: {
        publishOutbound: async (message: OutboundMessage) =>
          void this.notices.push({ session: sessionKeyOf(message), text: message.text }),
      },
      people: { ownersChat: () => undefined },
      bounds: new CallBounds(app, pricing),
      contextWindow: this.context,
      redact: (text: string) => text,
      budget: new Budget(app, pricing),
    });
    this.consolidation = new Consolidation(app);
    this.consolidation.start();
  }

  async #close(): Promise<void> {
    await this.consolidation[Symbol.asyncDispose]();
    await this.sessions.close();
    this.journal[Symbol.dispose]();
  }

  #watch(session: Session): Session {
    const known = this.#watched.get(session);
    if (known !== undefined) return known;
    const watched = this.doom.watch(session, ['append']);
    this.#watched.set(session, watched);
    return watched;
  }

  #model(): ChosenModel {
    const answer = async function* (this: ConsolidationWorld, request: ModelRequest): AsyncGenerator<ModelEvent> {
      this.requests.push(request);
      yield* eventsOf(request, await this.answer(request));
    };
    return { provider: { name: 'p', chat: (request) => answer.call(this, request) }, providerName: 'p', model: 'm' };
  }
}

interface Confirmation {
  readonly session: string;
  readonly id: string;
  readonly title: string;
  readonly detail: string;
  readonly reason: string;
}

interface Turn {
  readonly message?: Partial<InboundMessage>;
  readonly origin?: string;
  /** Between the question and the answer. */
  readonly more?: readonly EntryDraft[];
}
