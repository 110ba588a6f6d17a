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
} from '@modelcontextprotocol/sdk/types.js';
import type { StreamingFetch } from '../../security/fetch/fetch.ts';
import { raceAbort, sleep, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { FOREVER_MS, openConnection, type Connection } from './connection.ts';
import { readElicitation, type Elicitation } from './elicitation.ts';
import { correcting } from './messages.ts';
import { type McpSettings, StdioTransport } from './stdio.ts';
import { cut } from '../../util/text.ts';

export interface ConnectOptions {
  readonly settings: McpSettings;
  /** What local servers see of our environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute; the root that servers are told of. */
  readonly workspace: string;
  readonly version: string;
  readonly clock: Clock;
  /** Reaches the host of the server's address and nothing else that is private. */
  readonly fetch: StreamingFetch;
  /** What the server asks its user; true: it gets the answer that it suggests. */
  readonly elicit: (question: Elicitation) => Promise<boolean>;
  readonly onStderr: (line: string) => void;
  /** Told of what went wrong beside a request. */
  readonly onTrouble: (what: string) => void;
  /** The server says that its tools are others now. */
  readonly onListChanged: () => void;
  /** Once, when it is over, however it came. */
  readonly onClose: (why: string) => void;
}

const END_SESSION_MS = 800;
/** Answers that a server of the older transport gives to the newer one. */
const OLDER = new Set([400, 404, 405]);

/**
 * Starts or reaches a server and agrees on the protocol with it. Throws one sentence; nothing is left running then.
 * The caller's signal is the deadline.
 */
export async function connectServer(given: ConnectOptions, signal: AbortSignal): Promise<Connection> {
  const { settings } = given;
  const options = { ...given, fetch: correcting(given.fetch) };
  if (settings.url === undefined) return await connectStdio(options, signal);
  const url = new URL(settings.url);
  if (settings.type === 'sse') return await connectSse(options, url, signal);
  try {
    return await connectHttp(options, url, signal);
  } catch (error) {
    const isOlder = error instanceof StreamableHTTPError && OLDER.has(error.code ?? 0);
    if (settings.type !== null || !isOlder) throw explained(error);
    return await connectSse(options, url, signal);
  }
}

async function connectStdio(options: ConnectOptions, signal: AbortSignal): Promise<Connection> {
  const { settings, workspace, clock } = options;
  let garbage = 0;
  let lastLine = '';
  const transport = new StdioTransport({
    command: settings.command ?? '',
    args: settings.args,
    env: { ...options.environment, ...settings.env },
    cwd: resolve(workspace, settings.cwd ?? '.'),
    clock,
    onStderr: (line) => {
      lastLine = line;
      options.onStderr(line);
    },
    onGarbage: () => {
      garbage += 1;
      options.onTrouble('a line on standard output is no message of the protocol');
    },
  });
  try {
    return await join(options, transport, {
      signal,
      whyClosed: () => (transport.end === undefined ? 'it was stopped' : `it ended with ${transport.end}`),
    });
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

async function connectHttp(options: ConnectOptions, url: URL, signal: AbortSignal): Promise<Connection> {
  const { settings, fetch, clock } = options;
  const transport = new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers: settings.headers } });
  return await join(options, transport, {
    signal,
    whyClosed: () => 'the connection was closed',
    // Its types allow an undefined session where the interface they implement does not.
    beforeClose: () => Promise.race([transport.terminateSession().catch(() => {}), sleep(clock, END_SESSION_MS)]),
  });
}

async function connectSse(options: ConnectOptions, url: URL, signal: AbortSignal): Promise<Connection> {
  const { settings, fetch } = options;
  try {
    const transport = new SSEClientTransport(url, { fetch, requestInit: { headers: settings.headers } });
    return await join(options, transport, { signal, whyClosed: () => 'the connection was closed' });
  } catch (error) {
    throw explained(error);
  }
}

interface JoinOptions {
  readonly signal: AbortSignal;
  readonly whyClosed: () => string;
  readonly beforeClose?: () => Promise<unknown>;
}

async function join(options: ConnectOptions, transport: object, how: JoinOptions): Promise<Connection> {
  const { version, workspace, elicit, onTrouble, onClose, onListChanged } = options;
  const client = new Client(
    { name: 'assistant', version },
    {
      capabilities: { roots: {}, elicitation: { form: { applyDefaults: true } } },
      // Nothing of a server is compiled: what it answers is read as text.
      jsonSchemaValidator: {
        getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'not checked here' }),
      },
    },
  );
  client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: [{ uri: pathToFileURL(workspace).href, name: 'workspace' }],
  }));
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    if (params.mode === 'url') return { action: 'decline' as const };
    const question = readElicitation(params);
    if (question.missing.length > 0 || !(await elicit(question))) return { action: 'decline' as const };
    // The SDK fills in the defaults.
    return { action: 'accept' as const, content: {} };
  });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => onListChanged());
  let isJoined = false;
  Object.assign(client, {
    onerror: (error: unknown) => onTrouble(errorMessage(error)),
    onclose: () => {
      if (isJoined) onClose(how.whyClosed());
    },
  });
  try {
    // The SDK's own transports do not fit its interface under exactOptionalPropertyTypes.
    await raceAbort(client.connect(transport as Transport, { signal: how.signal, timeout: FOREVER_MS }), how.signal);
  } catch (error) {
    await client.close().catch(() => {});
    await (transport as Transport).close().catch(() => {});
    how.signal.throwIfAborted();
    throw error;
  }
  isJoined = true;
  return openConnection(client, {
    close: async () => {
      await how.beforeClose?.();
      await client.close();
      await (transport as Transport).close();
    },
  });
}

/** What an HTTP status means for the person who wrote the configuration. */
function explained(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 401 && code !== 403) return error;
  const message = `it refused the credentials (HTTP ${code}): set the headers that it wants in the configuration`;
  return new AppError('mcp-start', message, { cause: error });
}
