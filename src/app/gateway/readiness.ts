import type { MessageBus } from '../../bus/bus.ts';
import type { ChannelHealth } from '../../channels/channel.ts';
import type { Readiness as Found } from '../../gateway/http/options.ts';
import type { Journal } from '../../journal/journal.ts';
import type { StorageHealth } from '../../storage/storage-health.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';

const JOURNAL_MS = 5_000;
/** A failed answer counts for so long, unless one succeeds. */
const FAILURE_MS = 600_000;
const OK = 'ok';

export interface ReadinessPorts {
  readonly bus: Pick<MessageBus, 'listen'>;
  readonly journal: Pick<Journal, 'answers'>;
  readonly health: () => Readonly<Record<string, ChannelHealth>>;
  readonly storage: Pick<StorageHealth, 'state'>;
  readonly clock: Clock;
}

/** Finds out whether all that an answer needs works. */
export class Readiness implements Disposable {
  readonly #ports: ReadinessPorts;
  readonly #listening: Disposable;
  /** When the newest answer of a model failed; undefined: it did not. */
  #failedAt: number | undefined;

  constructor(ports: ReadinessPorts) {
    this.#ports = ports;
    this.#listening = ports.bus.listen((event) => {
      if (event.type !== 'turn-end') return;
      const { outcome } = event.result;
      if (outcome === 'failed') this.#failedAt = ports.clock.monotonic();
      if (outcome === 'answered') this.#failedAt = undefined;
    });
  }

  async look(): Promise<Found> {
    const { clock, health, storage } = this.#ports;
    const channels = Object.fromEntries(
      Object.entries(health()).map(([name, { state, detail }]) => [name, state === 'running' ? OK : (detail ?? state)]),
    );
    const since = this.#failedAt === undefined ? undefined : clock.monotonic() - this.#failedAt;
    const provider =
      since === undefined || since > FAILURE_MS
        ? OK
        : `The newest message could not be answered, ${Math.round(since / 1000)} seconds ago.`;
    const disk = storage.state.state;
    const journal = await this.#journal();
    const ready = [...Object.values(channels), provider, journal, disk].every((part) => part === OK);
    return { ready, channels, provider, journal, disk };
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }

  async #journal(): Promise<string> {
    const { clock, journal } = this.#ports;
    using limit = deadline(clock, JOURNAL_MS, 'A commit');
    try {
      await raceAbort(journal.answers(), limit.signal);
      return OK;
    } catch (error) {
      return errorMessage(error);
    }
  }
}
