import { API_CHANNEL } from '../bus/api.ts';
import type { Channel, ChannelHealth } from '../channels/channel.ts';
import { Delivery } from '../channels/delivery/delivery.ts';
import { ChannelManager } from '../channels/manager.ts';
import type { ChannelPeople, ChannelSource } from '../channels/supervised-channel.ts';
import { SpeechChannel, withSpeech } from '../channels/speech.ts';
import { channelSource } from '../channels/registry.ts';
import { KeptChannel } from '../channels/kept.ts';
import { TerminalChannel } from '../channels/terminal.ts';
import { Previews } from '../channels/delivery/preview.ts';
import { channelsOff, enabledChannels } from '../config/channels.ts';
import type { Config } from '../config/schema.ts';
import type { App } from '../app.ts';
import type { Journal } from '../journal/journal.ts';
import { quarantine } from '../storage/files.ts';
import type { Began } from './hosting.ts';
import { isOwnersChannel } from '../util/owners-channels.ts';
import { untilNextLook } from '../util/clock.ts';
import { cut } from '../util/text.ts';
import { keepReactions } from './reactions.ts';

/** How often it is looked whether the state of a channel changed. */
const STATES_EVERY_MS = 5_000;
/** Characters of what is wrong with a channel. */
const LONGEST_DETAIL = 200;

export interface Channels {
  readonly terminal: TerminalChannel;
  readonly manager: ChannelManager;
  /** Makes voice messages of texts. */
  readonly speech: SpeechChannel;
  readonly delivery: Delivery;
  readonly previews: Previews;
  /** Whether a channel that reaches people elsewhere is connected. */
  readonly isOpen: (channel: string) => boolean;
  /** Takes up what the configuration says now of these channels; each of them starts anew, the others are not touched. */
  readonly update: (names: readonly string[]) => Promise<void>;
}

/** The terminal and, in a gateway, every channel that is enabled and the page; none is open yet. */
export function createChannels(
  app: App,
  {
    restoredAt,
    wrapSource = (source) => source,
  }: { restoredAt: number | undefined; wrapSource?: (source: ChannelSource) => ChannelSource },
): Channels {
  const { clock, random, log, serving, host, bus, journal, uploads } = app;
  const began: Began = (channel, turnId, chatId) => journal.inbox.began(channel, turnId, chatId);
  const terminal = new TerminalChannel();
  const api = new KeptChannel(API_CHANNEL);
  const sources = (): readonly ChannelSource[] => {
    if (host !== null) return host.sources(began);
    const own = Object.entries(serving ? enabledChannels(app) : {}).map(([name, channel]) =>
      wrapSource(channelSource(name, channel, app.plugins.kinds)),
    );
    const { shared } = app.further;
    return shared === null ? own : own.map((source) => shared.mains(source));
  };
  const page = new KeptChannel('web', { buttons: true, read: (name) => uploads.read(name) });
  const sourceOf = (channel: Channel): ChannelSource => ({
    name: channel.name,
    kind: channel.kind,
    open: async () => channel,
  });
  const manager = new ChannelManager(
    [sourceOf(terminal), ...sources(), ...(serving && host === null ? [page, api].map(sourceOf) : [])],
    {
      bus,
      people: peopleOf(journal),
      heardUntil: (channel) => journal.inbox.heardUntil(channel),
      restoredAt,
      cursorsOf: (name) => journal.cursors.of(name),
      reacted: (reactions) => keepReactions(reactions, app),
      passOver: (channel, message) => void journal.channelLog.passOver(channel, message).catch(() => {}),
      share: (channel, context) => app.further.shared?.context(channel, context) ?? context,
      storage: app.storage,
      keep: (name, text) => quarantine(app.paths.quarantine, name, Buffer.from(app.redact(text))),
      tellOwner: async (id, text) => void (await app.notices.queue(id, text)),
      clock,
      random,
      log,
    },
  );
  const speech = new SpeechChannel(app);
  const delivery = new Delivery(app, withSpeech(manager, speech));
  const previews = new Previews(app);
  const isOpen = (channel: string): boolean =>
    channel in manager.health() && (channel === page.name || !isOwnersChannel(channel));
  const update = async (names: readonly string[]): Promise<void> => {
    const found = sources();
    await Promise.all(
      names.map((name) =>
        manager.replace(
          name,
          found.find((source) => source.name === name),
        ),
      ),
    );
  };
  return { terminal, manager, speech, delivery, previews, isOpen, update };
}

function peopleOf({ people, pairing }: Journal): ChannelPeople {
  return {
    pairedRole: (channel, id) => people.pairedRole(channel, id),
    pairedOwners: (channel) => people.list(channel).flatMap(({ id, role }) => (role === 'owner' ? [id] : [])),
    requestPairing: async (attempt) => {
      await pairing.requestPairing(attempt);
    },
  };
}

/** Writes down what each channel of people is, every few seconds where that changed; at the end, that it is stopped. */
export async function recordStates({ clock, redact, channels, journal }: App): Promise<AsyncDisposable> {
  const { channelLog } = journal;
  const ignore = (): void => {};
  const note = async (only?: 'stopped'): Promise<void> => {
    const states = Object.entries(channels.manager.health()).filter(([name]) => !isOwnersChannel(name));
    await Promise.all(
      states.map(async ([name, { state, detail }]) => {
        const told = only === undefined && detail !== undefined ? { detail: cut(redact(detail), LONGEST_DETAIL) } : {};
        await channelLog.note(name, { state: only ?? state, ...told }).catch(ignore);
      }),
    );
  };
  await channelLog.begin().catch(ignore);
  let timer: Disposable;
  const look = (): void => {
    timer = clock.timer(untilNextLook(clock, STATES_EVERY_MS), look);
    void note();
  };
  look();
  return {
    async [Symbol.asyncDispose]() {
      timer[Symbol.dispose]();
      await note('stopped');
    },
  };
}

/** How the channels are, without secrets: what a platform said of an error may hold anything. */
export function cleanHealth({ channels, redact }: App): Readonly<Record<string, ChannelHealth>> {
  return Object.fromEntries(
    Object.entries(channels.manager.health()).map(([name, { detail, ...facts }]) => [
      name,
      { ...facts, ...(detail === undefined ? {} : { detail: redact(detail) }) },
    ]),
  );
}

/** Channels that are switched off, for status: nobody remembers in May why Telegram was silenced in March. */
export function healthOfChannelsOff(config: Pick<Config, 'channels'>): Readonly<Record<string, ChannelHealth>> {
  const health: ChannelHealth = { state: 'stopped', detail: 'switched off: enabled is false in config.json' };
  return Object.fromEntries(channelsOff(config).map((name) => [name, health]));
}
