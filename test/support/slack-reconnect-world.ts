import type { InboundDraft } from '../../src/core/bus/messages.ts';
import { ChannelManager } from '../../src/core/channels/manager.ts';
import { PlatformChannel } from '../../src/core/channels/platform.ts';
import { channelOptions, type ChannelConfig } from '../../src/core/channels/registry.ts';
import { slack } from '../../src/extensions/slack/channel.ts';
import { slackOptions } from '../../src/extensions/slack/options.ts';
import { systemClock, type Clock } from '../../src/core/util/clock.ts';
import { steadyRandom } from './delivery-world.ts';
import { startFakeSlack, type FakeSlack, type FakeSlackOptions } from './fake-slack.ts';
import { storageHealth } from './healthy-storage.ts';
import { recordingLog } from './recording-log.ts';

const PERSON = 'U0PERSON';
const CHAT = 'D0PERSON';

export interface LineWorldOptions {
  readonly config?: Partial<ChannelConfig>;
  readonly server?: FakeSlackOptions;
  readonly prepare?: (server: FakeSlack) => void;
  /** When somebody was last heard, by `Date.now`. */
  readonly heardUntil?: number;
  /** @default the system's */
  readonly clock?: Clock;
}

/** The Slack channel under its manager against a local Slack; `accepted` remembers what came in. */
export class ReconnectWorld implements AsyncDisposable {
  readonly server: FakeSlack;
  readonly log = recordingLog();
  readonly accepted: InboundDraft[] = [];
  /** What the owner was told, by id. */
  readonly notices = new Map<string, string>();
  /** Instead of accepting; a test sets it. */
  refuse: (() => Promise<void> | undefined) | undefined;
  manager: ChannelManager;
  readonly #options: LineWorldOptions;

  private constructor(server: FakeSlack, options: LineWorldOptions) {
    this.server = server;
    this.#options = options;
    this.manager = this.#openManager();
  }

  static async open(options: LineWorldOptions = {}): Promise<ReconnectWorld> {
    const server = await startFakeSlack(options.server);
    server.workspace.addPerson(PERSON, 'Pat');
    options.prepare?.(server);
    const world = new ReconnectWorld(server, options);
    await world.manager.start();
    return world;
  }

  get texts(): readonly string[] {
    return this.accepted.map(({ text }) => text);
  }

  get health(): { readonly state: string; readonly detail?: string } | undefined {
    return this.manager.health()['slack'];
  }

  sends(text: string): string {
    return this.server.sends(PERSON, CHAT, text);
  }

  /** Ends the channel as it stands and begins another on the same workspace. */
  async restart(): Promise<void> {
    await this.manager.stop();
    this.manager = this.#openManager();
    await this.manager.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager.stop();
    await this.server[Symbol.asyncDispose]();
  }

  #openManager(): ChannelManager {
    const { config, heardUntil, clock = systemClock } = this.#options;
    const full = { ...this.server.config, allowFrom: [PERSON], ...config };
    const publishRead = async (drafts: readonly InboundDraft[]): Promise<readonly ('accepted' | 'duplicate')[]> => {
      await this.refuse?.();
      const known = new Set(this.accepted.map(({ externalId }) => externalId));
      this.accepted.push(...drafts.filter(({ externalId }) => !known.has(externalId)));
      return drafts.map(({ externalId }) => (known.has(externalId) ? 'duplicate' : 'accepted'));
    };
    const source = {
      name: 'slack',
      kind: 'slack',
      open: async () => new PlatformChannel('slack', slack(channelOptions('slack', full, slackOptions)), steadyRandom),
    };
    return new ChannelManager([source], {
      bus: { publishRead },
      cursorsOf: () => new Map(),
      people: { pairedRole: () => undefined, pairedOwners: () => [], requestPairing: async () => {} },
      heardUntil: () => heardUntil,
      storage: storageHealth(clock),
      keep: async (name) => name,
      tellOwner: async (id, text) => void this.notices.set(id, text),
      clock,
      random: steadyRandom,
      log: this.log,
    });
  }
}

/** The system's clock, whose waits of a second and more a test can cut short. */
export class HastyClock implements Clock {
  readonly #long = new Set<() => void>();
  #ahead = 0;

  now(): number {
    return systemClock.now() + this.#ahead;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#ahead;
  }

  timer(ms: number, callback: () => void, options?: { keepAlive?: boolean }): Disposable {
    const due = this.monotonic() + ms;
    const end = (): void => {
      this.#long.delete(check);
      timer[Symbol.dispose]();
    };
    const fire = (): void => {
      end();
      callback();
    };
    const check = (): void => {
      if (this.monotonic() >= due) fire();
    };
    const timer = systemClock.timer(ms, fire, options);
    this.#long.add(check);
    return { [Symbol.dispose]: end };
  }

  /** So much time passes at once. */
  skip(ms: number): void {
    this.#ahead += ms;
    for (const check of this.#long) check();
  }
}
