import { basename } from 'node:path';
import { EDITOR_FACTS, isEditorSession, type EditorFacts } from '../bus/editor.ts';
import type { InboundDraft, OutboundEvent, TurnSummary } from '../bus/messages.ts';
import { runMetadata } from '../bus/run.ts';
import { localRole } from '../security/access/access.ts';
import type { App } from '../app.ts';
import { raceAbort, sleep } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import { noUsage } from '../util/token-usage.ts';
import type {
  AssistantPort,
  CallOptions,
  Conversation,
  ConversationOptions,
  OwnAssistant,
  SendInput,
} from './assistant-port.ts';
import { checkRun } from './check-run.ts';
import { localUser } from './local-user.ts';
import { auditLine, requireRole, type OperationTable } from './operations/call.ts';
import type { RequestName, RequestParams, RequestResult } from './operations/operations.ts';

/** How long a reply may take to be marked delivered after its turn ended. */
const DELIVERY_WAIT_MS = 2_000;
const STOP_WAIT_MS = 3_000;
const CONTINUES = 'The assistant is stopping. It continues with this when it runs again.';

/** The assistant of this process, for the terminal, the control socket and programs that embed it. */
export class LocalAssistant implements OwnAssistant {
  readonly #app: App;
  readonly #sender = { id: 'owner', name: localUser(), isBot: false };

  constructor(app: App) {
    this.#app = app;
  }

  get operations(): OperationTable {
    return this.#app.operations;
  }

  /** A call that changes something is in the audit log before it begins. */
  async call<Name extends RequestName>(
    name: Name,
    input: RequestParams<Name>,
    { door = 'terminal:owner', role = localRole('control-socket') }: CallOptions = {},
  ): Promise<RequestResult<Name>> {
    const app = this.#app;
    const one = app.operations.get(name);
    requireRole(one, { door, role });
    const what = auditLine(one, input);
    if (what !== null) {
      const person = { who: door, role, origin: 'user' };
      const decided = { decision: 'allowed', reason: null, approval: null } as const;
      await app.audit.record({ turn: null, session: null, what, ...person, ...decided });
    }
    const result = await one.run(app, input, { door, role });
    if (what !== null && one.changes !== null) app.http.changed?.(one.changes);
    // The operation of this name answers this.
    return result as RequestResult<Name>;
  }

  open(session: string, options: ConversationOptions = {}): Conversation {
    const { onMessage, onEvent, onApproval, files, servers = [] } = options;
    const { bus, channels, questions, editorFiles, plugins, safe, newId } = this.#app;
    const sessionKey = bus.sessionOf(this.#draft(session, { text: '' }, newId()));
    const followed = new DisposableStack();
    if (onEvent !== undefined)
      followed.use(
        bus.listen((event) => {
          if (event.sessionKey === sessionKey) onEvent(event);
        }),
      );
    if (onApproval !== undefined) followed.use(questions.attach(sessionKey, onApproval));
    if (files !== undefined) followed.use(editorFiles.attach(sessionKey, files));
    if (servers.length > 0 && !safe)
      for (const [, part] of plugins.each('editorServers')) followed.use(part.attach(sessionKey, servers));
    if (onMessage !== undefined) followed.use(channels.terminal.attach(session, onMessage));
    return {
      send: (input, { signal } = {}) => this.#send(session, input, signal),
      [Symbol.dispose]: () => followed.dispose(),
    };
  }

  /** Throws `connection-lost` when the process stops; the turn continues at the next start. */
  async #send(session: string, input: SendInput, signal: AbortSignal | undefined): Promise<TurnSummary> {
    const { bus, channels, tools, newId, clock } = this.#app;
    checkRun(
      input,
      tools.list().map(({ spec }) => spec.name),
    );
    const draft = this.#draft(session, input, input.id ?? newId());
    const sessionKey = bus.sessionOf(draft);
    const delivered = new Set<string>();
    const onDelivered = new EventTarget();
    const ended = Promise.withResolvers<{ turnId: string; result: TurnSummary }>();
    using _end = bus.listen((event) => {
      const isEnd = event.type === 'turn-end' && event.sessionKey === sessionKey;
      if (isEnd && event.answers.includes(draft.externalId)) ended.resolve(event);
    });
    using _sink = channels.terminal.attach(session, (message) => {
      if (message.turnId === undefined || message.kind === 'part') return;
      delivered.add(message.turnId);
      onDelivered.dispatchEvent(new Event('delivered'));
    });
    const [accepted] = await bus.publishInbound(draft);
    if (accepted === 'duplicate') return knownSummary();
    if (accepted !== 'accepted') return refusedSummary();
    const { turnId, result } = await this.#untilEnd(ended.promise, session, signal);
    if (result.text === '') return result;
    if (result.outcome === 'answered' || result.outcome === 'failed' || result.outcome === 'command') {
      while (!delivered.has(turnId)) {
        const next = new Promise<void>((resolve) =>
          onDelivered.addEventListener('delivered', () => resolve(), { once: true }),
        );
        const late = await Promise.race([next.then(() => false), sleep(clock, DELIVERY_WAIT_MS).then(() => true)]);
        if (late) break;
      }
    }
    return result;
  }

