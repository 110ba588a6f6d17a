/** What HTTP lends the operations while it is served. */
export interface HttpPorts {
  /** A new link to the page that lets in whoever opens it, once. */
  readonly pageLink: () => PageLink;
  /** The bytes of a file that was uploaded; undefined: there is none, or it is not kept any more. */
  readonly upload: (id: string) => Promise<Uint8Array | undefined>;
}

export interface PageLink {
  readonly url: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The place where HTTP puts its ports once it is served. */
export interface HttpSlot {
  ports: HttpPorts | null;
}
