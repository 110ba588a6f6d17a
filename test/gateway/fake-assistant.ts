import type {
  ApprovalQuestion,
  AssistantInfo,
  AssistantPort,
  AttachedMessage,
  OutboundEvent,
  SendInput,
  SendOptions,
  TurnSummary,
} from '../../src/core/gateway/assistant-port.ts';
import { allOperations } from '../support/extensions.ts';
import type { Caller } from '../../src/core/gateway/operations/operation.ts';
import type { RequestName, RequestParams, RequestResult } from '../../src/core/gateway/operations/operations.ts';

export const INFO: AssistantInfo = {
  version: '1.2.3',
  pid: 42,
  home: '/home/somebody/.assistant',
  model: 'demo/scripted',
  channels: { terminal: { state: 'running' } },
  warnings: [],
  startedAt: 1_000_000,
  http: null,
};

export function summaryOf(text: string, more: Partial<TurnSummary> = {}): TurnSummary {
  return {
    outcome: 'answered',
    text,
    isError: false,
    errorKind: null,
    model: 'demo/scripted',
    usage: { input: 3, cached: 0, cacheWrite: 0, output: 2, reasoning: 0 },
    costUsd: null,
    durationMs: 5,
    ...more,
  };
}

export function textEvent(text: string): OutboundEvent {
  return { type: 'text', text, ...place() };
}

export function statusEvent(text: string): OutboundEvent {
  return { type: 'status', text, ...place() };
}

export function toolEvent(type: 'tool-start' | 'tool-end', title: string): OutboundEvent {
  const call = { callId: 't1.1', name: 'exec', title };
  return type === 'tool-start' ? { type, ...call, ...place() } : { type, isError: true, ...call, ...place() };
}

export function toolEnd(
  title: string,
  more: Partial<Extract<OutboundEvent, { type: 'tool-end' }>> = {},
): OutboundEvent {
  return { type: 'tool-end', callId: 't1.1', name: 'exec', title, isError: false, ...place(), ...more };
}

let sequence = 0;

function place(): {
  channel: string;
  chatId: string;
  sessionKey: string;
  turnId: string;
  sequence: number;
} {
  return { channel: 'terminal', chatId: 'main', sessionKey: 'terminal:main', turnId: 't1', sequence: (sequence += 1) };
}

export const QUESTION: ApprovalQuestion = {
  id: 't1.1',
  title: 'Run a command',
  detail: 'rm -r build',
  reason: 'it deletes files',
};

type Script = (input: SendInput, options: SendOptions) => Promise<TurnSummary>;

/** An assistant that does what the test says; by default it repeats what it hears. */
export class FakeAssistant implements AssistantPort, AsyncDisposable {
  readonly heard: SendInput[] = [];
  disposed = 0;
  script: Script = async (input) => summaryOf(`You said: ${input.text}`);
  facts: AssistantInfo = INFO;
  readonly #attached = new Map<string, Set<(message: AttachedMessage) => void>>();

  info(): AssistantInfo {
    return this.facts;
  }

  async send(input: SendInput, options: SendOptions): Promise<TurnSummary> {
    this.heard.push(input);
    const summary = await this.script(input, options);
    if (this.disposed > 0) throw new Error('was disposed of during a turn');
    return summary;
  }

  attach(session: string, listener: (message: AttachedMessage) => void): Disposable {
    const listeners = this.#attached.get(session) ?? new Set();
    this.#attached.set(session, listeners.add(listener));
    return { [Symbol.dispose]: () => listeners.delete(listener) };
  }

  /** How many listen to a session. */
  listeners(session: string): number {
    return this.#attached.get(session)?.size ?? 0;
  }

  tell(session: string, text: string, more: Pick<AttachedMessage, 'turnId' | 'from'> = {}): void {
    const message = { id: `m-${text}`, text, kind: 'notice', ...more };
    for (const listener of this.#attached.get(session) ?? []) listener(message);
  }

  tools(): ReturnType<AssistantPort['tools']> {
    return [
      {
        name: 'exec',
        description: 'Runs a command.\nMore.',
        parameters: { type: 'object' },
        effect: 'effect',
        role: 'owner',
      },
      {
        name: 'read_file',
        description: 'Reads a file.',
        parameters: { type: 'object' },
        effect: 'none',
        role: 'trusted',
      },
    ];
  }

  async runTool({
    name,
    arguments: json,
    dryRun,
  }: Parameters<AssistantPort['runTool']>[0]): ReturnType<AssistantPort['runTool']> {
    if (name === 'exec') return { decision: 'deny', reason: 'not here', result: null };
    const result = { title: `ran ${name}`, output: json, metadata: {}, isError: name === 'broken' };
    return { decision: 'allow', reason: null, result: dryRun ? null : result };
  }

  /** What requests are answered with. */
  answers: {
    readonly [Name in RequestName]?: (params: RequestParams<Name>, caller: Caller) => Promise<RequestResult<Name>>;
  } = {};
  readonly operations = allOperations();

  async request<Name extends RequestName>(name: Name, params: RequestParams<Name>): Promise<RequestResult<Name>> {
    const answer = this.answers[name];
    if (answer === undefined) throw new Error(`nobody expected the request ${name}`);
    return await answer(params, { door: 'terminal:owner', role: 'owner' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disposed += 1;
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}