  async #untilEnd(
    ended: Promise<{ turnId: string; result: TurnSummary }>,
    session: string,
    signal: AbortSignal | undefined,
  ): Promise<{ turnId: string; result: TurnSummary }> {
    const { bus, clock, closing, newId } = this.#app;
    try {
      return await raceAbort(ended, signal === undefined ? closing : AbortSignal.any([signal, closing]));
    } catch (error) {
      if (closing.aborted) throw new AppError('connection-lost', CONTINUES);
      if (error instanceof AppError && error.code === 'connection-lost') throw error;
      await bus.publishInbound(this.#draft(session, { text: '/stop' }, newId()));
      const stopped = {
        turnId: '',
        result: { ...refusedSummary(), outcome: 'stopped' as const, errorKind: 'aborted', text: 'Stopped.' },
      };
      return await Promise.race([ended, sleep(clock, STOP_WAIT_MS).then(() => stopped)]);
    }
  }

  #editorFacts(session: string, files: SendInput['files'] = []): EditorFacts {
    const kept = this.#app.editors.of(session);
    const folder = kept === undefined ? null : { path: kept.folder, allowed: kept.allowed === true };
    return { files: [...files], folder, readOnly: kept?.readOnly === true };
  }

  #draft(session: string, input: SendInput, id: string): InboundDraft {
    return {
      channel: 'terminal',
      account: 'local',
      chatId: session,
      ...(isEditorSession(session) ? { sessionKey: session } : {}),
      chatType: 'direct',
      sender: this.#sender,
      role: localRole('terminal'),
      text: input.text,
      media: (input.images ?? []).map((path) => ({ kind: 'image', mediaType: 'image/*', path, name: basename(path) })),
      mentioned: true,
      context: [],
      receivedAt: this.#app.clock.now(),
      externalId: externalIdOf(id),
      origin: 'user',
      untrusted: false,
      metadata: {
        ...(input.model === undefined ? {} : { model: input.model }),
        ...runMetadata({ tools: input.tools, timeoutMs: input.timeoutMs, retries: input.retries }),
        ...(isEditorSession(session) ? { [EDITOR_FACTS]: this.#editorFacts(session, input.files) } : {}),
      },
    };
  }
}

/** The external id of the message that is sent under an id; the `turn-end` of its turn names it. */
export function externalIdOf(id: string): string {
  return `m:${id}`;
}

/** Sends a message to a session, and gives the events of the session in order until its turn has ended. */
export async function* streamOf(
  assistant: Pick<AssistantPort, 'open'>,
  session: string,
  { input, signal, ...options }: StreamOptions,
): AsyncGenerator<OutboundEvent, TurnSummary, void> {
  const waiting: OutboundEvent[] = [];
  let wake = Promise.withResolvers<void>();
  let finished = false;
  const conversation = assistant.open(session, {
    ...options,
    onEvent: (event) => {
      options.onEvent?.(event);
      waiting.push(event);
      wake.resolve();
    },
  });
  const result = conversation.send(input, signal === undefined ? {} : { signal }).finally(() => {
    conversation[Symbol.dispose]();
    finished = true;
    wake.resolve();
  });
  result.catch(() => {});
  for (;;) {
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) yield event;
    if (finished) return await result;
    await wake.promise;
    wake = Promise.withResolvers<void>();
  }
}

interface StreamOptions extends Pick<ConversationOptions, 'onEvent' | 'onApproval'> {
  readonly input: SendInput;
  readonly signal?: AbortSignal;
}

/** Of a message that was accepted before: its answer comes, or came, to those who are attached. */
function knownSummary(): TurnSummary {
  return { ...refusedSummary(), outcome: 'answered', text: '', isError: false, errorKind: null };
}

function refusedSummary(): TurnSummary {
  return {
    outcome: 'failed',
    text: 'Too many messages are waiting in this session. Wait for answers, or send /stop.',
    isError: true,
    errorKind: 'limit',
    model: null,
    usage: noUsage,
    costUsd: null,
    durationMs: 0,
  };
}
