import type {
  ApprovalQuestion,
  AssistantPort,
  AttachedMessage,
  Conversation,
  ConversationOptions,
  OutboundEvent,
  SendInput,
  TurnSummary,
} from '../../src/core/gateway/assistant-port.ts';
import { allOperations } from '../support/extensions.ts';
import type { Caller } from '../../src/core/gateway/operations/operation.ts';
import type { RequestName, RequestParams, RequestResult } from '../../src/core/gateway/operations/operations.ts';

export const INFO: RequestResult<'info'> = {
  version: '1.2.3',
  pid: 42,
  home: '/home/somebody/.assistant',
  model: 'demo/scripted',
  channels: { terminal: { state: 'running' } },
  findings: [],
  warnings: [],
  startedAt: 1_000_000,
  http: null,
  transcription: false,
  operations: [],
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

interface ScriptOptions extends Pick<ConversationOptions, 'onEvent' | 'onApproval'> {
  readonly signal?: AbortSignal;
}

type Heard = SendInput & { readonly session: string };
type Script = (input: Heard, options: ScriptOptions) => Promise<TurnSummary>;

type Answers = {
  readonly [Name in RequestName]?: (params: RequestParams<Name>, caller: Caller) => Promise<RequestResult<Name>>;
};

const TOOLS: RequestResult<'toolsList'> = [
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

/** An assistant that does what the test says; by default it repeats what it hears. */
export class FakeAssistant implements AssistantPort, AsyncDisposable {
  readonly heard: Heard[] = [];
  disposed = 0;
  script: Script = async (input) => summaryOf(`You said: ${input.text}`);
  facts = INFO;
  readonly #open = new Map<string, Set<ConversationOptions>>();

  open(session: string, options: ConversationOptions = {}): Conversation {
    // Several may follow with the same options.
    const own = { ...options };
    const followers = this.#open.get(session) ?? new Set();
    this.#open.set(session, followers.add(own));
    return {
      send: async (input, { signal } = {}) => {
        const heard = { session, ...input };
        this.heard.push(heard);
        const onApproval = [...followers].findLast((one) => one.onApproval !== undefined)?.onApproval;
        const summary = await this.script(heard, {
          onEvent: (event) => {
            for (const one of followers) one.onEvent?.(event);
          },
          ...(onApproval === undefined ? {} : { onApproval }),
          ...(signal === undefined ? {} : { signal }),
        });
        if (this.disposed > 0) throw new Error('was disposed of during a turn');
        return summary;
      },
      [Symbol.dispose]: () => followers.delete(own),
    };
  }

  /** How many listen to a session. */
  listeners(session: string): number {
    return [...(this.#open.get(session) ?? [])].filter(({ onMessage }) => onMessage !== undefined).length;
  }

  tell(session: string, text: string, more: Pick<AttachedMessage, 'turnId' | 'from'> = {}): void {
    const message = { id: `m-${text}`, text, kind: 'notice', ...more };
    for (const { onMessage } of this.#open.get(session) ?? []) onMessage?.(message);
  }

  /** What calls are answered with, beside `info` and those of tools. */
  answers: Answers = {};
  readonly operations = allOperations();
  readonly #usual: Answers = {
    info: async () => this.facts,
    toolsList: async () => TOOLS,
    toolRun: async ({ name, arguments: json, dryRun }) => {
      if (name === 'exec') return { decision: 'deny', reason: 'not here', result: null };
      const result = { title: `ran ${name}`, output: json, metadata: {}, isError: name === 'broken' };
      return { decision: 'allow', reason: null, result: dryRun ? null : result };
    },
  };

  async call<Name extends RequestName>(name: Name, input: RequestParams<Name>): Promise<RequestResult<Name>> {
    const answer: Answers[Name] = this.answers[name] ?? this.#usual[name];
    if (answer === undefined) throw new Error(`nobody expected a call of ${name}`);
    return await answer(input, { door: 'terminal:owner', role: 'owner' });
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
