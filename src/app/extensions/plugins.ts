import { dirname, join } from 'node:path';
import type { HookRunner } from '../../agent/hooks/hooks.ts';
import { packageFile } from '../../config/version.ts';
import { fingerprintOf, saysGuard } from '../../plugins/fingerprint.ts';
import {
  findPlugins,
  installedBeside,
  loadPlugin,
  notRunning,
  type FoundPlugin,
  type LoadedPlugin,
} from '../../plugins/loader.ts';
import type { Plugin } from '../../plugins/plugin.ts';
import type { PluggedProviders } from '../../providers/plugged.ts';
import type { AccessSettings } from '../../security/access/access.ts';
import type { ToolRegistry } from '../../tools/registry/registry.ts';
import { toJsonSchema } from '../../tools/registry/schema.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { thrownLine } from '../../util/misfit.ts';
import { clashSentence, contributionsOf, NO_CONTRIBUTIONS, type Clash, type Contributions } from './contributions.ts';
import { guardKey, guardStages, standIn, wayOut, type Missing } from './missing-guards.ts';
import { changePluginPins, readPluginPins, type PluginPins } from './plugin-pins.ts';
import type { TellOwner } from '../tell-owner.ts';

/** What plugins are there, what they bring, and what is wrong with them; each field shows the present. */
export interface Plugins extends Contributions {
  readonly running: readonly Plugin[];
  /** What stands in for listed guards that aren't running: it denies what they should have judged. */
  readonly missingGuards: readonly Plugin[];
  /** Every package that is there or listed, as they are now. */
  look: PluginHost['look'];
  /** One sentence each. */
  readonly troubles: readonly string[];
  /** What those of the program add and exists already. */
  readonly givenClashes: readonly Clash[];
  load: PluginHost['load'];
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
  /** The file with what a person agreed to. */
  readonly pins: string;
  readonly log: Logger;
  readonly config: {
    readonly plugins: readonly string[];
    readonly channels: Readonly<Record<string, AccessSettings>>;
  };
  readonly plugged: PluggedModels;
  readonly clock: Clock;
  /** Those of the program that runs the assistant; they run in any case, before packages. */
  readonly given: readonly Plugin[];
  /** No package is loaded. */
  readonly safe: boolean;
  /** A trial whose answers reach no one: no guard is missed. */
  readonly rehearsal: boolean;
}

/** The plugins that the configuration lists, joined with what they need. */
export class PluginHost implements Plugins {
  readonly #options: PluginsOptions;
  readonly #folders: readonly string[];
  #found: readonly FoundPlugin[] = [];
  #running: ReadonlyMap<string, LoadedPlugin> = new Map();
  #missingGuards: readonly Plugin[] = [];
  #contributions: Contributions = NO_CONTRIBUTIONS;
  #troubles: readonly string[] = [];
  #toolClashes: readonly Clash[] = [];
  /** As it was at the start: the store of a running assistant is never exchanged. */
  #tapeStore: Contributions['tapeStore'] = null;

  private constructor(options: PluginsOptions) {
    this.#options = options;
    this.#folders = pluginFolders(options.folder);
    if (options.given.length > 0) this.#join();
  }

  /** Loads the plugins. Never throws for what is wrong with one. */
  static async open(options: PluginsOptions): Promise<PluginHost> {
    const host = new PluginHost(options);
    await host.load();
    host.#tapeStore = host.#contributions.tapeStore;
    return host;
  }

