import { createInterface, type Interface } from 'node:readline';
import type { CliContext } from '../../core/api-cli.ts';
import {
  type ApprovalQuestion,
  type AttachedMessage,
  type OutboundEvent,
  type TurnSummary,
  lookOf,
} from '../../core/api-terminal.ts';
import { ScreenTranscript } from './transcript.ts';
import type { ChatActions, ChatView } from './view.ts';

const DEFAULT_COLUMNS = 80;

/** A conversation in lines that are printed once, without a control sequence: for screen readers and simple terminals. */
export class PlainView implements ChatView {
  readonly #context: CliContext;
  readonly #transcript: ScreenTranscript;
  readonly #lines: Interface;
  #prompt = '';
  /** The prompt stands at the end of the screen. */
  #isAsking = false;
  readonly isEmpty = true;

  constructor(context: CliContext, actions: ChatActions) {
    this.#context = context;
    const columns = context.stdout.columns ?? DEFAULT_COLUMNS;
    this.#transcript = new ScreenTranscript(() => lookOf(context.env, { columns, plain: true }), context.clock);
    this.#lines = createInterface({ input: context.stdin, terminal: false });
    this.#lines.on('line', (line) => {
      this.#isAsking = false;
      actions.submit(line);
    });
    this.#lines.once('close', actions.end);
  }

  prompt(text: string, isQuestion: boolean): void {
    this.#prompt = text;
    this.#transcript.activity.asking(isQuestion);
    if (isQuestion || !this.#transcript.activity.isBusy) this.#ask();
  }

  begin(): void {
    this.#transcript.begin();
  }

  end(): void {
    this.#print(this.#transcript.endText());
    this.#transcript.activity.end();
    this.#ask();
  }

  event(event: OutboundEvent): void {
    this.#print(this.#transcript.event(event));
    // Nothing moves on such a screen, so what takes its time is announced.
    if (event.type === 'tool-start') this.#print(this.#transcript.note(`· ${event.title}`));
  }

  message(message: Pick<AttachedMessage, 'text' | 'from' | 'turnId'>): void {
    this.#aside(this.#transcript.message(message));
  }

  question(question: ApprovalQuestion): void {
    this.#print(this.#transcript.question(question));
  }

  summary(summary: Pick<TurnSummary, 'text'>): void {
    this.#print(this.#transcript.summary(summary));
  }

  connection(text: string, isConnected: boolean): void {
    this.#transcript.activity.isConnected = isConnected;
    this.note(text);
  }

  note(text: string): void {
    this.#aside(this.#transcript.note(text));
  }

  lines(text: string): void {
    this.#aside(this.#transcript.lines(text));
  }

  clear(): void {}

  restore(text: string): void {
    this.#aside([`Not sent: ${text}`]);
  }

  [Symbol.dispose](): void {
    this.#lines.close();
    if (this.#isAsking) this.#context.stdout.write('\n');
  }

  /** Prints while a person may be asked for input, and asks again. */
  #aside(lines: readonly string[]): void {
    const wasAsking = this.#isAsking;
    this.#print(lines);
    if (wasAsking) this.#ask();
  }

  #print(lines: readonly string[]): void {
    if (lines.length === 0) return;
    if (this.#isAsking) this.#context.stdout.write('\n');
    this.#isAsking = false;
    this.#context.stdout.write(`${lines.join('\n')}\n`);
  }

  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#context.stdout.write(this.#prompt);
  }
}
