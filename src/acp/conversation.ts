import {
  methods,
  type AgentContext,
  type ClientCapabilities,
  type PromptResponse,
  type SessionConfigOption,
  type SessionModeState,
  type SessionUpdate,
  type StopReason,
  type ToolCallContent,
} from '@agentclientprotocol/sdk';
import type { EditorServer } from '../core/bus/editor.ts';
import type {
  AssistantPort,
  AttachedMessage,
  Conversation as Followed,
  OutboundEvent,
  SendInput,
  TurnSummary,
} from '../core/gateway/assistant-port.ts';
import type { EditorSessionInfo } from '../core/gateway/operations/editors.ts';
import { raceAbort } from '../core/util/clock.ts';
import { AppError, errorMessage } from '../core/util/errors.ts';
import { RecentMap } from '../core/util/recent-map.ts';
import { clientFiles } from './client-files.ts';
import { modelOption } from './model-option.ts';
import { permissionFor, replyOf } from './permission.ts';
import type { PromptContent } from './prompt-content.ts';
import { replayOf } from './replay.ts';
import { SetUp } from './set-up.ts';
import { text, Updates, type Step } from './updates.ts';

export interface EditorConnection {
  readonly assistant: AssistantPort;
  readonly client: AgentContext;
  /** What the editor said that it can do. */
  readonly capabilities: ClientCapabilities;
  /** Aborts when the editor is gone. */
  readonly closed: AbortSignal;
  /** Stores an image and returns its absolute path. */
  readonly keepImage: (image: PromptContent['images'][number]) => Promise<string>;
  readonly log: (line: string) => void;
}

/** As the owner configured it, or narrower. */
const MODES = [
  {
    id: 'configured',
    name: 'As configured',
    description: 'Does what your configuration allows, and asks where it says so.',
  },
  { id: 'read-only', name: 'Read only', description: 'Reads and searches, and changes nothing.' },
] as const;

const MOST_MESSAGES = 200;
const CANCELLED = new DOMException('cancelled by the editor', 'AbortError');

/** One conversation of an editor with the assistant. */
export class Conversation implements Disposable {
  readonly id: string;
  readonly #editor: EditorConnection;
  readonly #updates = new Updates();
  readonly #prompts = new Set<AbortController>();
  /** Resolves when what was cancelled so far has ended. */
  #stopping: Promise<unknown> = Promise.resolve();
  /** Turns of which something was seen and no end. */
  readonly #running = new Set<string>();
  readonly #onTurnEnd = new Set<() => void>();
  readonly #setUp: SetUp;
  /** Ids of the latest messages that were shown. */
  readonly #messages = new RecentMap<string, true>(MOST_MESSAGES);
  #followed: Followed | undefined;
  /** The model that the editor was told of. */
  #model: string | undefined;
  #isReadOnly: boolean;
  /** Sends updates in order. */
  #sending: Promise<void> = Promise.resolve();
  /** While a replay is made, events wait. */
  #held: (() => void)[] | undefined;

