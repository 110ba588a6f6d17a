import type { Channel, ChannelState } from './channel.ts';

/**
 * A channel that sends nothing anywhere: a message to it stays in the journal, where those who want it read it, and counts
 * as delivered at once.
 */
export class KeptChannel implements Channel {
  readonly name: string;
  readonly kind: string;
  readonly capabilities = {
    maxLength: Number.MAX_SAFE_INTEGER,
    edit: false,
    typing: false,
    buttons: false,
    threads: false,
    media: true,
    reactions: false,
    drafts: false,
  };
  #state: ChannelState = 'stopped';

  constructor(name: string) {
    this.name = name;
    this.kind = name;
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
