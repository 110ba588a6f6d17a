import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
  type ElicitRequestFormParams,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpServerSettings } from '../../config/schema/tools.ts';
import type { StreamingFetch } from '../../security/fetch/fetch.ts';
import { raceAbort, sleep, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { cut } from '../../util/text.ts';
import { correcting } from './messages.ts';
import { FOREVER_MS } from './listing.ts';
import { StdioTransport } from './stdio.ts';

export interface ConnectOptions {
  readonly settings: McpServerSettings;
  /** What local servers see of our environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute; the root that servers are told of. */
  readonly workspace: string;
  readonly version: string;
  readonly clock: Clock;
  /** Reaches the host of the server's address and nothing else that is private. */
  readonly fetch: StreamingFetch;
  /** The server asks its user; true: it gets the form's own defaults as the answer. */
  readonly onQuestion: (form: ElicitRequestFormParams) => Promise<boolean>;
  readonly onStderr: (line: string) => void;
  /** Something went wrong outside a request. */
  readonly onTrouble: (what: string) => void;
  readonly onToolsChanged: () => void;
  /** Once, however the connection ended. */
  readonly onClose: (why: string) => void;
}

export interface Connection {
  readonly client: Client;
  /** Ends it, and for a local server everything that it started. */
  readonly close: () => Promise<void>;
}

const END_SESSION_MS = 800;
/** Answers that a server of the older transport gives to the newer one. */
const OLDER = new Set([400, 404, 405]);

/**
 * Starts or reaches a server and agrees on the protocol with it. Throws one sentence; nothing is left running then.
 * The caller's signal is the deadline.
 */
export async function connect(options: ConnectOptions, signal: AbortSignal): Promise<Connection> {
  const { settings, clock } = options;
  if (settings.url === undefined) return await connectStdio(options, signal);
  const url = new URL(settings.url);
  const http = { fetch: correcting(options.fetch), requestInit: { headers: settings.headers } };
  const overSse = (): Promise<Connection> => join(new SSEClientTransport(url, http), { options, signal });
  try {
    if (settings.type === 'sse') return await overSse();
    const transport = new StreamableHTTPClientTransport(url, http);
    const endSession = (): Promise<void> =>
      Promise.race([transport.terminateSession().catch(() => {}), sleep(clock, END_SESSION_MS)]);
    return await join(transport, { options, signal, endSession }).catch((error: unknown) => {
      const isOlder = error instanceof StreamableHTTPError && OLDER.has(error.code ?? 0);
      if (settings.type !== null || !isOlder) throw error;
      return overSse();
    });
  } catch (error) {
    const status = error instanceof Error && 'code' in error ? error.code : undefined;
    if (status !== 401 && status !== 403) throw error;
    const why = `it refused the credentials (HTTP ${status}): set the headers that it wants in the configuration`;
    throw new AppError('mcp-start', why, { cause: error });
  }
}

async function connectStdio(options: ConnectOptions, signal: AbortSignal): Promise<Connection> {
  const { settings, environment, workspace, clock, onStderr, onTrouble } = options;
  let garbage = 0;
  let lastLine = '';
  const transport = new StdioTransport({
    command: settings.command ?? '',
    args: settings.args,
    env: { ...environment, ...settings.env },
    cwd: resolve(workspace, settings.cwd ?? '.'),
    clock,
    onStderr: (line) => {
      lastLine = line;
      onStderr(line);
    },
    onGarbage: () => {
      garbage += 1;
      onTrouble("a line on standard output isn't a message of the protocol");
    },
  });
  const whyClosed = (): string => (transport.end === undefined ? 'it was stopped' : `it ended with ${transport.end}`);
  try {
    return await join(transport, { options, signal, whyClosed });
  } catch (error) {
    if (transport.end !== undefined && !signal.aborted) {
      const said = lastLine === '' ? '' : `, and its last words were: ${cut(lastLine, 300)}`;
      throw new AppError('mcp-start', `it ended with ${transport.end} before it could be used${said}`);
    }
    if (garbage === 0) throw error;
    const noise = `${garbage} of its lines on standard output were no messages of the protocol`;
    throw new AppError('mcp-start', `${errorMessage(error)}; ${noise}`, { cause: error });
  }
}

async function join(
  transport: Transport,
  how: {
    readonly options: ConnectOptions;
    readonly signal: AbortSignal;
    readonly whyClosed?: () => string;
    /** Tells a remote server that it may forget us. */
    readonly endSession?: () => Promise<void>;
  },
): Promise<Connection> {
  const { options, signal, whyClosed = () => 'the connection was closed', endSession } = how;
  const client = new Client(
    { name: 'assistant', version: options.version },
    {
      capabilities: { roots: {}, elicitation: { form: { applyDefaults: true } } },
      // No schema of a server is compiled: its answers are read as text.
      jsonSchemaValidator: {
        getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'not checked here' }),
      },
    },
  );
  client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: [{ uri: pathToFileURL(options.workspace).href, name: 'workspace' }],
  }));
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    const accepted = params.mode !== 'url' && (await options.onQuestion(params));
    // The SDK fills in the defaults.
    return accepted ? { action: 'accept' as const, content: {} } : { action: 'decline' as const };
  });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => options.onToolsChanged());
  let isJoined = false;
  Object.assign(client, {
    onerror: (error: unknown) => options.onTrouble(errorMessage(error)),
    onclose: () => {
      if (isJoined) options.onClose(whyClosed());
    },
  });
  const close = async (): Promise<void> => {
    await client.close();
    await transport.close();
  };
  try {
    await raceAbort(client.connect(transport, { signal, timeout: FOREVER_MS }), signal);
  } catch (error) {
    await close().catch(() => {});
    signal.throwIfAborted();
    throw error;
  }
  isJoined = true;
  return {
    client,
    close: async () => {
      await endSession?.();
      await close();
    },
  };
}
