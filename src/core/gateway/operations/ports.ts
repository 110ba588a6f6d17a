/** What HTTP lends the operations; each is null until it is served. */
export interface HttpSlot {
  /** Where it is served, e.g. `http://127.0.0.1:18790`. */
  address: string | null;
  /** Makes an address that logs a browser in once, within 10 minutes; null: no page is served. */
  newLink: (() => string | null) | null;
  /** The bytes of a file that was uploaded; undefined: there is none, or it is not kept any more. */
  upload: ((id: string) => Promise<Uint8Array | undefined>) | null;
  /** Tells every open page that something may be different now. */
  changed: ((what: string) => void) | null;
}
