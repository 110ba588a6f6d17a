import type { MessageBus } from '../../bus/bus.ts';
import type { HealthFacts } from '../../gateway/operations/health.ts';
import type { Clock } from '../../util/clock.ts';
import { oneLine } from '../../util/text.ts';

const LONGEST_DETAIL = 300;

type Result = HealthFacts['providers'][number];

export interface ProviderResultsPorts {
  readonly bus: Pick<MessageBus, 'listen'>;
  readonly clock: Clock;
  /** Names of the providers that may be called now; the first one answers where no other was chosen. */
  readonly names: () => readonly string[];
  readonly redact: (text: string) => string;
}

/** How the newest turn of each model provider ended. */
export class ProviderResults implements Disposable {
  readonly #ports: ProviderResultsPorts;
  readonly #listening: Disposable;
  readonly #results = new Map<string, Result>();

  constructor(ports: ProviderResultsPorts) {
    this.#ports = ports;
    const { bus, clock, names, redact } = ports;
    this.#listening = bus.listen((event) => {
      if (event.type !== 'turn-end') return;
      const { outcome, text, model } = event.result;
      if (outcome !== 'answered' && outcome !== 'failed') return;
      const name = model?.split('/')[0] ?? names()[0];
      if (name === undefined) return;
      const detail = outcome === 'failed' ? oneLine(redact(text), LONGEST_DETAIL) : null;
      this.#results.set(name, { name, state: outcome === 'failed' ? 'failed' : 'ok', detail, at: clock.now() });
    });
  }

  /** Those that may be called now. */
  list(): readonly Result[] {
    const names = [...new Set(this.#ports.names())];
    return names.map((name) => this.#results.get(name) ?? { name, state: 'unknown', detail: null, at: null });
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }
}
