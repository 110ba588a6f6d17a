import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import {
  agent,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type AgentContext,
  type ClientCapabilities,
  type ListSessionsResponse,
  type McpServer,
  type SessionConfigOption,
  type SessionInfo,
  type SessionModeState,
} from '@agentclientprotocol/sdk';
import type { AssistantPort } from '../core/gateway/assistant-port.ts';
import type { SessionFacts } from '../core/gateway/operations/sessions.ts';
import { sha256 } from '../core/storage/change-log.ts';
import { ensureDirectory, ifThere, replaceDurable } from '../core/storage/files.ts';
import { AppError, errorMessage } from '../core/util/errors.ts';
import { editorServers } from './client-servers.ts';
import { Conversation, keyOf, type EditorConnection } from './conversation.ts';
import { frameStream } from './frames.ts';
import { MODEL } from './model-option.ts';
import { promptContent, refused, type PromptContent } from './prompt-content.ts';

export interface AcpOptions {
  readonly assistant: AssistantPort;
  /** Frames, one a line. */
  readonly input: Readable;
  readonly output: Writable;
  readonly version: string;
  /** Absolute path of the folder for images of prompts. */
  readonly images: string;
  /** Takes what goes wrong, one line each. */
  readonly log: (line: string) => void;
  /** Aborting it ends the connection. */
  readonly signal: AbortSignal;
}

/** What an editor says of a conversation that it opens. */
interface Opened {
  readonly cwd: string;
  readonly mcpServers?: readonly McpServer[];
}

const PAGE = 50;
/** Pages that one answer looks through for the conversations of a folder. */
const MOST_PAGES = 20;
/** Ids that editors give: those that we made. */
const ID = /^[\w-]{1,64}$/u;

/** Speaks the Agent Client Protocol with an editor until the input ends. */
export async function serveAcp(options: AcpOptions): Promise<void> {
  const { assistant, input, output, version, log, signal } = options;
  const conversations = new Map<string, Conversation>();
  let capabilities: ClientCapabilities = {};
  const connectionOf = (client: AgentContext): EditorConnection => ({
    assistant,
    client,
    capabilities,
    closed: connection.signal,
    keepImage: (image) => keepImage(options.images, image),
    log,
  });
  const known = (id: string): Conversation => {
    const found = conversations.get(id);
    if (found === undefined) throw RequestError.sessionNotFound(id);
    return found;
  };
  const open = async (id: string, { cwd, mcpServers = [] }: Opened, client: AgentContext): Promise<Conversation> => {
    const servers = editorServers(mcpServers);
    const facts = await assistant.call('editorsOpen', { session: keyOf(id), folder: await folderOf(cwd) });
    conversations.get(id)?.[Symbol.dispose]();
    const opened = new Conversation(id, { ...facts, servers }, connectionOf(client));
    conversations.set(id, opened);
    return opened;
  };
  const requireKept = async (id: string): Promise<void> => {
    if (!ID.test(id) || (await assistant.call('editorsShow', { session: keyOf(id) })) === null)
      throw RequestError.sessionNotFound(id);
  };
  const again = async (id: string, opened: Opened, client: AgentContext): Promise<Conversation> => {
    await requireKept(id);
    return await open(id, opened, client);
  };
  const commands = (conversation: Conversation): void =>
    void conversation
      .tellCommands()
      .catch((error: unknown) => log(`acp: the commands were not told: ${errorMessage(error)}`));

  const connection = agent({ name: 'assistant' })
    .onRequest(methods.agent.initialize, ({ params }) => {
      capabilities = params.clientCapabilities ?? {};
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentCapabilities: {
          loadSession: true,
          mcpCapabilities: { http: true, sse: true },
          promptCapabilities: { image: true, embeddedContext: true },
          sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
        },
        authMethods: [],
        agentInfo: { name: 'assistantd', title: 'Assistant', version },
      };
    })
    .onRequest(methods.agent.authenticate, () => {
      throw refused('There is nothing to authenticate: whoever starts this program is the owner.');
    })
    .onRequest(methods.agent.session.new, ({ params, client }) =>
      plainly(async () => {
        const conversation = await open(randomUUID(), params, client);
        conversation.attach();
        const state = await stateOf(conversation);
        setImmediate(() => commands(conversation));
        return { sessionId: conversation.id, ...state };
      }),
    )
    .onRequest(methods.agent.session.load, ({ params, client }) =>
      plainly(async () => {
        const conversation = await again(params.sessionId, params, client);
        await conversation.replay();
        commands(conversation);
        return await stateOf(conversation);
      }),
    )
    .onRequest(methods.agent.session.resume, ({ params, client }) =>
      plainly(async () => {
        const conversation = await again(params.sessionId, params, client);
        conversation.attach();
        const state = await stateOf(conversation);
        setImmediate(() => commands(conversation));
        return state;
      }),
    )
    .onRequest(methods.agent.session.list, ({ params }) => plainly(() => list(assistant, params.cursor, params.cwd)))
    .onRequest(methods.agent.session.delete, ({ params: { sessionId: id } }) =>
      plainly(async () => {
        await requireKept(id);
        await assistant.call('sessionsDelete', { session: keyOf(id) });
        conversations.get(id)?.[Symbol.dispose]();
        conversations.delete(id);
        return {};
      }),
    )
    .onRequest(methods.agent.session.prompt, ({ params, signal: cancelled }) =>
      plainly(() => known(params.sessionId).prompt(promptContent(params.prompt), cancelled)),
    )
    .onRequest(methods.agent.session.setMode, ({ params }) =>
      plainly(async () => {
        if (await known(params.sessionId).setMode(params.modeId)) return {};
        throw refused(`There is no mode ${JSON.stringify(params.modeId.slice(0, 60))}.`);
      }),
    )
    .onRequest(methods.agent.session.setConfigOption, ({ params: { sessionId, configId, value } }) =>
      plainly(async () => {
        const conversation = known(sessionId);
        if (configId !== MODEL || typeof value !== 'string') throw refused('There is no such option.');
        if (!(await conversation.setModel(value)))
          throw refused(`There is no model ${JSON.stringify(value.slice(0, 100))}.`);
        return { configOptions: await conversation.configOptions() };
      }),
    )
    .onRequest(methods.agent.session.close, ({ params }) =>
      plainly(async () => {
        const conversation = known(params.sessionId);
        await conversation.cancel();
        conversation[Symbol.dispose]();
        conversations.delete(params.sessionId);
        return {};
      }),
    )
    .onNotification(methods.agent.session.cancel, async ({ params }) => {
      await conversations
        .get(params.sessionId)
        ?.cancel()
        .catch((error: unknown) => log(`acp: not cancelled: ${errorMessage(error)}`));
    })
    .connect(frameStream(input, output));
  const onAbort = (): void => connection.close();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  await connection.closed;
  for (const conversation of conversations.values()) conversation[Symbol.dispose]();
}

