/** Something that the server of a model has refused or said of itself, so that later requests respect it. */
export interface ModelFact {
  /** As `provider/model`. */
  readonly model: string;
  /** `window`, `server`, or the name of a row in the table of quirks. */
  readonly name: string;
  /** Tokens of the window; what tells this server and model from others; a quirk with its limit. */
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}
