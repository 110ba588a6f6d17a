import { failed as broken, type Finding, sentenceOf, warning } from '../util/finding.ts';
import { fingerprintOf, saysGuard } from './fingerprint.ts';
import { findPlugins, loadPlugin, notRunning, type FoundPlugin, type LoadedPlugin } from './loader.ts';
import type { Config } from '../config/schema.ts';
import type { App } from '../app.ts';
import { isOn, type Program } from '../program.ts';
import type { Contributions as Added, Extension } from '../extension.ts';
import type { Plugin } from './plugin.ts';
import type { PluggedProviders } from '../providers/plugged.ts';
import type { Tool } from '../tools/tool.ts';
import type { ToolRegistry } from '../tools/registry/registry.ts';
import { toJsonSchema } from '../tools/json-schema.ts';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { thrownLine } from '../util/misfit.ts';
import { clashFinding, contributionsOf, NO_CONTRIBUTIONS, type Clash, type Contributions } from './contributions.ts';
import { guardKey, guardStages, missingGuard, standIn, type Missing } from './missing-guards.ts';
import { pluginFolders, requireOwnName, requirePartsOf, RestartNeeded } from './packages.ts';
import { changePluginPins, readPluginPins, type PluginPins } from './plugin-pins.ts';

/** How long each extension is waited for when it starts, stops or forgets, ms. */
const LONGEST_MS = 5_000;
/** How long a package may take to open, ms. */
const OPENING_MS = 20_000;

/** What plugins are there, what they bring, and what is wrong with them; each field shows the present. */
export interface Plugins extends Contributions {
  readonly running: readonly Extension[];
  /** What stands in for listed guards that aren't running: it denies what they should have judged. */
  readonly missingGuards: readonly Extension[];
  /** What those that run bring of this kind, with the name of each. */
  each: PluginHost['each'];
  open: PluginHost['open'];
  openNew: PluginHost['openNew'];
  /** Begin what runs beside the turns, end it, and remove what is kept of a session. Never reject. */
  start: PluginHost['start'];
  stop: PluginHost['stop'];
  forget: PluginHost['forget'];
  close: PluginHost['close'];
  /** Those of the program that run. */
  readonly builtin: readonly Extension[];
  /** Every package that is there or listed, as they are now. */
  look: PluginHost['look'];
  /** What failed, and what is not there. */
  readonly findings: readonly Finding[];
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
  readonly state: 'running' | 'not enabled' | 'failed' | 'safe mode' | 'waits for a restart';
}

export interface PluginsOptions {
  readonly folder: string;
  /** The file with what a person agreed to. */
  readonly pins: string;
  readonly log: Logger;
  readonly config: Config;
  readonly program: Program;
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
  /** Those of the program that are not switched off, before all others. */
  readonly builtin: readonly Extension[];
  #found: readonly FoundPlugin[] = [];
  #running: ReadonlyMap<string, LoadedPlugin> = new Map();
  #missingGuards: readonly Plugin[] = [];
  #contributions: Contributions = NO_CONTRIBUTIONS;
  #findings: readonly Finding[] = [];
  #waiting: ReadonlySet<string> = new Set();
  #toolClashes: readonly Clash[] = [];
  /** One sentence each, by extension and what it could not do. */
  readonly #failures = new Map<string, Finding>();
  #app: App | undefined;
  /** What runs, with what it opened; undefined: something of it changed. */
  #joined: readonly Extension[] | undefined;
  /** What `open` returned, by the extension. */
  readonly #opened = new Map<Extension, Added>();
  readonly #started = new Set<Extension>();
  /** The tools of the program's extensions are in the registry. */
  #hasOwnTools = false;
  #isStarted = false;
  #isRead = false;
  /** As it was at the start: the store of a running assistant is never exchanged. */
  #tapeStore: Contributions['tapeStore'] = null;

