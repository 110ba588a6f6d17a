import { SendError, type OutgoingPart } from '../../src/core/channels/channel.ts';
import { ChannelManager } from '../../src/core/channels/manager.ts';
import type { ChannelPeople } from '../../src/core/channels/supervised-channel.ts';
import { PlatformChannel } from '../../src/core/channels/platform.ts';
import { channelOptions, type ChannelConfig } from '../../src/core/channels/registry.ts';
import { telegram } from '../../src/extensions/telegram/channel.ts';
import { telegramOptions } from '../../src/extensions/telegram/options.ts';
import { steadyRandom } from './delivery-world.ts';
import { startFakeTelegram, type FakeTelegram } from './fake-telegram.ts';
import { storageHealth } from './healthy-storage.ts';
import { recordingLog } from './recording-log.ts';
import { VirtualClock } from './virtual-clock.ts';
import type { InboundDraft } from '../../src/core/bus/messages.ts';

export const PERSON = 7;

/** The Telegram channel under its manager against a local Bot API; `accept` remembers what came in. */
export class TelegramWorld implements AsyncDisposable {
  readonly server: FakeTelegram;
  readonly clock = new VirtualClock();
  readonly log = recordingLog();
  readonly accepted: InboundDraft[] = [];
  /** Who was let in by pairing. */
  readonly paired = new Set<string>();
  readonly pairingRequests: Parameters<ChannelPeople['requestPairing']>[0][] = [];
  /** What was set aside. */
  readonly quarantine: string[] = [];
  /** What the owner was told, by id. */
  readonly notices = new Map<string, string>();
  /** Each call of accept: the texts of its batch. */
  readonly batches: (readonly string[])[] = [];
  readonly manager: ChannelManager;
  /** Instead of accepting; a test sets it. */
  refuse: (() => Promise<void> | undefined) | undefined;

  private constructor(server: FakeTelegram, config: Partial<ChannelConfig>) {
    this.server = server;
    const full = { token: server.token, apiRoot: server.apiRoot, allowFrom: [String(PERSON)], ...config };
    const publishRead = async (drafts: readonly InboundDraft[]): Promise<readonly 'accepted'[]> => {
      await this.refuse?.();
      this.batches.push(drafts.map(({ text }) => text));
      this.accepted.push(...drafts);
      return drafts.map(() => 'accepted');
    };
    const source = {
      name: 'telegram',
      kind: 'telegram',
      open: async () =>
        new PlatformChannel('telegram', telegram(channelOptions('telegram', full, telegramOptions)), steadyRandom),
    };
    this.manager = new ChannelManager([source], {
      bus: { publishRead },
      cursorsOf: () => new Map(),
      people: {
        pairedRole: (_channel, id) => (this.paired.has(id) ? 'trusted' : undefined),
        pairedOwners: () => [],
        requestPairing: async (request) => void this.pairingRequests.push(request),
      },
      storage: storageHealth(this.clock),
      keep: async (name, text) => {
        this.quarantine.push(text);
        return `quarantine/${name}`;
      },
      tellOwner: async (id, text) => void this.notices.set(id, text),
      clock: this.clock,
      random: steadyRandom,
      log: this.log,
    });
  }

  static async open(
    config: Partial<ChannelConfig> = {},
    prepare?: (server: FakeTelegram) => void,
  ): Promise<TelegramWorld> {
    const server = await startFakeTelegram();
    prepare?.(server);
    const world = new TelegramWorld(server, config);
    await world.manager.start();
    return world;
  }

  get texts(): readonly string[] {
    return this.accepted.map(({ text }) => text);
  }

  async send(
    text: string,
    part: Partial<OutgoingPart> = {},
    signal?: AbortSignal,
  ): Promise<{ readonly platformId: string }> {
    const channel = this.manager.channel('telegram');
    if (channel === undefined) throw new Error('the channel is not loaded');
    const whole: OutgoingPart = {
      messageId: 'm',
      kind: 'answer',
      chatId: String(PERSON),
      text,
      media: [],
      nonce: 'n',
      ...part,
    };
    return await channel.send(whole, signal ?? new AbortController().signal);
  }

  /** How a send fails. */
  async failure(signal?: AbortSignal): Promise<SendError> {
    try {
      await this.send('hello', {}, signal);
    } catch (error) {
      if (error instanceof SendError) return error;
      throw error;
    }
    throw new Error('the send did not fail');
  }

  logged(message: string): boolean {
    return this.log.lines.some((line) => line.message === message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager.stop();
    await this.server.close();
  }
}
