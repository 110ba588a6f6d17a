import { runsHome, type StoredHome } from '../../host/homes/stored-home.ts';
import { classifyFailure } from '../storage/storage-failure.ts';
import { storageSentence, type StorageState } from '../storage/storage-health.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import type { Ground } from '../assistant/base.ts';
import type { AssistantSettings } from '../library/assistant.ts';
import { openWhileWaiting } from './while-waiting.ts';

/**
 * A gateway that waits: for its home, which another one runs, or for PostgreSQL, which cannot be reached. /health, the control
 * socket and systemd say so until it goes on.
 */
export class Standby implements AsyncDisposable {
  readonly #base: Ground;
  readonly #settings: Pick<AssistantSettings, 'port' | 'onWaiting'>;
  #sentence = '';
  /** PostgreSQL, while nothing is known of the home; null: another gateway runs it. */
  #away: StorageState | null = null;
  #open: AsyncDisposable | undefined;

  constructor(base: Ground, settings: Pick<AssistantSettings, 'port' | 'onWaiting'>) {
    this.#base = base;
    this.#settings = settings;
  }

  /** Call it with each attempt to claim the home that was in vain. Throws `home-elsewhere` where nobody could wait: not in a gateway. */
  async waits(home: StoredHome, newest: number): Promise<void> {
    const sentence = sentenceOf(home, newest);
    if (!this.#base.serving) throw new AppError('home-elsewhere', `${sentence} ${INSTEAD}`);
    this.#away = null;
    await this.#says(`${sentence} ${NEXT}`);
  }

  /** Call it when PostgreSQL cannot be reached any more while it waits for the home. */
  unreachable(error: AppError): void {
    if (this.#open === undefined) return;
    const reason = error.message.replace(/\.$/u, '');
    void this.#says(`Another gateway ran the home when this one last knew. ${reason}. ${NEXT}`);
  }

  /** Call it when a start failed. True: it waits for PostgreSQL, and can be tried again. */
  async isAway(error: unknown): Promise<boolean> {
    const { serving, clock, log, paths } = this.#base;
    if (!serving || classifyFailure(error) !== 'no-database') return false;
    const reason = errorMessage(error);
    if (this.#away === null) log.error(WAITS, { reason });
    this.#away = { state: 'no-database', since: this.#away?.since ?? clock.now(), reason };
    await this.#says(`${storageSentence(this.#away, paths.home) ?? ''} ${BY_ITSELF}`);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.[Symbol.asyncDispose]();
    this.#open = undefined;
  }

  async #says(sentence: string): Promise<void> {
    if (sentence === this.#sentence) return;
    this.#sentence = sentence;
    this.#open ??= await openWhileWaiting(this.#base, {
      what: 'the home',
      code: 'home-elsewhere',
      sentence: () => this.#sentence,
      isStandby: () => this.#away === null,
      storage: () => this.#away ?? this.#base.storage.state,
      hasLock: () => true,
      port: this.#settings.port,
    });
    this.#settings.onWaiting?.(sentence);
  }
}

/** The log says it once for each outage that a start waits through. */
export const WAITS = 'homes: waits until the database answers';
const NEXT = 'This one waits, and takes over by itself when the home is free.';
const BY_ITSELF = 'The assistant continues its start by itself as soon as the database answers.';
const INSTEAD = 'Talk to the assistant there, or in its chats.';

function sentenceOf(home: StoredHome, newest: number): string {
  if (home.oldestReader > newest)
    return `The home ${home.name} was written by a newer version, which this one cannot read: upgrade it here too.`;
  return runsHome(home);
}
