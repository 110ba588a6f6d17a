import type { Writable } from 'node:stream';
import type { AttachedMessage, OutboundEvent, TurnSummary } from '../gateway/assistant-port.ts';
import { oneLine } from '../util/text.ts';
import { indented, terminalText } from './format.ts';

const MOST_SHOWN = 50;

/**
 * Shows a conversation as it happens: text while it streams, tools as dim lines, then durable messages, of which those
 * that were streamed already are not shown again.
 */
export class Screen {
  readonly #out: Writable;
  readonly #color: boolean;
  /** What of the current text stands on the screen. */
  #streamed = '';
  #midLine = false;
  #shown: string[] = [];

  constructor(out: Writable, options: { readonly color: boolean }) {
    this.#out = out;
    this.#color = options.color;
  }

  event(event: OutboundEvent): void {
    switch (event.type) {
      case 'text':
        this.#stream(event.text);
        return;
      case 'tool-start':
        this.note(`· ${event.title}`);
        return;
      case 'tool-end':
        if (event.isError)
          this.note(`✗ ${event.refused === undefined ? event.title : `${event.title}: ${event.refused}`}`);
        return;
      case 'status':
        this.note(event.text);
        return;
      case 'reasoning':
      case 'typing':
      case 'turn-end':
    }
  }

  /** A message that arrived for this session. */
  message({ text }: Pick<AttachedMessage, 'text'>): void {
    const whole = text.trim();
    const begun = this.#streamed.trim();
    if (begun !== '' && whole.startsWith(begun)) {
      this.#write(whole.slice(begun.length));
      this.#streamed = whole;
      this.endText();
    } else if (!this.wasShown(whole)) {
      this.endText();
      this.#write(`${whole}\n`);
      this.#remember(whole);
    }
  }

  /** How a turn ended: shows what was not shown on the way. */
  summary({ text }: TurnSummary): void {
    if (text.trim() === '') this.endText();
    else this.message({ text });
  }

  /** One dim line. */
  note(text: string): void {
    this.endText();
    const line = indented(oneLine(terminalText(text), 200), '  ');
    this.#out.write(this.#color ? `\u001B[2m${line}\u001B[22m\n` : `${line}\n`);
  }

  line(text: string): void {
    this.endText();
    this.#out.write(`${text}\n`);
  }

  /** Ends a text that was streamed, on a line of its own. */
  endText(): void {
    if (this.#streamed.trim() !== '') this.#remember(this.#streamed.trim());
    this.#streamed = '';
    if (this.#midLine) this.#write('\n');
  }

  wasShown(text: string): boolean {
    return this.#shown.includes(text.trim());
  }

  /** A new exchange begins: the same answer again is news. */
  forget(): void {
    this.#shown = [];
  }

  #stream(text: string): void {
    if (!text.startsWith(this.#streamed)) this.endText();
    this.#write(text.slice(this.#streamed.length));
    this.#streamed = text;
  }

  #remember(text: string): void {
    this.#shown = [...this.#shown, text].slice(-MOST_SHOWN);
  }

  #write(text: string): void {
    const clean = terminalText(text);
    if (clean === '') return;
    this.#out.write(clean);
    this.#midLine = !clean.endsWith('\n');
  }
}