  /**
   * Looks at the folders and the configuration again. A plugin whose package is as it was stays as it is; one whose package was
   * changed keeps running as it was agreed to until the new package is agreed to or the process ends. Returns the kinds of channels
   * that are others now; null: nothing changed. Rejects, and changes nothing, when a folder cannot be read.
   */
  async load(): Promise<ReadonlySet<string> | null> {
    const { config, safe } = this.#options;
    const before = this.#running;
    const { running, troubles, found, failed } = await this.#read(safe ? [] : config.plugins);
    this.#found = found;
    const missing = this.#guardsWithout(running, failed);
    const isGuarded = missing.map(({ name }) => name).join() === this.#missingGuards.map(({ name }) => name).join();
    this.#missingGuards = missing;
    const isSame =
      isGuarded &&
      JSON.stringify([...running.keys()]) === JSON.stringify([...before.keys()]) &&
      [...running].every(([name, { plugin }]) => before.get(name)?.plugin === plugin);
    this.#troubles = troubles;
    if (isSame) return null;
    this.#running = running;
    this.#join();
    const changed = [...before, ...running].filter(
      ([name, { plugin }]) => before.get(name)?.plugin !== plugin || running.get(name)?.plugin !== plugin,
    );
    return new Set(changed.flatMap(([, { plugin }]) => (plugin.channels ?? []).map(({ kind }) => kind)));
  }

