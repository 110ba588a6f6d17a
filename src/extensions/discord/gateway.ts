import { DiscordAPIError, type REST } from '@discordjs/rest';
import { WebSocketManager, WebSocketShardEvents, type SessionInfo } from '@discordjs/ws';
import { type Clock, deadline, errorMessage, type Logger, raceAbort, sleep } from '../../core/api.ts';
import { ChannelError } from '../../core/api-channels.ts';
import { callFailure, intentsRefused, tokenRefused } from './errors.ts';
import { ConnectionWatchdog } from './connection-watchdog.ts';

const HELLO_DEADLINE_MS = 25_000;
const CONNECT_DEADLINE_MS = 10_000;
const GOODBYE_MS = 1_000;

/** https://discord.com/developers/docs/events/gateway#gateway-intents */
const GUILDS = 1 << 0;
const GUILD_MESSAGES = 1 << 9;
const GUILD_MESSAGE_REACTIONS = 1 << 10;
const DIRECT_MESSAGES = 1 << 12;
const DIRECT_MESSAGE_REACTIONS = 1 << 13;
/** The only privileged one. */
const MESSAGE_CONTENT = 1 << 15;

export interface GatewayPorts {
  /** The key in `config.channels`. */
  readonly channel: string;
  readonly rest: REST;
  readonly token: string;
  /** Something happened; must not throw. The first one of a connection is `READY`, of a resumed one `RESUMED`. */
  readonly hear: (event: string, data: unknown) => void;
  /** Undefined: it is connected. */
  readonly report: (trouble: string | undefined) => void;
  /** Any sign of life. */
  readonly beat: () => void;
  /** It cannot go on by itself. */
  readonly fail: (error: ChannelError) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Connects to Discord's Gateway; resolves when messages flow. The library resumes by itself after a cut, when it is told
 * to reconnect and when the session is over; what stays silent, or does not come back in time, fails.
 */
export async function openGateway(ports: GatewayPorts, signal: AbortSignal): Promise<AsyncDisposable> {
  const { rest, token, clock, log } = ports;
  const started = Promise.withResolvers<void>();
  let session: SessionInfo | null = null;
  let isOver = false;
  let isConnected = false;
  const manager = new WebSocketManager({
    token,
    intents:
      GUILDS | GUILD_MESSAGES | GUILD_MESSAGE_REACTIONS | DIRECT_MESSAGES | DIRECT_MESSAGE_REACTIONS | MESSAGE_CONTENT,
    rest,
    shardCount: 1,
    handshakeTimeout: CONNECT_DEADLINE_MS,
    helloTimeout: CONNECT_DEADLINE_MS,
    // One that is over must not connect again: its wish to is never answered.
    retrieveSessionInfo: () => (isOver ? new Promise<never>(() => {}) : session),
    updateSessionInfo: (_shard, info) => {
      session = info;
    },
  });
  const fail = (error: ChannelError): void => {
    started.reject(error);
    if (!isOver) ports.fail(error);
  };
  const pulse = new ConnectionWatchdog(clock, (silentMs) =>
    fail(new ChannelError(`Nothing was heard of Discord for ${Math.round(silentMs / 1_000)} s.`, { retry: true })),
  );
  const close = async (): Promise<void> => {
    isOver = true;
    pulse[Symbol.dispose]();
    // In the middle of connecting it cannot be ended: it ends when it is greeted, or fails.
    if (isConnected) await Promise.race([Promise.resolve(manager.destroy()).catch(() => {}), sleep(clock, GOODBYE_MS)]);
  };

  manager.on(WebSocketShardEvents.Hello, () => {
    isConnected = true;
    if (isOver) void close();
    else pulse.beat();
  });
  manager.on(WebSocketShardEvents.HeartbeatComplete, () => {
    pulse.beat(true);
    ports.beat();
  });
  manager.on(WebSocketShardEvents.Closed, ({ code }) => {
    isConnected = false;
    pulse.lost();
    if (!isOver) ports.report(`The connection to Discord was closed (${code}); it is being made again.`);
  });
  manager.on(WebSocketShardEvents.Error, ({ error }) => {
    log.debug('discord: gateway error', { reason: errorMessage(error) });
    const fatal = fatalError(ports.channel, error);
    if (fatal !== undefined) fail(fatal);
  });
  manager.on(WebSocketShardEvents.Dispatch, ({ data }) => {
    if (isOver) return;
    pulse.beat();
    ports.beat();
    const event: string = data.t;
    if (event === 'READY' || event === 'RESUMED') {
      pulse.found();
      ports.report(undefined);
    }
    ports.hear(event, data.d);
    if (event === 'READY') started.resolve();
  });

  manager.connect().catch((error: unknown) => started.reject(startError(ports.channel, error)));
  try {
    using limit = deadline(clock, HELLO_DEADLINE_MS, 'Connecting to Discord');
    await raceAbort(started.promise, AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    await close();
    throw error;
  }
  return { [Symbol.asyncDispose]: close };
}

/** The library says by words alone that Discord closed the connection for good. */
function fatalError(channel: string, error: Error): ChannelError | undefined {
  switch (error.message) {
    case 'Authentication failed':
      return tokenRefused(channel);
    case 'Used disallowed intents':
      return intentsRefused(channel);
    case 'Invalid shard':
    case 'Sharding is required':
    case 'Used an invalid API version':
    case 'Used invalid intents':
      return new ChannelError(`Discord does not take this connection any more: ${error.message}.`, { retry: false });
    default:
      return undefined;
  }
}

function startError(channel: string, error: unknown): ChannelError {
  if (error instanceof DiscordAPIError && error.status === 401) return tokenRefused(channel);
  const fatal = error instanceof Error ? fatalError(channel, error) : undefined;
  return fatal ?? new ChannelError(callFailure(error).reason, { retry: true, cause: error });
}
