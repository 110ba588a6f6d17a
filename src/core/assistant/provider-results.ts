import type { App } from '../app.ts';
import type { HealthFacts } from '../gateway/operations/health.ts';
import { oneLine } from '../util/text.ts';

const LONGEST_DETAIL = 300;

type Result = HealthFacts['providers'][number];

/** How the newest turn of each model provider ended. */
export class ProviderResults implements Disposable {
  readonly #app: App;
  readonly #listening: Disposable;
  readonly #results = new Map<string, Result>();

  constructor(app: App) {
    this.#app = app;
    const { clock, redact } = app;
    this.#listening = app.bus.listen((event) => {
      if (event.type !== 'turn-end') return;
      const { outcome, text, model } = event.result;
      if (outcome !== 'answered' && outcome !== 'failed') return;
      const name = model?.split('/')[0] ?? app.models.standard.providerName;
      const detail = outcome === 'failed' ? oneLine(redact(text), LONGEST_DETAIL) : null;
      this.#results.set(name, { name, state: outcome === 'failed' ? 'failed' : 'ok', detail, at: clock.now() });
    });
  }

  /** Those that may be called now. */
  list(): readonly Result[] {
    const { models, config } = this.#app;
    const names = [...new Set([models.standard.providerName, ...Object.keys(config.providers)])];
    return names.map((name) => this.#results.get(name) ?? { name, state: 'unknown', detail: null, at: null });
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }
}