  #guardsWithout(running: ReadonlyMap<string, LoadedPlugin>, failed: ReadonlyMap<string, Missing>): readonly Plugin[] {
    const { config, pins: file, rehearsal } = this.#options;
    const missing = rehearsal ? [] : config.plugins.filter((name) => !running.has(name));
    if (missing.length === 0) return [];
    let pins: PluginPins | null = null;
    try {
      pins = readPluginPins(file);
    } catch {
      // Which of them is a guard is not known.
    }
    return missing.flatMap((name) => standIn(name, pins, failed.get(name) ?? UNLOADED) ?? []);
  }

  #join(): void {
    const { config, plugged } = this.#options;
    this.#contributions = contributionsOf(this.running, (channel) => config.channels[channel]);
    plugged.providers = this.#contributions.providers;
    plugged.running = new Set(this.#running.keys());
  }

  async #read(listed: readonly string[]): Promise<{
    readonly found: readonly FoundPlugin[];
    readonly running: ReadonlyMap<string, LoadedPlugin>;
    readonly troubles: readonly string[];
    readonly failed: ReadonlyMap<string, Missing>;
  }> {
    const { clock, pins: file, log, given } = this.#options;
    const found = await findPlugins(this.#folders);
    const running = new Map<string, LoadedPlugin>();
    const troubles: string[] = [];
    const failed = new Map<string, Missing>();
    const fresh = new Map<string, string | null>();
    for (const name of listed) {
      const before = this.#running.get(name);
      const one = found.find((candidate) => candidate.name === name);
      try {
        if (given.some((own) => own.name === name)) throw new Error('the program brings a plugin of this name itself');
        if (one === undefined) throw new Error(`there is no such package in ${this.#options.folder}`);
        const pins = readPluginPins(file);
        if (before?.folder === one.folder && (await fingerprintOf(one.folder)) === before.fingerprint) {
          running.set(name, before);
          continue;
        }
        const agreed = ({ name: of }: FoundPlugin): string | undefined => pins.get(of);
        const loaded = await loadPlugin(one, { clock, showParameters: toJsonSchema, agreed });
        running.set(name, loaded);
        if (pins.get(name) === undefined) fresh.set(name, loaded.fingerprint);
        const stages = guardStages(loaded.plugin);
        if ((pins.get(guardKey(name)) ?? null) !== stages) fresh.set(guardKey(name), stages);
      } catch (error) {
        troubles.push(notRunning(name, error));
        if (before === undefined) {
          const looksGuarding = one !== undefined && (await saysGuard(one.folder));
          failed.set(name, { why: thrownLine(error), looksGuarding });
          continue;
        }
        running.set(name, before);
        troubles[troubles.length - 1] = stillRunning(name, error);
      }
    }
    if (fresh.size > 0) {
      await changePluginPins(file, fresh).catch((error: unknown) =>
        log.warn('plugins: agreement not written', { reason: errorMessage(error) }),
      );
    }
    return { found, running, troubles, failed };
  }

  /** Puts the tools of the running plugins into the registry, in place of those before. A tool that is there stays. */
  registerTools(registry: Pick<ToolRegistry, 'setPlugins'>): void {
    const all = this.running.flatMap(({ name, tools = [] }) => tools.map((tool) => ({ owner: name, tool })));
    this.#toolClashes = registry.setPlugins(all).map(({ owner, tool }) => ({ owner, what: `the tool "${tool.name}"` }));
  }

  get running(): readonly Plugin[] {
    return [...this.#options.given, ...Array.from(this.#running.values(), ({ plugin }) => plugin)];
  }

  get missingGuards(): readonly Plugin[] {
    return this.#missingGuards;
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

  get tapeStore(): Contributions['tapeStore'] {
    return this.#tapeStore;
  }

  /** Every package that is there or listed, as they are now. */
  async look(): Promise<readonly PluginState[]> {
    this.#found = await findPlugins(this.#folders);
    return this.#list();
  }

  #list(): readonly PluginState[] {
    const { config, given } = this.#options;
    const names = new Set([
      ...given.map(({ name }) => name),
      ...config.plugins,
      ...this.#found.map(({ name }) => name),
    ]);
    return Array.from(names, (name) => ({
      name,
      version: this.#found.find((one) => one.name === name)?.version ?? null,
      state: this.#stateOf(name),
    }));
  }

  get troubles(): readonly string[] {
    const { tapeStore } = this.#contributions;
    const isOther = tapeStore?.store !== this.#tapeStore?.store;
    const clashes = this.clashes.map(clashSentence);
    return [
      ...this.#troubles,
      ...this.#missingGuards.map(missingGuard),
      ...clashes,
      ...(isOther ? [otherStore(tapeStore)] : []),
    ];
  }

  get clashes(): readonly Clash[] {
    return [...this.#contributions.clashes, ...this.#toolClashes];
  }

  get givenClashes(): readonly Clash[] {
    return this.clashes.filter(({ owner }) => this.#options.given.some(({ name }) => name === owner));
  }

  #stateOf(name: string): PluginState['state'] {
    if (this.running.some((one) => one.name === name)) return 'running';
    if (!this.#options.config.plugins.includes(name)) return 'not enabled';
    return this.#options.safe ? 'safe mode' : 'failed';
  }
}

/** Where packages of plugins lie: put there by hand, installed there by npm, and beside this program. */
export function pluginFolders(folder: string): readonly string[] {
  const own = packageFile('package.json');
  const beside = own === undefined ? null : installedBeside(dirname(own));
  return [folder, join(folder, 'node_modules'), ...(beside === null ? [] : [beside])];
}

function otherStore(store: Contributions['tapeStore']): string {
  const what = store === null ? 'in the home alone' : `in the store of the plugin ${JSON.stringify(store.owner)}`;
  return `Conversations are kept ${what} after the next start: /restart.`;
}

/** In safe mode no package is tried. */
const UNLOADED: Missing = { why: 'plugins are not loaded in safe mode', looksGuarding: false };

function missingGuard({ name }: Plugin): string {
  return `The guard ${JSON.stringify(name)} isn't running, so what it should judge is held back. ${wayOut(name)}`;
}

function stillRunning(name: string, error: unknown): string {
  return `The plugin ${JSON.stringify(name)} runs as it was loaded before, because now: ${thrownLine(error)}.`;
}

/** Sends the owner a notice about each hook that does not answer, once for each start. */
export function reportHungHooks(
  hooks: HookRunner,
  /** `startedAt`: when the process began, milliseconds since 1970. */
  { startedAt, tellOwner }: { readonly startedAt: number; readonly tellOwner: TellOwner },
): void {
  let told = 0;
  hooks.onHung((sentence) => {
    told += 1;
    void tellOwner(`hook:${startedAt}:${told}`, `⚠ ${sentence}`);
  });
}
