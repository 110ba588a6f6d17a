import type { StoredHome } from '../../homes/stored-home.ts';
import { AppError } from '../../util/errors.ts';
import type { Ground } from '../base.ts';
import { openWhileWaiting } from './while-waiting.ts';

export interface StandbyPorts {
  /** HTTP port instead of the configured one. */
  readonly port?: number;
  /** Told, in sentences for a person, what the start waits for: at first, and when that changes. */
  readonly onWaiting?: (sentence: string) => void;
}

/** A gateway whose home another one runs: /health, the control socket and systemd say so until it is claimed. */
export class Standby implements AsyncDisposable {
  readonly #base: Ground;
  readonly #ports: StandbyPorts;
  #sentence: string | null = null;
  #open: AsyncDisposable | undefined;

  constructor(base: Ground, ports: StandbyPorts) {
    this.#base = base;
    this.#ports = ports;
  }

  /** Call it with each attempt to claim the home that was in vain. Throws `home-elsewhere` where nobody could wait: not in a gateway. */
  async waits(home: StoredHome, newest: number): Promise<void> {
    const sentence = sentenceOf(home, newest);
    if (!this.#base.serving) throw new AppError('home-elsewhere', `${sentence} ${INSTEAD}`);
    if (sentence === this.#sentence) return;
    this.#sentence = sentence;
    this.#open ??= await openWhileWaiting(this.#base, {
      what: 'the home',
      code: 'home-elsewhere',
      sentence: () => `${this.#sentence ?? ''} ${NEXT}`,
      isStandby: true,
      hasLock: () => true,
      port: this.#ports.port,
    });
    this.#ports.onWaiting?.(`${sentence} ${NEXT}`);
  }

  /** Call it when PostgreSQL cannot be reached any more while it waits. */
  unreachable(error: AppError): void {
    if (this.#open === undefined) return;
    this.#sentence = `Another gateway ran the home when this one last knew. ${error.message.replace(/\.$/u, '')}.`;
    this.#ports.onWaiting?.(`${this.#sentence} ${NEXT}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.[Symbol.asyncDispose]();
    this.#open = undefined;
  }
}

const NEXT = 'This one waits, and takes over by itself when the home is free.';
const INSTEAD = 'Talk to the assistant there, or in its chats.';

function sentenceOf({ name, gateway, oldestReader }: StoredHome, newest: number): string {
  if (oldestReader > newest)
    return `The home ${name} was written by a newer version, which this one cannot read: upgrade it here too.`;
  return `Another gateway${gateway === null ? '' : ` (${gateway})`} runs the home ${name}.`;
}
