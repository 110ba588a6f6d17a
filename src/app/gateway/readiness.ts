import type { App } from '../../core/app.ts';
import type { Readiness as Found } from '../../core/gateway/http/options.ts';
import { deadline, raceAbort } from '../../core/util/clock.ts';
import { errorMessage } from '../../core/util/errors.ts';
import { cleanHealth } from '../../core/assistant/channels.ts';

const JOURNAL_MS = 5_000;
/** A failed answer counts for so long, unless one succeeds. */
const FAILURE_MS = 600_000;
const OK = 'ok';

/** Finds out whether all that an answer needs works. */
export class Readiness implements Disposable {
  readonly #app: App;
  readonly #listening: Disposable;
  /** When the newest answer of a model failed; undefined: it did not. */
  #failedAt: number | undefined;

  constructor(app: App) {
    this.#app = app;
    this.#listening = app.bus.listen((event) => {
      if (event.type !== 'turn-end') return;
      const { outcome } = event.result;
      if (outcome === 'failed') this.#failedAt = app.clock.monotonic();
      if (outcome === 'answered') this.#failedAt = undefined;
    });
  }

  async look(): Promise<Found> {
    const { clock, storage } = this.#app;
    const channels = Object.fromEntries(
      Object.entries(cleanHealth(this.#app)).map(([name, { state, detail }]) => [
        name,
        state === 'running' ? OK : (detail ?? state),
      ]),
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
    const { clock, journal } = this.#app;
    using limit = deadline(clock, JOURNAL_MS, 'A commit');
    try {
      await raceAbort(journal.answers(), limit.signal);
      return OK;
    } catch (error) {
      return errorMessage(error);
    }
  }
}
