import type { Setting } from './save.ts';

/** What is to be written, and the words that are said in the chat afterwards. */
export interface ReadyChannel {
  readonly settings: readonly Setting[];
  /** Rejects never; false: the words did not arrive. */
  readonly greet: (words: string) => Promise<boolean>;
}
