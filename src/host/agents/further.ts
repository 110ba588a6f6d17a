import { SharedChannels } from '../../core/channels/shared/shared-channels.ts';
import { partsOf, type Channel } from '../../core/channels/channel.ts';
import { routeOf } from '../../core/config/agents.ts';
import { agentHome, agentsFolder } from '../../core/config/hosted-home.ts';
import { enabledChannels } from '../../core/config/channels.ts';
import type { LoadedConfig } from '../../core/config/load.ts';
import type { AgentFacts } from '../../core/gateway/assistant-info.ts';
import { namesIn } from '../../core/storage/files.ts';
import { deadline, raceAbort } from '../../core/util/clock.ts';
import type { Ground } from '../../core/assistant/base.ts';
import type { Assistant } from '../../core/library/assistant.ts';
import { HostedAssistant, type HostedPorts } from './hosted-assistant.ts';
import type { Began, ChannelHost, HostsChannels, RunningAssistants } from '../../core/assistant/hosting.ts';

/** The main assistant begins to listen after this time also where a further one is not ready. */
const START_DEADLINE_MS = 20_000;
const SAY_DEADLINE_MS = 30_000;

type CreateHosted = (
  host: ChannelHost,
  options: Parameters<HostedPorts['create']>[0] & { readonly home: string },
) => Promise<Assistant>;

export interface FurtherPorts {
  /** The configuration of the main assistant, as it was loaded last. */
  readonly loaded: () => LoadedConfig;
  readonly began: Began;
  readonly create: CreateHosted;
}

/** The further assistants of a process, each with its home below the main one's. */
export class FurtherAssistants implements RunningAssistants {
  readonly shared: SharedChannels;
  readonly #base: Ground;
  readonly #ports: FurtherPorts;
  readonly #running = new Map<string, HostedAssistant>();
  #folders: readonly string[] = [];
  #channels: HostsChannels | undefined;
  #reachable: Disposable | undefined;
  #isStopping = false;

  constructor(base: Ground, ports: FurtherPorts) {
    const { clock, log } = base;
    this.#base = base;
    this.#ports = ports;
    const say = (channel: Channel, notice: { readonly chatId: string; readonly text: string }): Promise<void> =>
      this.#say(channel, notice);
    this.shared = new SharedChannels({ began: ports.began, say, clock, log });
    this.#setRoutes();
  }

  /** Starts them all. Resolves when each runs or has failed, at most after 20 s. The connections are opened after that. */
  async open(channels: HostsChannels): Promise<void> {
    this.#reachable = this.shared.runBy(channels.manager);
    const { clock, log } = this.#base;
    using limit = deadline(clock, START_DEADLINE_MS, 'Starting the further assistants');
    const started = Promise.all(this.#wanted().map((name) => this.#start(name)));
    await raceAbort(started, limit.signal).catch(() => {
      log.warn('agents: not all assistants have started yet');
    });
    this.#channels = channels;
    await this.#look();
  }

  /** Takes up the configuration: starts what is new, stops what is gone, and has the others reload theirs. */
  async update(): Promise<void> {
    this.#setRoutes();
    const wanted = this.#wanted();
    const gone = [...this.#running.keys()].filter((name) => !wanted.includes(name));
    const fresh = wanted.filter((name) => !this.#running.has(name));
    await Promise.all([
      ...gone.map((name) => this.#remove(name)),
      ...wanted.map((name) => this.#running.get(name)?.reload()),
      ...fresh.map((name) => this.#start(name)),
    ]);
    await this.#look();
  }

  list(): readonly AgentFacts[] {
    const { agents } = this.#ports.loaded().config;
    const configured = Object.entries(agents).map(([name, { enabled, routes }]): AgentFacts => {
      const hosted = this.#running.get(name);
      const state = enabled ? (hosted?.state ?? 'starting') : 'off';
      const detail = state === 'failed' ? hosted?.detail : undefined;
      return { name, state, routes, home: this.#homeOf(name), ...(detail === undefined ? {} : { detail }) };
    });
    const left = this.#folders.filter((name) => agents[name] === undefined);
    return [
      ...configured,
      ...left.map((name): AgentFacts => ({ name, state: 'not-configured', routes: [], home: this.#homeOf(name) })),
    ];
  }

  /** Begins to stop them, and to take no message for them. */
  stop(): void {
    this.#isStopping = true;
    for (const hosted of this.#running.values()) void hosted.stop();
  }

  /** Their next starts count as ones after a crash. */
  markCrashed(): void {
    for (const hosted of this.#running.values()) hosted.markCrashed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    this.#reachable?.[Symbol.dispose]();
    await Promise.all([...this.#running.values()].map((hosted) => hosted.stop()));
  }

  #homeOf(name: string): string {
    return agentHome(this.#base.paths.home, name);
  }

  #wanted(): readonly string[] {
    return Object.entries(this.#ports.loaded().config.agents).flatMap(([name, { enabled }]) => (enabled ? [name] : []));
  }

  /** One that is switched off keeps its chats: nobody answers there. */
  #setRoutes(): void {
    const { agents } = this.#ports.loaded().config;
    this.shared.guests.setRoutes(
      Object.entries(agents).flatMap(([assistant, { routes }]) =>
        routes.map((route) => ({ assistant, ...routeOf(route) })),
      ),
    );
  }

  async #start(name: string): Promise<void> {
    if (this.#isStopping) return;
    const { clock, random, log } = this.#base;
    const { guests } = this.shared;
    const host: ChannelHost = {
      name,
      loaded: () => this.#ports.loaded(),
      sources: (began) => this.shared.sourcesOf(name, began),
      suspects: this.#base.suspects,
    };
    let isBehind = true;
    const hosted = new HostedAssistant({
      create: async (options) => await this.#ports.create(host, { ...options, home: this.#homeOf(name) }),
      setState: (state) => {
        guests.setState(name, state);
        if (state === 'failed') isBehind = true;
        if (state !== 'running' || !isBehind) return;
        isBehind = false;
        // Connections that began without its cursors, or refused for it, fetch what was written to it meanwhile.
        this.#channels?.update(this.#shared(name)).catch(() => {});
      },
      clock,
      random,
      log: log.with({ assistant: name }),
    });
    this.#running.set(name, hosted);
    await hosted.start();
  }

  /** Its channels that are connected. */
  #shared(name: string): readonly string[] {
    const open = enabledChannels(this.#ports.loaded());
    return this.shared.guests.channelsOf(name).filter((channel) => open[channel] !== undefined);
  }

  async #remove(name: string): Promise<void> {
    const hosted = this.#running.get(name);
    await hosted?.stop();
    this.#running.delete(name);
    this.shared.guests.setState(name, 'failed');
    this.#base.log.info('agents: assistant is not configured any more, its home stays', { assistant: name });
  }

  /** Looks which homes there are. */
  async #look(): Promise<void> {
    this.#folders = (await namesIn(agentsFolder(this.#base.paths.home))).toSorted();
  }

  async #say(channel: Channel, { chatId, text }: { readonly chatId: string; readonly text: string }): Promise<void> {
    const { clock, newId } = this.#base;
    const [part] = partsOf(channel, { kind: 'notice', text, metadata: {} });
    if (part === undefined) return;
    using limit = deadline(clock, SAY_DEADLINE_MS, 'Sending');
    const id = newId();
    const notice = { messageId: id, kind: 'notice', chatId, text: part, media: [], nonce: id.slice(-25) } as const;
    await channel.send(notice, limit.signal);
  }
}
