import { App, type Receiver } from '@slack/bolt';
import type { ChannelContext, ChannelError, Link } from '../../core/api-channels.ts';
import { errorMessage } from '../../core/api.ts';
import type { SlackOptions } from './options.ts';
import type { BotAccount } from './post.ts';
import { keepConnected } from './reconnect.ts';
import { openSocket, type Envelope, type SlackSocket } from './socket.ts';
import { clientOptions, quietLogger } from './web-client.ts';

export interface ReceiverPorts {
  readonly options: SlackOptions;
  readonly link: Link;
  /** Resolves when it is on disk; rejects when it is not, and Slack brings it again. */
  readonly take: (type: string, body: unknown) => Promise<void>;
  readonly report: (trouble: string | undefined) => void;
  readonly lost: () => void;
  readonly connected: () => void;
}

/** Bolt's source of events: what Slack brings is written down, then acknowledged, then handed to Bolt's listeners. */
export class JournalingReceiver implements Receiver {
  readonly #ports: ReceiverPorts;
  #app: App | undefined;

  constructor(ports: ReceiverPorts) {
    this.#ports = ports;
  }

  init(app: App): void {
    this.#app = app;
  }

  /** Connects; resolves at Slack's hello with what ends when the line does for good. */
  async start(): Promise<{ readonly over: Promise<ChannelError | null> }> {
    const { link, report, lost, connected } = this.#ports;
    const { name, context, random, signal } = link;
    const { clock, log } = context;
    const open = (cut: AbortSignal): Promise<SlackSocket> =>
      openSocket({ options: this.#ports.options, onEnvelope: (envelope) => void this.#bring(envelope), clock }, cut);
    const first = await open(signal);
    return { over: keepConnected({ name, open, report, lost, connected, clock, random, log }, first, signal) };
  }

  /** The signal of the link ends everything. */
  async stop(): Promise<void> {}

  /** Never rejects. */
  async #bring({ type, body, retryNum, ack }: Envelope): Promise<void> {
    const { take, link } = this.#ports;
    const { context } = link;
    link.heard();
    try {
      await take(type, body);
      context.permit?.check();
    } catch (error) {
      context.log.warn('slack: event left unacknowledged, so that Slack sends it again', {
        reason: errorMessage(error),
      });
      return;
    }
    try {
      await ack();
    } catch (error) {
      context.log.debug('slack: ack not sent', { reason: errorMessage(error) });
    }
    if (!isBody(body)) return;
    try {
      const again = retryNum === undefined ? {} : { retryNum };
      await this.#app?.processEvent({ body, ack: async () => {}, ...again });
    } catch (error) {
      context.log.debug('bus: a listener failed', { reason: errorMessage(error) });
    }
  }
}

/** Bolt over a receiver, for what needs no journal. */
export function openApp(
  receiver: Receiver,
  { options, me }: { options: SlackOptions & Pick<ChannelContext, 'permit'>; me: BotAccount },
): App {
  const app = new App({
    receiver,
    logger: quietLogger(),
    clientOptions: clientOptions(options),
    authorize: async () => ({
      botToken: options.botToken,
      botUserId: me.user_id,
      ...(me.bot_id === '' ? {} : { botId: me.bot_id }),
    }),
  });
  app.error(async () => {});
  return app;
}

function isBody(body: unknown): body is Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}
