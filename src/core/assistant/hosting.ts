import { failed, type Finding } from '../util/finding.ts';
import { OneAtATime } from '../agent/recovery/one-at-a-time.ts';
import type { ChannelManager } from '../channels/manager.ts';
import type { SharedChannels } from '../channels/shared/shared-channels.ts';
import type { ChannelSource } from '../channels/supervised-channel.ts';
import { enabledChannels } from '../config/channels.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { AgentFacts } from '../gateway/assistant-info.ts';
import type { Clock } from '../util/clock.ts';

/** Whether a turn began with a person's message of a chat. */
export type Began = (channel: string, turnId: string, chatId: string) => boolean;

/** What a further assistant gets from the main one: its channels, and its place among the turns that may have ended the process. */
export interface ChannelHost {
  /** The name of the further assistant. */
  readonly name: string;
  /** The configuration of the main one, as it was loaded last. */
  readonly loaded: () => LoadedConfig;
  /** All channels, of which it reads and writes its own chats. */
  readonly sources: (began: Began) => readonly ChannelSource[];
  readonly suspects: OneAtATime | null;
}

/** See `Base.suspects`, of a main assistant. */
export function suspectsOf({ config }: LoadedConfig, clock: Clock): OneAtATime | null {
  return Object.keys(config.agents).length === 0 ? null : new OneAtATime(clock);
}

/** The channels of the main assistant. */
export interface HostsChannels {
  readonly manager: ChannelManager;
  /** Starts these anew, as the configuration says now. */
  readonly update: (names: readonly string[]) => Promise<void>;
}

/** What runs the further assistants. */
export interface RunningAssistants extends AsyncDisposable {
  readonly shared: SharedChannels;
  list(): readonly AgentFacts[];
  /** Starts them all; resolves when each runs or has failed. */
  open(channels: HostsChannels): Promise<void>;
  update(): Promise<void>;
  stop(): void;
  markCrashed(): void;
}

interface FurtherPorts {
  /** The configuration of the main assistant, as it was loaded last. */
  readonly loaded: () => LoadedConfig;
  /** Loads what runs them. */
  readonly make: () => Promise<RunningAssistants>;
}

/** The further assistants of a process. What runs them is loaded with the first one. */
export class Further {
  #running: RunningAssistants | null = null;
  #ports: FurtherPorts | null = null;
  #channels: HostsChannels | null = null;

  /** Null: there are none, and the channels are the main one's alone. */
  get shared(): SharedChannels | null {
    return this.#running?.shared ?? null;
  }

  /** Each that is configured, or has a home of its own, in the order of the configuration. */
  list(): readonly AgentFacts[] {
    return this.#running?.list() ?? [];
  }

  /** One for each that should run and does not. */
  get findings(): readonly Finding[] {
    return this.list().flatMap(({ name, state, detail }) =>
      state === 'failed'
        ? [
            {
              id: 'agents.valid',
              ...failed(`The assistant "${name}" does not run: ${detail ?? 'its start failed'}`),
              facts: { agent: name },
            },
          ]
        : [],
    );
  }

  /** Says how they are made. Call it before the channels are made, which they share. */
  async prepare(ports: FurtherPorts): Promise<void> {
    this.#ports = ports;
    if (isWanted(ports)) this.#running = await ports.make();
  }

  /** Starts them; the connections are to be opened after that. */
  async open(channels: HostsChannels): Promise<void> {
    this.#channels = channels;
    await this.#running?.open(channels);
  }

  /** Takes up a changed configuration. */
  async update(): Promise<void> {
    if (this.#running !== null) return await this.#running.update();
    const ports = this.#ports;
    if (ports === null || this.#channels === null || !isWanted(ports)) return;
    this.#running = await ports.make();
    // From now on the connections are shared.
    await this.#channels.update(Object.keys(enabledChannels(ports.loaded())));
    await this.#running.open(this.#channels);
  }

  /** Begins to stop them, and to take no message for them. */
  stop(): void {
    this.#ports = null;
    this.#running?.stop();
  }

  /** Their next starts count as ones after a crash. */
  markCrashed(): void {
    this.#running?.markCrashed();
  }

  /** Resolves when they have stopped. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#running?.[Symbol.asyncDispose]();
  }
}

function isWanted({ loaded }: FurtherPorts): boolean {
  return Object.keys(loaded().config.agents).length > 0;
}
