import * as z from 'zod';
import { editorFileReply, editorServer, MOST_EDITOR_SERVERS, type EditorFileRequest } from '../bus/editor.ts';
import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type {
  ApprovalQuestion,
  ApprovalReply,
  AssistantPort,
  AttachedMessage,
  Conversation,
  ConversationOptions,
  OutboundEvent,
  OwnAssistant,
  TurnSummary,
} from './assistant-port.ts';
import { connectControl, type ControlClient } from './control-client.ts';
import { ClientGone, OTHER_VERSION, serveControl, type Handler, type RedactFrame } from './control-server.ts';
import { callOperation } from './operations/call.ts';
import type { RequestName, RequestParams, RequestResult } from './operations/operations.ts';

const sendParams = z.object({
  id: z.string().min(1).max(100).exactOptional(),
  session: z.string().min(1).max(200),
  text: z.string(),
  images: z.array(z.string()).exactOptional(),
  model: z.string().exactOptional(),
  tools: z.array(z.string()).exactOptional(),
  timeoutMs: z.number().exactOptional(),
  retries: z.number().exactOptional(),
  files: z.array(z.object({ name: z.string(), text: z.string() })).exactOptional(),
  keeps: z.boolean().exactOptional(),
});
const reply = z.union([z.boolean(), z.literal('always'), z.object({ reason: z.string().max(4_000) })]);
const openParams = z.object({
  session: z.string().min(1).max(200),
  /** It wants the messages to the session. */
  messages: z.boolean().default(false),
  /** It wants the live events. */
  live: z.boolean().default(false),
  /** Somebody at the other end answers the questions of every turn of the session. */
  asks: z.boolean().default(false),
  /** An editor at the other end lends its files. */
  files: z.object({ reads: z.boolean(), writes: z.boolean() }).exactOptional(),
  /** MCP servers of the editor. */
  servers: z.array(editorServer).max(MOST_EDITOR_SERVERS).default([]),
});
/** A question about a file of the editor. */
const fileQuestion = z.object({ file: z.unknown() });
/** A live event among the messages to a session. */
const liveFrame = z.object({ live: z.unknown() });
const restart = z.object({ text: z.literal('/restart') });
const callFrame = z.object({ name: z.unknown().optional(), params: z.unknown().optional() }).catch({});

/** Offers an assistant to other processes of this user, at a socket, until disposed of. The home's lock must be held. */
export function startControlServer(options: {
  readonly path: string;
  readonly version: string;
  readonly assistant: OwnAssistant;
  readonly log: Logger;
  /** @default the system's */
  readonly clock?: Clock;
  /** Takes secrets out of what is sent, which is JSON and stays it. @default nothing is taken out */
  readonly redact?: RedactFrame;
}): Promise<AsyncDisposable> {
  const { assistant, ...rest } = options;
  const answerShowsRuns = (method: string, params: unknown): boolean =>
    method === 'call' && assistant.operations.showsRuns(callFrame.parse(params).name);
  return serveControl({ ...rest, handlers: assistantHandlers(assistant), showsRuns: answerShowsRuns });
}

/** What cannot be understood is a no. */
function replyOf(given: unknown): ApprovalReply {
  return reply.safeParse(given).data ?? false;
}

/** One method each. */
function assistantHandlers(assistant: OwnAssistant): Readonly<Record<string, Handler>> {
  return {
    call: async (given) => callOperation(assistant, callFrame.parse(given)),
    say: async (params, { signal }) => {
      const { session, ...input } = sendParams.parse(params);
      return assistant.open(session).send(input, { signal: input.keeps === true ? unlessGone(signal) : signal });
    },
    // Ends when the client says so.
    open: async (params, { signal, emit, ask }) => {
      const { session, messages, live, asks, files, servers } = openParams.parse(params);
      const onMessage = (message: AttachedMessage): void => {
        signal.throwIfAborted();
        emit(message);
      };
      using _followed = assistant.open(session, {
        servers,
        ...(messages ? { onMessage } : {}),
        ...(live ? { onEvent: (event) => emit({ live: event }, liveKey(event)) } : {}),
        ...(asks ? { onApproval: async (question, stop) => replyOf(await orGone(ask(question, stop), signal)) } : {}),
        ...(files === undefined
          ? {}
          : {
              files: {
                ...files,
                ask: async (file, stop) =>
                  editorFileReply(await orGone(ask({ file }, stop, { verbatim: true }), signal)),
              },
            }),
      });
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
    // Programs of the first versions call these two while they upgrade to this version, or return from it.
    info: async () => assistant.call('info', {}),
    send: async (params) => {
      if (!restart.safeParse(params).success) throw new AppError('control-version', OTHER_VERSION);
      return assistant.open('main').send({ text: '/restart' });
    },
  };
}

/** What a client answers. Throws `approver-gone` when it went away, so that somebody else can be asked. */
async function orGone(asked: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    if (signal.aborted) throw new AppError('approver-gone', 'The one who was asked went away.', { cause: error });
    throw error;
  }
}

/** Aborts as `signal` does, but not when the client goes away. */
function unlessGone(signal: AbortSignal): AbortSignal {
  const stop = new AbortController();
  const onAbort = (): void => {
    if (!(signal.reason instanceof ClientGone)) stop.abort(signal.reason);
  };
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return stop.signal;
}

/** The assistant that listens at `path`, as if it lived here; undefined when none does. Disposing disconnects. */
export async function connectAssistant(path: string, clock: Clock): Promise<RemoteAssistant | undefined> {
  const client = await connectControl(path, clock);
  return client === undefined ? undefined : new RemoteAssistant(client);
}

/** An assistant behind the control socket. What it says is taken as it is: both ends are the same program. */
class RemoteAssistant implements AssistantPort, AsyncDisposable {
  readonly #client: ControlClient;

  constructor(client: ControlClient) {
    this.#client = client;
  }

  get lost(): Promise<unknown> {
    return this.#client.lost;
  }

  async call<Name extends RequestName>(name: Name, params: RequestParams<Name>): Promise<RequestResult<Name>> {
    return (await this.#client.request('call', { name, params })) as RequestResult<Name>;
  }

  open(
    session: string,
    { onMessage, onEvent, onApproval, files, servers = [] }: ConversationOptions = {},
  ): Conversation {
    const left = new AbortController();
    const wanted = {
      session,
      messages: onMessage !== undefined,
      live: onEvent !== undefined,
      asks: onApproval !== undefined,
      servers,
      ...(files === undefined ? {} : { files: { reads: files.reads, writes: files.writes } }),
    };
    const followed = this.#client.request('open', wanted, {
      signal: left.signal,
      onEvent: (given) => {
        if (left.signal.aborted) return;
        const { success, data } = liveFrame.safeParse(given);
        if (success) onEvent?.(data.live as OutboundEvent);
        else onMessage?.(given as AttachedMessage);
      },
      onQuestion: async (question, stop) => {
        const { success, data } = fileQuestion.safeParse(question);
        if (success) return await files?.ask(data.file as EditorFileRequest, stop);
        return (await onApproval?.(question as ApprovalQuestion, stop)) ?? false;
      },
    });
    // `lost` tells of a lost connection.
    followed.catch(() => {});
    return {
      send: async (input, options) =>
        (await this.#client.request('say', { session, ...input }, options)) as TurnSummary,
      [Symbol.dispose]: () => left.abort(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
  }
}

/** Cumulative events of a turn, of which only the newest matters. */
function liveKey(event: OutboundEvent): string | undefined {
  return event.type === 'text' || event.type === 'reasoning' ? `${event.turnId} ${event.type}` : undefined;
}
