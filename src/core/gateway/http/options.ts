import type { ChannelHealth } from '../../channels/channel.ts';
import type { App } from '../../app.ts';
import type { StorageState } from '../../storage/storage-health.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/log.ts';
import type { OwnAssistant } from '../assistant-port.ts';
import type { Feed } from '../feed/feed.ts';
import type { PageFiles } from './assets.ts';
import type { ChatFiles } from './files.ts';
import type { ServedHistory } from './history.ts';

export interface HttpOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** As configured; null when the owner did not choose one. */
  readonly token: string | null;
  /** The address that a reverse proxy serves it under; null: there is none. */
  readonly publicUrl: string | null;
  readonly version: string;
  readonly channels: () => Readonly<Record<string, ChannelHealth>>;
  /** The home of the assistant, for what is said of its disk. */
  readonly home: string;
  readonly storage: () => StorageState;
  /** Which gateway runs the home while this one is ready to take it over, in sentences; null: this one runs it. @default null */
  readonly standby?: (() => string | null) | null;
  /** The homes of a machine's gateway by their state, and why those do not run that should; null: it is that of one home. @default null */
  readonly homes?: (() => HomesHealth) | null;
  readonly clock: Clock;
  readonly log: Logger;
  /** All that asks for a login; null while the start waits for its disk or its home: then only /health is served. */
  readonly inside: Inside | null;
}

export interface HomesHealth {
  /** No home is starting any more. */
  readonly ready: boolean;
  readonly counts: Readonly<Record<string, number>>;
  /** One sentence each, by the name of the home. */
  readonly failed: Readonly<Record<string, string>>;
}

/** What those who are logged in reach. */
export interface Inside {
  /** The token of this gateway, chosen or made. */
  readonly token: string;
  /** Loads the page; null: `gateway.ui` is off. */
  readonly page: (() => Promise<PageFiles>) | null;
  readonly ready: () => Promise<Readiness>;
  readonly app: App;
  readonly assistant: Pick<OwnAssistant, 'call' | 'operations'>;
  readonly files: ChatFiles;
  readonly history: ServedHistory;
  readonly feed: Feed;
}

/** Whether the assistant can do its work; each part says `ok`, or in one sentence why not. */
export interface Readiness {
  readonly ready: boolean;
  readonly channels: Readonly<Record<string, string>>;
  /** Of the model that answers. */
  readonly provider: string;
  readonly journal: string;
  readonly disk: string;
}
