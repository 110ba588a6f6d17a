import type { HookRunner } from '../../agent/hooks/hooks.ts';
import { outboundTo } from '../../agent/outgoing.ts';
import type { MessageBus } from '../../bus/bus.ts';
import { ChannelError } from '../../channels/channel.ts';
import { isBuiltIn, type PluggedKinds } from '../../channels/registry.ts';
import type { Journal } from '../../journal/journal.ts';
import { loadPlugins } from '../../plugins/loader.ts';
import type { Plugin, PluginChannel } from '../../plugins/plugin.ts';
import type { AccessSettings } from '../../security/access/access.ts';
import { toJsonSchema } from '../../tools/registry/schema.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';

export interface Plugins {
  readonly running: readonly Plugin[];
  /** The kinds of channels that they bring. */
  readonly kinds: PluggedKinds;
  /** Every package that is there or listed. */
  readonly list: readonly PluginState[];
  /** One sentence each. */
  readonly troubles: readonly string[];
}

interface PluginState {
  readonly name: string;
  readonly version: string | null;
  readonly state: 'running' | 'not enabled' | 'failed' | 'safe mode';
}

/**
 * Loads the plugins that the configuration lists, and joins their channels with what every channel needs. Never throws.
 * `safe`: none is loaded.
 */
export async function openPlugins(
  folder: string,
  config: { readonly plugins: readonly string[]; readonly channels: Readonly<Record<string, AccessSettings>> },
  { clock, safe }: { readonly clock: Clock; readonly safe: boolean },
): Promise<Plugins> {
  const { found, running, troubles } = await loadPlugins(folder, safe ? [] : config.plugins, {
    clock,
    showParameters: toJsonSchema,
  });
  const kinds: Record<string, PluggedKinds[string]> = {};
  const taken: string[] = [];
  for (const { name, channels = [] } of running.values()) {
    for (const channel of channels) {
      if (isBuiltIn(channel.kind) || kinds[channel.kind] !== undefined) {
        taken.push(`The plugin "${name}" adds the kind of channel "${channel.kind}", which exists already.`);
      } else {
        kinds[channel.kind] = pluggedKind(channel, config);
      }
    }
  }
  const stateOf = (name: string): PluginState['state'] => {
    if (running.has(name)) return 'running';
    if (!config.plugins.includes(name)) return 'not enabled';
    return safe ? 'safe mode' : 'failed';
  };
  const names = new Set([...config.plugins, ...found.map(({ name }) => name)]);
  return {
    running: [...running.values()],
    kinds,
    list: Array.from(names, (name) => ({
      name,
      version: found.find((one) => one.name === name)?.version ?? null,
      state: stateOf(name),
    })),
    troubles: [...troubles, ...taken],
  };
}

/** Sends the owner a notice about each hook that does not answer, once for each start. */
export function reportHungHooks(
  hooks: HookRunner,
  ports: {
    readonly clock: Clock;
    readonly log: Logger;
    /** When the process began, milliseconds since 1970. */
    readonly startedAt: number;
    readonly journal: Journal;
    readonly bus: MessageBus;
  },
): void {
  const { clock, log, startedAt, journal, bus } = ports;
  let told = 0;
  hooks.onHung((sentence) => {
    const chat = journal.questions.ownersChat();
    if (chat === undefined) return;
    told += 1;
    const notice = { id: `hook:${startedAt}:${told}`, kind: 'notice', text: `⚠ ${sentence}` } as const;
    bus
      .publishOutbound(outboundTo(chat, notice, clock.now()))
      .catch((error: unknown) => log.warn('plugins: notice not queued', { reason: errorMessage(error) }));
  });
}

function pluggedKind(
  { shows, open }: PluginChannel,
  config: { readonly channels: Readonly<Record<string, AccessSettings>> },
): PluggedKinds[string] {
  return {
    shows,
    open: async (name, settings) => {
      try {
        const { kitFor, withPlain } = await import('./plugin-kit.ts');
        return withPlain(await open(name, settings, kitFor(config.channels[name])));
      } catch (error) {
        if (error instanceof ChannelError) throw error;
        throw new ChannelError(`channels.${name}: ${errorMessage(error)}`, { retry: false, cause: error });
      }
    },
  };
}
