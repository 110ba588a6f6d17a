import type { HookRunner } from '../../agent/hooks/hooks.ts';
import { outboundTo } from '../../agent/outgoing.ts';
import type { MessageBus } from '../../bus/bus.ts';
import type { Journal } from '../../journal/journal.ts';
import { loadPlugins, type FoundPlugin } from '../../plugins/loader.ts';
import type { Plugin } from '../../plugins/plugin.ts';
import type { PluggedProviders } from '../../providers/plugged.ts';
import type { AccessSettings } from '../../security/access/access.ts';
import type { ToolRegistry } from '../../tools/registry/registry.ts';
import { toJsonSchema } from '../../tools/registry/schema.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { contributionsOf, NO_CONTRIBUTIONS, type Contributions } from './contributions.ts';

/** What plugins are there, what they bring, and what is wrong with them; each field shows the present. */
export interface Plugins extends Contributions {
  readonly running: readonly Plugin[];
  /** Every package that is there or listed. */
  readonly list: readonly PluginState[];
  /** One sentence each. */
  readonly troubles: readonly string[];
  registerTools: PluginHost['registerTools'];
}

/** What plugins bring for models, by which the configuration is checked before it is in force. */
export interface PluggedModels {
  providers: PluggedProviders;
  /** Names of the plugins that run. */
  running: ReadonlySet<string>;
}

export interface PluginState {
  readonly name: string;
  readonly version: string | null;
  readonly state: 'running' | 'not enabled' | 'failed' | 'safe mode';
}

export interface PluginsOptions {
  readonly folder: string;
  readonly config: {
    readonly plugins: readonly string[];
    readonly channels: Readonly<Record<string, AccessSettings>>;
  };
  readonly plugged: PluggedModels;
  readonly clock: Clock;
  /** None is loaded. */
  readonly safe: boolean;
}

/** The plugins that the configuration lists, joined with what they need. */
export class PluginHost implements Plugins {
  readonly #options: PluginsOptions;
  #found: readonly FoundPlugin[] = [];
  #running: ReadonlyMap<string, Plugin> = new Map();
  #contributions: Contributions = NO_CONTRIBUTIONS;
  #troubles: readonly string[] = [];
  #toolClashes: readonly string[] = [];
  #registered: readonly Disposable[] = [];

  private constructor(options: PluginsOptions) {
    this.#options = options;
  }

  /** Loads the plugins. Never throws for what is wrong with one. */
  static async open(options: PluginsOptions): Promise<PluginHost> {
    const host = new PluginHost(options);
    await host.load();
    return host;
  }

  /** Looks at the folder and the configuration again. Rejects, and changes nothing, when the folder cannot be read. */
  async load(): Promise<void> {
    const { folder, config, plugged, clock, safe } = this.#options;
    const { found, running, troubles } = await loadPlugins(folder, safe ? [] : config.plugins, {
      clock,
      showParameters: toJsonSchema,
    });
    this.#found = found;
    this.#running = running;
    this.#contributions = contributionsOf([...running.values()], (channel) => config.channels[channel]);
    this.#troubles = troubles;
    plugged.providers = this.#contributions.providers;
    plugged.running = new Set(running.keys());
  }

  /** Adds the tools of the running plugins to the registry, in place of those that it added before. A tool that is there stays. */
  registerTools(registry: Pick<ToolRegistry, 'named' | 'register'>): void {
    for (const tool of this.#registered) tool[Symbol.dispose]();
    const registered: Disposable[] = [];
    const clashes: string[] = [];
    for (const { name, tools = [] } of this.running) {
      for (const tool of tools) {
        if (registry.named(tool.name) === undefined) registered.push(registry.register(tool));
        else clashes.push(`The plugin "${name}" adds the tool "${tool.name}", which exists already.`);
      }
    }
    this.#registered = registered;
    this.#toolClashes = clashes;
  }

  get running(): readonly Plugin[] {
    return [...this.#running.values()];
  }

  get kinds(): Contributions['kinds'] {
    return this.#contributions.kinds;
  }

  get commands(): Contributions['commands'] {
    return this.#contributions.commands;
  }

  get providers(): PluggedProviders {
    return this.#contributions.providers;
  }

  get skills(): readonly string[] {
    return this.#contributions.skills;
  }

  get routes(): Contributions['routes'] {
    return this.#contributions.routes;
  }

  get list(): readonly PluginState[] {
    const { config } = this.#options;
    const names = new Set([...config.plugins, ...this.#found.map(({ name }) => name)]);
    return Array.from(names, (name) => ({
      name,
      version: this.#found.find((one) => one.name === name)?.version ?? null,
      state: this.#stateOf(name),
    }));
  }

  get troubles(): readonly string[] {
    return [...this.#troubles, ...this.#contributions.clashes, ...this.#toolClashes];
  }

  get clashes(): readonly string[] {
    return this.#contributions.clashes;
  }

  #stateOf(name: string): PluginState['state'] {
    if (this.#running.has(name)) return 'running';
    if (!this.#options.config.plugins.includes(name)) return 'not enabled';
    return this.#options.safe ? 'safe mode' : 'failed';
  }
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
