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
import { AppError, cut, errorMessage, raceAbort, sleep } from '../../core/api.ts';
import { createStreamingFetch, execEnvironment, type StreamingFetch } from '../../core/api-clients.ts';
import { FOREVER_MS } from './listing.ts';
import { correcting } from './messages.ts';
import type { McpServerOptions } from './server.ts';
import { serversMark } from './settings.ts';
import { StdioTransport } from './stdio.ts';

/** Callbacks for events of one connection. */
export interface Listener {
  /** The server asks its user; true: it gets the form's own defaults as the answer. */
  readonly onQuestion: (form: ElicitRequestFormParams) => Promise<boolean>;
  /** It wrote a line, or something went wrong outside a request. */
  readonly onNote: (what: string, line: string) => void;
  readonly onToolsChanged: () => void;
  /** Once, however the connection ended. */
  readonly onClose: (why: string) => void;
}

export interface Connection {
  readonly client: Client;
  /** Ends it, and for a local server everything that it started. */
  readonly close: () => Promise<void>;
}

/** Beside what commands see, as the protocol's own clients have it. */
const MORE_ENVIRONMENT = ['LOGNAME', 'SHELL', 'TERM'];
const MOST_BYTES = 20_000_000;
const END_SESSION_MS = 800;
/** Answers that a server of the older transport gives to the newer one. */
const OLDER = new Set([400, 404, 405]);

/**
 * Starts or reaches a server and agrees on the protocol with it. Throws one sentence; nothing is left running then.
 * The signal is the deadline.
 */
export async function connect(options: McpServerOptions & Listener, signal: AbortSignal): Promise<Connection> {
  const { settings } = options;
  if (settings.url === undefined) return await connectStdio(options, signal);
  const url = new URL(settings.url);
  const http = { fetch: correcting(fetchOf(url, options)), requestInit: { headers: settings.headers } };
  const overSse = (): Promise<Connection> => join(new SSEClientTransport(url, http), options, signal);
  try {
    if (settings.type === 'sse') return await overSse();
    return await join(new StreamableHTTPClientTransport(url, http), options, signal).catch((error: unknown) => {
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

/** Reaches the host of a server's address and nothing else that is private. */
function fetchOf({ hostname, port, protocol }: URL, { settings, app: { clock } }: McpServerOptions): StreamingFetch {
  const { startSeconds, callSeconds } = settings.timeouts;
  return createStreamingFetch({
    // The owner wrote this address; a redirect leads nowhere else.
    allowHosts: [`${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`],
    denyHosts: [],
    clock,
    headersMs: (startSeconds + callSeconds) * 1000,
    maxBytes: MOST_BYTES,
  });
}

async function connectStdio(options: McpServerOptions & Listener, signal: AbortSignal): Promise<Connection> {
  const { app, folder, onNote } = options;
  const { command = '', args, env, cwd } = options.settings;
  const program = {
    command: [command, ...args],
    cwd: resolve(folder, cwd ?? '.'),
    environment: { ...execEnvironment(app.env, MORE_ENVIRONMENT), ...env },
  };
  const transport = new StdioTransport(program, { clock: app.clock, mark: serversMark(app.paths.home) });
  let lastLine = '';
  transport.onStderr = (line) => {
    lastLine = line;
    onNote('stderr of an MCP server', line);
  };
  try {
    return await join(transport, options, signal);
  } catch (error) {
    const { end, garbage } = transport;
    if (end !== undefined && !signal.aborted) {
      const said = lastLine === '' ? '' : `, and its last words were: ${cut(lastLine, 300)}`;
      throw new AppError('mcp-start', `it ended with ${end} before it could be used${said}`);
    }
    if (garbage === 0) throw error;
    const noise = `${garbage} of its lines on standard output were no messages of the protocol`;
    throw new AppError('mcp-start', `${errorMessage(error)}; ${noise}`, { cause: error });
  }
}

async function join(
  transport: Transport,
  { app, folder, onQuestion, onNote, onToolsChanged, onClose }: McpServerOptions & Listener,
  signal: AbortSignal,
): Promise<Connection> {
  const capabilities = { roots: {}, elicitation: { form: { applyDefaults: true } } };
  const client = new Client({ name: 'assistant', version: app.version }, { capabilities });
  client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: [{ uri: pathToFileURL(folder).href, name: 'workspace' }],
  }));
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    const accepted = params.mode !== 'url' && (await onQuestion(params));
    // The SDK fills in the defaults.
    return accepted ? { action: 'accept' as const, content: {} } : { action: 'decline' as const };
  });
  client.setNotificationHandler(ToolListChangedNotificationSchema, onToolsChanged);
  const onerror = (error: unknown): void => onNote('something is odd with an MCP server', errorMessage(error));
  Object.assign(client, { onerror });
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
  const whyClosed = (): string => {
    if (!(transport instanceof StdioTransport)) return 'the connection was closed';
    return transport.end === undefined ? 'it was stopped' : `it ended with ${transport.end}`;
  };
  Object.assign(client, { onclose: () => onClose(whyClosed()) });
  return {
    client,
    close: async () => {
      // A remote server may forget us then.
      if (transport instanceof StreamableHTTPClientTransport)
        await Promise.race([transport.terminateSession().catch(() => {}), sleep(app.clock, END_SESSION_MS)]);
      await close();
    },
  };
}