  private constructor(options: PluginsOptions) {
    this.#options = options;
    const { program, config, safe } = options;
    this.#folders = pluginFolders(options.folder);
    this.builtin = program.extensions.filter((one) => !program.packages.has(one.name) && isOn(one, config));
    const isGiven = (name: string): boolean => options.given.some((one) => one.name === name);
    if (!safe) this.#running = new Map([...program.packages].filter(([name]) => !isGiven(name)));
    this.#join();
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
    const { running, findings, found, failed, waiting } = await this.#read(safe ? [] : config.plugins);
    this.#isRead = true;
    this.#found = found;
    const missing = this.#guardsWithout(running, failed);
    const isGuarded = missing.map(({ name }) => name).join() === this.#missingGuards.map(({ name }) => name).join();
    this.#missingGuards = missing;
    const isSame =
      isGuarded &&
      JSON.stringify([...running.keys()]) === JSON.stringify([...before.keys()]) &&
      [...running].every(([name, { plugin }]) => before.get(name)?.plugin === plugin);
    this.#findings = findings;
    this.#waiting = waiting;
    for (const key of this.#failures.keys())
      if (!this.#listed.some(({ name }) => key.startsWith(`${name} `))) this.#failures.delete(key);
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

  /** Opens those that are not open yet. Never throws: one that cannot be opened is left out, and `findings` says why. */
  async open(app: App): Promise<void> {
    this.#app = app;
    const fresh = this.#listed.filter((one) => one.open !== undefined && !this.#opened.has(one));
    for (const one of fresh) {
      let opened: Added = {};
      const failures = await this.#try(one.name, 'open', async () => void (opened = (await one.open?.(app)) ?? {}));
      this.#keep(one, failures.length === 0 ? opened : {});
    }
    if (fresh.length > 0) this.#join();
  }

  #keep(one: Extension, opened: Added): void {
    this.#opened.set(one, opened);
    this.#joined = undefined;
  }

  async start(): Promise<void> {
    this.#isStarted = true;
    for (const one of this.#listed.filter((candidate) => !this.#started.has(candidate))) {
      this.#started.add(one);
      const { start } = joined(one, this.#opened.get(one));
      if (start !== undefined) await this.#try(one.name, 'start', start);
    }
  }

  async stop(): Promise<void> {
    for (const [name, stop] of this.each('stop').toReversed()) await this.#try(name, 'stop', stop);
  }

  async close(): Promise<void> {
    for (const [name, close] of this.each('close').toReversed()) await this.#try(name, 'close', close);
  }

  /** Removes what extensions keep of a session. Returns a sentence for each that could not. Never rejects. */
  async forget(sessionKey: string): Promise<readonly string[]> {
    const failures: Finding[] = [];
    for (const [name, forget] of this.each('forget'))
      failures.push(...(await this.#try(name, 'forget a conversation', () => forget(sessionKey))));
    return failures.map(sentenceOf);
  }

  /** Waits for a part of an extension, and for one of a package not for long. `findings` has what failed until it works; so does the result. */
  async #try(name: string, does: string, work: () => void | Promise<void>): Promise<readonly Finding[]> {
    const { clock, log } = this.#options;
    const key = `${name} ${does}`;
    const isBuiltIn = this.builtin.some((one) => one.name === name);
    using limit = isBuiltIn ? undefined : deadline(clock, does === 'open' ? OPENING_MS : LONGEST_MS, 'it');
    const working = (async () => {
      await work();
      this.#failures.delete(key);
    })();
    try {
      await (limit === undefined ? working : raceAbort(working, limit.signal));
      return [];
    } catch (error) {
      log.error('extensions: failed', { name, to: does, reason: errorMessage(error) });
      const says = `The extension ${name} could not ${does}: ${thrownLine(error)}.`;
      const finding: Finding = { id: 'plugins.there', ...broken(says), facts: { plugin: name } };
      this.#failures.set(key, finding);
      return [finding];
    }
  }

  /** Opens and starts those that are new now, and stops those that are gone. What these have open ends with the process. */
  async openNew(): Promise<void> {
    if (this.#app === undefined) return;
    for (const one of this.#started) {
      if (this.#listed.includes(one)) continue;
      this.#started.delete(one);
      const { stop } = joined(one, this.#opened.get(one));
      if (stop !== undefined) await this.#try(one.name, 'stop', stop);
    }
    await this.open(this.#app);
    if (this.#isStarted) await this.start();
  }

  #join(): void {
    const { config, program, plugged } = this.#options;
    this.#joined = undefined;
    this.#contributions = contributionsOf(this.running, {
      presets: program.presets,
      peopleOf: (channel) => config.channels[channel],
    });
    plugged.providers = this.#contributions.providers;
    plugged.running = new Set(this.#listed.slice(this.builtin.length).map(({ name }) => name));
  }

  async #read(listed: readonly string[]): Promise<{
    readonly found: readonly FoundPlugin[];
    readonly running: ReadonlyMap<string, LoadedPlugin>;
    readonly findings: readonly Finding[];
    readonly failed: ReadonlyMap<string, Missing>;
    readonly waiting: ReadonlySet<string>;
  }> {
    const { clock, pins: file, log, given, program } = this.#options;
    const found = await findPlugins(this.#folders);
    const running = new Map<string, LoadedPlugin>();
    const findings: Finding[] = [];
    const failed = new Map<string, Missing>();
    const waiting = new Set<string>();
    const fresh = new Map<string, string | null>();
    for (const name of listed) {
      const loadedBefore = this.#running.get(name);
      // What was imported for its static parts runs only once it is read here.
      const before = this.#isRead ? loadedBefore : undefined;
      const one = found.find((candidate) => candidate.name === name);
      try {
        if (given.some((own) => own.name === name)) throw new Error('the program brings a plugin of this name itself');
        requireOwnName(program, name);
        if (one === undefined) throw new Error(`there is no such package in ${this.#options.folder}`);
        const pins = readPluginPins(file);
        const isSame =
          loadedBefore?.folder === one.folder && (await fingerprintOf(one.folder)) === loadedBefore.fingerprint;
        const agreed = (): string | undefined => pins.get(name);
        const isAgreed = isSame && [undefined, loadedBefore.fingerprint].includes(agreed());
        const loaded = isAgreed ? loadedBefore : await loadPlugin(one, { clock, showParameters: toJsonSchema, agreed });
        requirePartsOf(program, loaded);
        running.set(name, loaded);
        if (pins.get(name) === undefined) fresh.set(name, loaded.fingerprint);
        const stages = guardStages(loaded.plugin);
        if ((pins.get(guardKey(name)) ?? null) !== stages) fresh.set(guardKey(name), stages);
      } catch (error) {
        findings.push(notRunning(name, error));
        if (error instanceof RestartNeeded) waiting.add(name);
        if (before === undefined) {
          const looksGuarding = one !== undefined && (await saysGuard(one.folder));
          failed.set(name, { why: thrownLine(error), looksGuarding });
          continue;
        }
        running.set(name, before);
        findings[findings.length - 1] = stillRunning(name, error);
      }
    }
    if (fresh.size > 0) {
      await changePluginPins(file, fresh).catch((error: unknown) =>
        log.warn('plugins: agreement not written', { reason: errorMessage(error) }),
      );
    }
    return { found, running, findings, failed, waiting };
  }

  /**
   * Puts the tools of what runs into the registry: once those of the program's extensions, and those of the others in place of those
   * before. A tool that is there stays.
   */
  registerTools(registry: Pick<ToolRegistry, 'register' | 'setPlugins'>): void {
    // What comes with the program is listed first.
    const own = this.builtin.length;
    if (!this.#hasOwnTools)
      for (const { tools = [] } of this.running.slice(0, own)) for (const tool of tools) registry.register(tool);
    this.#hasOwnTools = true;
    const others = this.running
      .slice(own)
      .flatMap(({ name, tools = [] }) => tools.map((tool) => ({ owner: name, tool: this.#foreign(name, tool) })));
    this.#toolClashes = registry
      .setPlugins(others)
      .map(({ owner, tool }) => ({ owner, what: `the tool "${tool.name}"` }));
  }

  /** Marks a tool as not built in. It counts as read-only if both the tool and the owner's agreement say so. */
  #foreign(owner: string, tool: Tool): Tool {
    const says = this.#running.get(owner)?.readOnlyTools.includes(tool.name) ?? true;
    const foreign = { value: { onlyReads: says && tool.effect === 'none' }, enumerable: true };
    return Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(tool), foreign }) as Tool;
  }

  get #listed(): readonly Extension[] {
    const { config, given } = this.#options;
    const packages = Array.from(this.#running.values(), ({ plugin }) => plugin);
    return [...this.builtin, ...given, ...packages.filter((one) => isOn(one, config))];
  }

  get running(): readonly Extension[] {
    return (this.#joined ??= this.#listed.map((one) => joined(one, this.#opened.get(one))));
  }

  each<K extends keyof Added>(what: K): readonly (readonly [name: string, part: NonNullable<Added[K]>])[] {
    return this.running.flatMap(({ name, [what]: part }) => (part === undefined ? [] : [[name, part] as const]));
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

  get findings(): readonly Finding[] {
    const { tapeStore } = this.#contributions;
    const isOther = tapeStore?.store !== this.#tapeStore?.store;
    const clashes = this.clashes.map(clashFinding);
    return [
      ...this.#findings,
      ...this.#failures.values(),
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
    if (this.#failures.has(`${name} open`)) return 'failed';
    if (this.#listed.slice(this.builtin.length).some((one) => one.name === name)) return 'running';
    const { config, safe } = this.#options;
    if (!config.plugins.includes(name) || config.extensions[name] === false) return 'not enabled';
    if (this.#waiting.has(name)) return 'waits for a restart';
    return safe ? 'safe mode' : 'failed';
  }
}

/** An extension with what it opened: lists one after the other, of everything else what was opened. */
function joined(extension: Extension, opened: Added = {}): Extension {
  const lists = (['tools', 'commands', 'routes', 'prompt'] as const).map((key) => [
    key,
    [...(extension[key] ?? []), ...(opened[key] ?? [])],
  ]);
  return { ...extension, ...opened, ...Object.fromEntries(lists) };
}

function otherStore(store: Contributions['tapeStore']): Finding {
  const what = store === null ? 'in the home alone' : `in the store of the plugin ${JSON.stringify(store.owner)}`;
  return { id: 'config.waiting', ...warning(`Conversations are kept ${what} after the next start: /restart.`) };
}

/** In safe mode no package is tried. */
const UNLOADED: Missing = { why: 'plugins are not loaded in safe mode', looksGuarding: false };

function stillRunning(name: string, error: unknown): Finding {
  const says = `The plugin ${JSON.stringify(name)} runs as it was loaded before, because now: ${thrownLine(error)}.`;
  return { id: 'plugins.there', ...warning(says), facts: { plugin: name } };
}

/** Sends the owner a notice about each hook that does not answer, once for each start. */
export function reportHungHooks({ hooks, startedAt, notices }: App): void {
  let told = 0;
  hooks.onHung((sentence) => {
    told += 1;
    void notices.warn(`hook:${startedAt}:${told}`, sentence);
  });
}
