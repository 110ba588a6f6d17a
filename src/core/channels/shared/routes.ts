/** What a further assistant answers: a channel, or one chat of it with its threads. */
export interface Route {
  /** The name of the assistant. */
  readonly assistant: string;
  readonly channel: string;
  /** Null: every chat that no other route names. */
  readonly chatId: string | null;
}

/** Finds the assistant of a chat. A route that names the chat wins over one of its whole channel. */
export class Routes {
  readonly #byPlace: ReadonlyMap<string, string>;

  constructor(routes: readonly Route[]) {
    this.#byPlace = new Map(routes.map(({ assistant, channel, chatId }) => [placeOf(channel, chatId), assistant]));
  }

  /** The name of the assistant that answers a chat; null: the main one. */
  ownerOf(channel: string, chatId: string): string | null {
    return this.#byPlace.get(placeOf(channel, chatId)) ?? this.#byPlace.get(placeOf(channel, null)) ?? null;
  }
}

function placeOf(channel: string, chatId: string | null): string {
  return JSON.stringify([channel, chatId]);
}
