import { FakeAssistant } from '../gateway/fake-assistant.ts';

/** An assistant whose connection a test can cut. */
export class Cut extends FakeAssistant {
  readonly #lost = Promise.withResolvers<void>();
  readonly lost = this.#lost.promise;

  cut(): void {
    this.#lost.resolve();
  }
}
