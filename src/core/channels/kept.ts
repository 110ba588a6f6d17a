import { SendError, type Channel, type ChannelState } from './channel.ts';

interface KeptOptions {
  /** Its questions have buttons. @default false */
  readonly buttons?: boolean;
  /** Reads a file of a message by `Media.source`; undefined: it is gone. @default messages have no such files */
  readonly read?: (source: string) => Promise<Uint8Array | undefined>;
}

/**
 * A channel that sends nothing anywhere: a message to it stays in the journal, where those who want it read it, and counts
 * as delivered at once.
 */
export class KeptChannel implements Channel {
  readonly name: string;
  readonly kind: string;
  readonly capabilities: Channel['capabilities'];
  readonly download?: NonNullable<Channel['download']>;
  #state: ChannelState = 'stopped';

  constructor(name: string, { buttons = false, read }: KeptOptions = {}) {
    this.name = name;
    this.kind = name;
    this.capabilities = {
      maxLength: Number.MAX_SAFE_INTEGER,
      edit: false,
      typing: false,
      buttons,
      threads: false,
      media: true,
      reactions: false,
      drafts: false,
    };
    if (read === undefined) return;
    this.download = async (source, { maxBytes }) => {
      const bytes = await read(source);
      if (bytes === undefined) throw new SendError('permanent', 'the file is not kept any more');
      if (bytes.byteLength > maxBytes) throw new SendError('permanent', 'the file is too large');
      return bytes;
    };
  }

  async start(): Promise<AsyncDisposable> {
    this.#state = 'running';
    return {
      [Symbol.asyncDispose]: async () => {
        this.#state = 'stopped';
      },
    };
  }

  render(markdown: string): readonly string[] {
    return markdown.trim() === '' ? [] : [markdown];
  }

  plain(text: string): readonly string[] {
    return this.render(text);
  }

  async send({ nonce }: { readonly nonce: string }): Promise<{ readonly platformId: string }> {
    return { platformId: nonce };
  }

  health(): { readonly state: ChannelState } {
    return { state: this.#state };
  }
}
