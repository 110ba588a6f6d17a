import type { OneAtATime } from '../../core/agent/recovery/one-at-a-time.ts';
import type { HomeStore } from '../homes/home-store.ts';
import type { OpenHome, OpenHomeOptions } from '../homes/open-home.ts';
import type { Assistant, AssistantSettings } from '../../core/library/assistant.ts';
import type { ToldPeople } from '../../core/stores/storage-notices.ts';

export type WriteListeners = Pick<OpenHomeOptions, 'onTrouble' | 'onHealed'>;

/** A home that a gateway of many homes opened, with the lock of its folder, and closes after its assistant. */
export interface HomeCopy {
  readonly home: OpenHome;
  readonly store: HomeStore;
  /** Who hears when PostgreSQL takes no writes, and when it takes them again. */
  readonly onWrites: (listeners: WriteListeners) => void;
  /** Whom the homes of this process told of a database that is away. */
  readonly told: ToldPeople;
  /** Where turns of all homes of this process that may have ended an earlier one get their last attempt. */
  readonly suspects: OneAtATime;
  /** Told every secret of its configuration, for the log of the machine. */
  readonly learnSecrets: (secrets: readonly string[]) => void;
}

/** Starts the assistant of a home that is open. */
export type CreateAssistant = (settings: AssistantSettings, copy: HomeCopy) => Promise<Assistant>;
