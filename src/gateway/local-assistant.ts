import { basename } from 'node:path';
import type { MessageBus } from '../bus/bus.ts';
import { EDITOR_FACTS, isEditorSession, type EditorFacts, type EditorServer, type LentFiles } from '../bus/editor.ts';
import type { InboundDraft, OutboundEvent, TurnSummary } from '../bus/messages.ts';
import { runMetadata } from '../bus/run.ts';
import { localRole } from '../security/access/access.ts';
import type { AuditLog } from '../storage/audit-log.ts';
import { raceAbort, sleep, type Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import type { IdFactory } from '../util/ids.ts';
import { noUsage } from '../util/token-usage.ts';
import type {
  ApprovalQuestion,
  ApprovalReply,
  AssistantInfo,
  AssistantPort,
  AttachOptions,
  CallOptions,
  SendInput,
  SendOptions,
  ToolRun,
} from './assistant-port.ts';
import { checkRun } from './check-run.ts';
import { localUser } from './local-user.ts';
import type { Changed } from './http/wire.ts';
import { auditLine } from './operations/call.ts';
import { changedBy } from './operations/changes.ts';
import type { RequestHandlers, RequestName, RequestParams, RequestResult } from './operations/operations.ts';

/** The modules behind the port, as narrow as it needs them. */
export interface LocalAssistantPorts {
  readonly bus: MessageBus;
  readonly clock: Clock;
  readonly newId: IdFactory;
  readonly terminal: {
    attach(chatId: string, listener: (message: TerminalText) => void): Disposable;
  };
  readonly approvals: {
    attach(
      sessionKey: string,
      approver: (question: ApprovalQuestion, signal: AbortSignal) => Promise<ApprovalReply>,
    ): Disposable;
  };
  readonly editorFiles: { attach(sessionKey: string, files: LentFiles): Disposable };
  readonly editorMcp: { attach(sessionKey: string, servers: readonly EditorServer[]): Disposable };
  readonly info: () => AssistantInfo;
  /** What is kept of the conversations of editors. */
  readonly editors: {
    of(
      session: string,
    ): { readonly folder: string; readonly allowed: boolean | null; readonly readOnly: boolean } | undefined;
  };
  readonly tools: Pick<AssistantPort, 'tools' | 'runTool'>;
  readonly requests: RequestHandlers;
  /** Told what a call has changed, by whichever door it came. */
  readonly changed: (what: Changed) => void;
  readonly audit: Pick<AuditLog, 'record'>;
  /** Aborts when the process stops: turns that have not ended continue at the next start. */
  readonly closing: AbortSignal;
}

interface TerminalText {
  readonly id: string;
  readonly text: string;
  readonly kind: string;
  readonly turnId?: string;
  readonly from?: string;
}

/** How long a reply may take to be marked delivered after its turn ended. */
const DELIVERY_WAIT_MS = 2_000;
const STOP_WAIT_MS = 3_000;
const CONTINUES = 'The assistant is stopping. It continues with this when it runs again.';

/** The assistant of this process, for the terminal, the control socket and programs that embed it. */
export class LocalAssistant implements AssistantPort {
  readonly #ports: LocalAssistantPorts;
  readonly #sender = { id: 'owner', name: localUser(), isBot: false };

  constructor(ports: LocalAssistantPorts) {
    this.#ports = ports;
  }

  info(): AssistantInfo {
    return this.#ports.info();
  }

  tools(): ReturnType<AssistantPort['tools']> {
    return this.#ports.tools.tools();
  }

  runTool(run: ToolRun): ReturnType<AssistantPort['runTool']> {
    return this.#ports.tools.runTool(run);
  }

  /** A call that changes something is in the audit log before it begins. */
  async request<Name extends RequestName>(
    name: Name,
    params: RequestParams<Name>,
    { door = 'terminal:owner' }: CallOptions = {},
  ): Promise<RequestResult<Name>> {
    const { requests, audit, changed } = this.#ports;
    const what = auditLine(name, params);
    if (what !== null) {
      const person = { who: door, role: localRole('control-socket'), origin: 'user' };
      const decided = { decision: 'allowed', reason: null, approval: null } as const;
      await audit.record({ turn: null, session: null, what, ...person, ...decided });
    }
    const result = await requests[name](params, { door });
    const subject = what === null ? undefined : changedBy(name);
    if (subject !== undefined) changed(subject);
    return result;
  }

  attach(
    session: string,
    listener: (message: TerminalText) => void,
    { onEvent, onApproval, files, servers = [] }: AttachOptions = {},
  ): Disposable {
    const { bus, terminal, approvals, editorFiles, editorMcp, newId } = this.#ports;
    const sessionKey = bus.sessionOf(this.#draft({ session, text: '' }, newId()));
    const attached = new DisposableStack();
    if (onEvent !== undefined)
      attached.use(
        bus.listen((event) => {
          if (event.sessionKey === sessionKey) onEvent(event);
        }),
      );
    if (onApproval !== undefined) attached.use(approvals.attach(sessionKey, onApproval));
    if (files !== undefined) attached.use(editorFiles.attach(sessionKey, files));
    if (servers.length > 0) attached.use(editorMcp.attach(sessionKey, servers));
    attached.use(terminal.attach(session, listener));
    return attached;
  }

  /**
   * Resolves when the turn that answers this message has ended. Aborting the signal stops the turn. When the process
   * stops, the turn is left as it is and `connection-lost` is thrown: it continues at the next start.
   */
  async send(input: SendInput, options: SendOptions): Promise<TurnSummary> {
    const { bus, terminal, approvals, newId, clock } = this.#ports;
    await checkRun(input, this.#ports.tools);
    const draft = this.#draft(input, input.id ?? newId());
    const sessionKey = bus.sessionOf(draft);
    const delivered = new Set<string>();
    const onDelivered = new EventTarget();
    const ended = Promise.withResolvers<{ turnId: string; result: TurnSummary }>();
    using _end = bus.listen((event) => {
      const isEnd = event.type === 'turn-end' && event.sessionKey === sessionKey;
      if (isEnd && event.answers.includes(draft.externalId)) ended.resolve(event);
    });
    // A listener of its own: the bus drops one that throws, and the end of the turn must still be heard.
    using _live = bus.listen((event) => {
      if (event.sessionKey === sessionKey) options.onEvent?.(event);
    });
    using _sink = terminal.attach(input.session, (message) => {
      if (message.turnId === undefined || message.kind === 'part') return;
      delivered.add(message.turnId);
      onDelivered.dispatchEvent(new Event('delivered'));
    });
    using _approver = options.onApproval === undefined ? undefined : approvals.attach(sessionKey, options.onApproval);
    const [accepted] = await bus.publishInbound(draft);
    if (accepted === 'duplicate') return knownSummary();
    if (accepted !== 'accepted') return refusedSummary();
    const { turnId, result } = await this.#untilEnd(ended.promise, input, options.signal);
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
    input: SendInput,
    signal: AbortSignal | undefined,
  ): Promise<{ turnId: string; result: TurnSummary }> {
    const { closing } = this.#ports;
    try {
      return await raceAbort(ended, signal === undefined ? closing : AbortSignal.any([signal, closing]));
    } catch (error) {
      if (closing.aborted) throw new AppError('connection-lost', CONTINUES);
      if (error instanceof AppError && error.code === 'connection-lost') throw error;
      await this.#ports.bus.publishInbound(this.#draft({ session: input.session, text: '/stop' }, this.#ports.newId()));
      const stopped = {
        turnId: '',
        result: { ...refusedSummary(), outcome: 'stopped' as const, errorKind: 'aborted', text: 'Stopped.' },
      };
      return await Promise.race([ended, sleep(this.#ports.clock, STOP_WAIT_MS).then(() => stopped)]);
    }
  }

  #editorFacts({ session, files = [] }: SendInput): EditorFacts {
    const kept = this.#ports.editors.of(session);
    const folder = kept === undefined ? null : { path: kept.folder, allowed: kept.allowed === true };
    return { files: [...files], folder, readOnly: kept?.readOnly === true };
  }

  #draft(input: SendInput, id: string): InboundDraft {
    return {
      channel: 'terminal',
      account: 'local',
      chatId: input.session,
      ...(isEditorSession(input.session) ? { sessionKey: input.session } : {}),
      chatType: 'direct',
      sender: this.#sender,
      role: localRole('terminal'),
      text: input.text,
      media: (input.images ?? []).map((path) => ({ kind: 'image', mediaType: 'image/*', path, name: basename(path) })),
      mentioned: true,
      context: [],
      receivedAt: this.#ports.clock.now(),
      externalId: externalIdOf(id),
      origin: 'user',
      untrusted: false,
      metadata: {
        ...(input.model === undefined ? {} : { model: input.model }),
        ...runMetadata({ tools: input.tools, timeoutMs: input.timeoutMs, retries: input.retries }),
        ...(isEditorSession(input.session) ? { [EDITOR_FACTS]: this.#editorFacts(input) } : {}),
      },
    };
  }
}

/** The external id of the message that is sent under an id; the `turn-end` of its turn names it. */
export function externalIdOf(id: string): string {
  return `m:${id}`;
}

/** Events of a stream in order, ending with the turn. */
export async function* streamOf(
  assistant: Pick<AssistantPort, 'send'>,
  input: SendInput,
  options: Omit<SendOptions, 'onEvent'>,
): AsyncGenerator<OutboundEvent, TurnSummary, void> {
  const waiting: OutboundEvent[] = [];
  let wake = Promise.withResolvers<void>();
  let finished = false;
  const result = assistant
    .send(input, {
      ...options,
      onEvent: (event) => {
        waiting.push(event);
        wake.resolve();
      },
    })
    .finally(() => {
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