/** What the editor shows of a conversation that it opens. */
async function stateOf(
  conversation: Conversation,
): Promise<{ readonly modes: SessionModeState; readonly configOptions: SessionConfigOption[] }> {
  return { modes: conversation.modes, configOptions: await conversation.configOptions() };
}

/** A failure of the assistant as an error of the protocol, with its sentence. */
async function plainly<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestError) throw error;
    if (error instanceof AppError && error.code === 'session-unknown') throw RequestError.resourceNotFound();
    if (error instanceof AppError) throw new RequestError(-32_603, error.message, { code: error.code });
    throw RequestError.internalError(undefined, errorMessage(error));
  }
}

/** Throws invalid params for what is no folder. */
async function folderOf(cwd: string): Promise<string> {
  if (!isAbsolute(cwd)) throw refused(`cwd has to be an absolute path, not ${JSON.stringify(cwd.slice(0, 200))}.`);
  if ((await ifThere(stat(cwd)))?.isDirectory() !== true) throw refused(`There is no folder ${cwd.slice(0, 400)}.`);
  return cwd;
}

async function list(
  assistant: AssistantPort,
  cursor: string | null | undefined,
  cwd: string | null | undefined,
): Promise<ListSessionsResponse> {
  if (typeof cwd === 'string' && !isAbsolute(cwd)) throw refused('cwd has to be an absolute path.');
  const described = async ({ session, title, changedAt }: SessionFacts): Promise<readonly SessionInfo[]> => {
    const facts = await assistant.call('editorsShow', { session });
    if (facts === null || (typeof cwd === 'string' && facts.folder !== cwd)) return [];
    const updatedAt = new Date(changedAt).toISOString();
    return [{ sessionId: session.slice(keyOf('').length), cwd: facts.folder, title: title || null, updatedAt }];
  };
  const sessions: SessionInfo[] = [];
  let next = cursor ?? null;
  // Pages of which a folder holds little are put together; a cursor leads on.
  for (let pages = 0; pages < MOST_PAGES && sessions.length < PAGE; pages += 1) {
    const before = next === null ? {} : { before: next };
    const page = await assistant.call('sessionsList', { limit: PAGE - sessions.length, channel: 'acp', ...before });
    sessions.push(...(await Promise.all(page.sessions.map(described))).flat());
    ({ next } = page);
    if (next === null) break;
  }
  return { sessions, ...(next === null ? {} : { nextCursor: next }) };
}

async function keepImage(folder: string, { mediaType, bytes }: PromptContent['images'][number]): Promise<string> {
  await ensureDirectory(folder);
  const path = join(folder, `${sha256(bytes)}.${mediaType.slice('image/'.length)}`);
  await replaceDurable(path, bytes);
  return path;
}