  constructor(
    id: string,
    facts: EditorSessionInfo & { readonly servers: readonly EditorServer[] },
    editor: EditorConnection,
  ) {
    this.id = id;
    this.#isReadOnly = facts.readOnly;
    this.#editor = editor;
    this.#setUp = new SetUp(facts, facts.servers, {
      ...editor,
      sessionId: id,
      say: (sentence) => this.#show(sentence),
      attachAnew: () => {
        const before = this.#followed;
        // What comes to both is shown once.
        this.attach();
        before?.[Symbol.dispose]();
      },
    });
  }

  get modes(): SessionModeState {
    return {
      currentModeId: this.#isReadOnly ? 'read-only' : 'configured',
      availableModes: MODES.map((mode) => ({ ...mode })),
    };
  }

  /** From now on the editor sees what happens in the conversation, and is asked. */
  attach(): void {
    const told = async (): Promise<void> => this.#sending;
    const files = clientFiles({ ...this.#editor, sessionId: this.id, told });
    this.#followed = this.#editor.assistant.open(this.#key, {
      onMessage: (message) => this.#hear(() => this.#message(message)),
      ...(files === undefined ? {} : { files }),
      servers: this.#setUp.servers,
      onEvent: (event) => this.#hear(() => this.#event(event)),
      onApproval: async (question, signal) => {
        await this.#sending;
        const request = permissionFor(this.id, question);
        const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
        return replyOf(await this.#editor.client.request(methods.client.session.requestPermission, request, options));
      },
    });
  }

  /** Shows the conversation from its beginning, and then what goes on in it. */
  async replay(): Promise<void> {
    this.#held = [];
    this.attach();
    const events = await this.#editor.assistant.call('sessionsRead', { session: this.#key }).catch((error: unknown) => {
      // Nothing was said in it yet.
      if (error instanceof AppError && error.code === 'session-unknown') return [];
      throw error;
    });
    for (const step of replayOf(events, this.#updates)) this.#send(step);
    const held = this.#held;
    this.#held = undefined;
    for (const take of held) take();
    await this.#sending;
  }

  /** Which slash commands there are. */
  async tellCommands(): Promise<void> {
    const commands = await this.#editor.assistant.call('commands', {});
    const availableCommands = commands.map(({ name, description }) => ({
      name: name.replace(/^\//u, ''),
      description,
    }));
    this.#send({ update: { sessionUpdate: 'available_commands_update', availableCommands } });
  }

  /** Says something and waits for the end of the turn. `cancelled`: aborts when the editor takes the request back. */
  async prompt(content: PromptContent, cancelled: AbortSignal): Promise<PromptResponse> {
    const stopped = new AbortController();
    const ended = Promise.withResolvers<void>();
    const before = this.#stopping;
    stopped.signal.addEventListener('abort', () => this.#stops(ended.promise));
    // An editor that goes away takes nothing back.
    const onCancel = (): void => {
      if (!this.#editor.closed.aborted) stopped.abort(CANCELLED);
    };
    if (cancelled.aborted) onCancel();
    cancelled.addEventListener('abort', onCancel, { once: true });
    this.#prompts.add(stopped);
    try {
      await this.#setUp.ask(stopped.signal);
      // A stop drops all that the assistant was told before it knows of the stop.
      await raceAbort(before, stopped.signal);
      const images = await Promise.all(content.images.map((image) => this.#editor.keepImage(image)));
      const { text: words, files } = content;
      const summary = await this.#say(
        { text: words, files, ...(images.length === 0 ? {} : { images }) },
        { signal: stopped.signal },
      );
      await this.#untilKnownTurnEnds(summary, stopped.signal);
      this.#tellState();
      await this.#sending;
      return { stopReason: stopReasonOf(summary, stopped.signal) };
    } catch (error) {
      if (!stopped.signal.aborted) throw error;
      return { stopReason: 'cancelled' };
    } finally {
      cancelled.removeEventListener('abort', onCancel);
      this.#prompts.delete(stopped);
      ended.resolve();
    }
  }

  /** Stops what runs, also a turn that another process began. */
  async cancel(): Promise<void> {
    for (const prompt of this.#prompts) prompt.abort(CANCELLED);
    if (this.#prompts.size > 0 || this.#running.size === 0) return;
    const stop = this.#say({ text: '/stop' });
    this.#stops(stop);
    await stop;
  }

  /** False: there is no such mode. */
  async setMode(mode: string): Promise<boolean> {
    if (!MODES.some(({ id }) => id === mode)) return false;
    const asked = { session: this.#key, readOnly: mode === 'read-only' };
    this.#isReadOnly = (await this.#editor.assistant.call('editorsReadOnly', asked)).readOnly;
    this.#send({ update: { sessionUpdate: 'current_mode_update', currentModeId: mode } });
    return true;
  }

  /** What may be chosen for the conversation. */
  async configOptions(): Promise<SessionConfigOption[]> {
    const models = await this.#editor.assistant.call('modelsList', { session: this.#key });
    this.#model = models.current;
    return [modelOption(models)];
  }

  /** Chooses the model that answers from now on; false: there is no such model. */
  async setModel(model: string): Promise<boolean> {
    const { models } = await this.#editor.assistant.call('modelsList', { session: this.#key });
    if (!models.includes(model)) return false;
    await this.#say({ text: `/model ${model}` });
    return true;
  }

  [Symbol.dispose](): void {
    this.#followed?.[Symbol.dispose]();
  }

  get #key(): string {
    return keyOf(this.id);
  }

  /** A gateway that was started again has the message already and says no more of it: its turn goes on there. */
  async #untilKnownTurnEnds({ outcome, text: answer }: TurnSummary, signal: AbortSignal): Promise<void> {
    if (outcome !== 'answered' || answer !== '') return;
    while (this.#running.size > 0 && !signal.aborted) {
      const ended = Promise.withResolvers<void>();
      this.#onTurnEnd.add(ended.resolve);
      await raceAbort(ended.promise, signal).catch(() => {});
      this.#onTurnEnd.delete(ended.resolve);
    }
  }

  /** The next prompt waits for the end of this. */
  #stops(work: Promise<unknown>): void {
    this.#stopping = Promise.allSettled([this.#stopping, work]);
  }

  #ended(turn: string): void {
    this.#running.delete(turn);
    for (const wake of this.#onTurnEnd) wake();
  }

  /** What an editor says is answered also when it goes away. */
  async #say(input: SendInput, options: { readonly signal?: AbortSignal } = {}): Promise<TurnSummary> {
    const followed = this.#followed ?? this.#editor.assistant.open(this.#key);
    return await followed.send({ ...input, keeps: true }, options);
  }

  #show(sentence: string): void {
    this.#send({ update: { sessionUpdate: 'agent_message_chunk', content: text(`${sentence}\n\n`) } });
  }

  /** How full the context window is, and which model answers, where that has changed. */
  #tellState(): void {
    const { assistant, closed, log } = this.#editor;
    const tell = async (): Promise<void> => {
      const { used, window: size } = await assistant.call('prompt', { session: this.#key });
      this.#send({ update: { sessionUpdate: 'usage_update', used, size } });
      const before = this.#model;
      const configOptions = await this.configOptions();
      if (this.#model !== before) this.#send({ update: { sessionUpdate: 'config_option_update', configOptions } });
    };
    tell().catch((error: unknown) => {
      if (!closed.aborted) log(`acp: the state of the conversation was not told: ${errorMessage(error)}`);
    });
  }

  #hear(take: () => void): void {
    if (this.#held === undefined) take();
    else this.#held.push(take);
  }

  #event(event: OutboundEvent): void {
    for (const step of this.#updates.event(event)) this.#send(step);
    if (event.type === 'turn-end') this.#ended(event.turnId);
    else this.#running.add(event.turnId);
  }

  #message(message: AttachedMessage): void {
    if (this.#messages.get(message.id) === true) return;
    this.#messages.set(message.id, true);
    for (const step of this.#updates.message(message)) this.#send(step);
    // The end of a turn that ended while no connection was there.
    if (message.kind === 'answer' && message.turnId !== undefined) this.#ended(message.turnId);
  }

  #send(step: Step): void {
    this.#sending = this.#sending
      .then(async () =>
        this.#notify(step.edited === undefined ? step.update : await this.#withDiffs(step, step.edited)),
      )
      .catch((error: unknown) => this.#editor.log(`acp: an update was not sent: ${errorMessage(error)}`));
  }

  async #notify(update: SessionUpdate): Promise<void> {
    await this.#editor.client.notify(methods.client.session.update, { sessionId: this.id, update });
  }

  async #withDiffs({ update }: Step, { turn, call }: NonNullable<Step['edited']>): Promise<SessionUpdate> {
    if (update.sessionUpdate !== 'tool_call_update') return update;
    const changes = await this.#editor.assistant.call('editorsChanges', { session: this.#key, turn, call });
    const content: ToolCallContent[] = changes.map(({ path, before, after }) => ({
      type: 'diff',
      path,
      oldText: before,
      newText: after,
    }));
    return content.length === 0 ? update : { ...update, content, locations: changes.map(({ path }) => ({ path })) };
  }
}

/** The key of the session of a conversation. */
export function keyOf(id: string): string {
  return `acp:${id}`;
}

function stopReasonOf({ outcome, cut, errorKind }: TurnSummary, stopped: AbortSignal): StopReason {
  if (outcome === 'stopped' || stopped.aborted) return 'cancelled';
  if (cut === 'length') return 'max_tokens';
  if (cut === 'refusal' || errorKind === 'refusal') return 'refusal';
  if (errorKind === 'limit') return 'max_turn_requests';
  return 'end_turn';
}
