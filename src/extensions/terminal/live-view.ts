import type { CliContext } from '../../core/api-cli.ts';
import {
  paint,
  wrapWords,
  type TerminalLook,
  type ApprovalQuestion,
  type AttachedMessage,
  type OutboundEvent,
  type TurnSummary,
  lookOf,
} from '../../core/api-terminal.ts';
import type { CompletionPorts } from './completion.ts';
import { Frame } from './frame.ts';
import type { InputHistory } from './history.ts';
import { inputRows } from './input-rows.ts';
import { Keyboard } from './keyboard.ts';
import { ScreenTranscript } from './transcript.ts';
import type { ChatActions, ChatView } from './view.ts';

/** Events that come quickly are drawn together. */
const DRAW_MS = 30;
const SPIN_MS = 100;
/** A process that could not be stopped has its terminal back after this time. */
const STOPPED_MS = 50;
const MOST_CANDIDATE_ROWS = 5;
const PASTE_ON = '\u001B[?2004h';
const PASTE_OFF = '\u001B[?2004l';

export interface LiveViewParts {
  readonly history: InputHistory;
  readonly completion: CompletionPorts;
  readonly actions: ChatActions;
}

/** A conversation on a terminal: finished lines scroll up, below them stand what is under way and the input. */
export class LiveView implements ChatView {
  readonly #context: CliContext;
  readonly #frame: Frame;
  readonly #transcript: ScreenTranscript;
  readonly #keyboard: Keyboard;
  readonly #actions: ChatActions;
  readonly #continuing: Disposable;
  #prompt = '';
  #isQuestion = false;
  /** Finished lines that are not on the screen yet. */
  #printed: string[] = [];
  #drawing: Disposable | undefined;
  #spinning: Disposable | undefined;
  #isClosed = false;
  #isSuspended = false;
  /** How long the last drawing took. */
  #drawnInMs = 0;

  constructor(context: CliContext, { history, completion, actions }: LiveViewParts) {
    this.#context = context;
    this.#actions = actions;
    this.#frame = new Frame(context.stdout);
    this.#transcript = new ScreenTranscript(() => this.#look(), context.clock);
    this.#keyboard = new Keyboard(context.stdin, {
      clock: context.clock,
      history,
      completion,
      submit: (text, shown) => this.#submit(text, shown),
      interrupt: actions.interrupt,
      suspend: () => this.#suspend(),
      clearScreen: () => this.#clearScreen(),
      end: actions.end,
      changed: () => this.#draw(),
    });
    context.stdout.write(PASTE_ON);
    context.stdout.on('resize', this.#onResize);
    this.#continuing = context.onContinue(() => this.#continue());
  }

  get isEmpty(): boolean {
    return this.#keyboard.isEmpty;
  }

  prompt(text: string, isQuestion: boolean): void {
    if (isQuestion && !this.#isQuestion) this.#keyboard.putAside();
    if (!isQuestion && this.#isQuestion) this.#keyboard.resume();
    this.#prompt = text;
    this.#isQuestion = isQuestion;
    this.#transcript.activity.asking(isQuestion);
    this.#draw();
  }

  begin(): void {
    this.#transcript.begin();
    this.#spin();
  }

  end(): void {
    this.#print(this.#transcript.endText());
    this.#transcript.activity.end();
    this.#draw();
  }

  event(event: OutboundEvent): void {
    this.#print(this.#transcript.event(event));
    this.#drawSoon();
  }

  question(question: ApprovalQuestion): void {
    const lines = this.#transcript.question(question);
    this.#print(['', ...lines]);
    this.#draw();
  }

  message(message: Pick<AttachedMessage, 'text' | 'from' | 'turnId'>): void {
    // One that comes by itself stands apart from what was said before.
    const isApart = !this.#transcript.activity.isBusy;
    const lines = this.#transcript.message(message);
    this.#print(lines.length > 0 && isApart ? ['', ...lines] : lines);
    this.#draw();
  }

  summary(summary: Pick<TurnSummary, 'text'>): void {
    this.#print(this.#transcript.summary(summary));
    this.#draw();
  }

  connection(text: string, isConnected: boolean): void {
    this.#transcript.activity.isConnected = isConnected;
    this.note(text);
  }

  note(text: string): void {
    this.#print(this.#transcript.note(text));
    this.#draw();
  }

  lines(text: string): void {
    this.#print(this.#transcript.lines(text));
    this.#draw();
  }

  clear(): void {
    this.#keyboard.clear();
  }

  restore(text: string): void {
    this.#keyboard.restore(text);
    this.#draw();
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#draw();
    this.#isClosed = true;
    this.#drawing?.[Symbol.dispose]();
    this.#spinning?.[Symbol.dispose]();
    this.#continuing[Symbol.dispose]();
    this.#context.stdout.off('resize', this.#onResize);
    this.#keyboard[Symbol.dispose]();
    this.#frame.clear();
    this.#context.stdout.write(PASTE_OFF);
  }

  readonly #onResize = (): void => {
    this.#frame.resized();
    this.#draw();
  };

  #suspend(): void {
    this.#frame.clear();
    this.#context.stdout.write(PASTE_OFF);
    this.#keyboard.release();
    this.#isSuspended = true;
    this.#context.suspend();
    this.#continueIn(2);
  }

  /** When a stopped process goes on, a timer that has run out comes before the signal: only the second one counts. */
  #continueIn(timers: number): void {
    this.#context.clock.timer(STOPPED_MS, () => {
      if (!this.#isSuspended) return;
      if (timers > 1) this.#continueIn(timers - 1);
      else this.#continue();
    });
  }

  #continue(): void {
    if (this.#isClosed) return;
    this.#isSuspended = false;
    this.#keyboard.seize();
    this.#context.stdout.write(PASTE_ON);
    this.#frame.forget();
    this.#draw();
  }

  #clearScreen(): void {
    this.#frame.clearScreen();
    this.#draw();
  }

  /** What was typed stays as a line of the conversation. */
  #submit(text: string, shown: string): void {
    if (text.trim() === '' && !this.#isQuestion) return;
    const { rows } = this.#input(Number.MAX_SAFE_INTEGER, shown.trimEnd());
    this.#print([...(this.#isQuestion ? [] : ['']), ...rows]);
    this.#actions.submit(text);
    this.#draw();
  }

  #print(lines: readonly string[]): void {
    this.#printed.push(...lines);
  }

  #drawSoon(): void {
    // Text that takes long to draw is drawn less often, so that most of the time is left for the rest.
    const waitMs = Math.max(DRAW_MS, 4 * this.#drawnInMs);
    this.#drawing ??= this.#context.clock.timer(waitMs, () => this.#draw());
  }

  #spin(): void {
    this.#spinning ??= this.#context.clock.timer(SPIN_MS, () => {
      this.#spinning = undefined;
      if (!this.#transcript.activity.isBusy) return;
      this.#draw();
      this.#spin();
    });
  }

  #draw(): void {
    this.#drawing?.[Symbol.dispose]();
    this.#drawing = undefined;
    if (this.#isClosed || this.#isSuspended) return;
    const begun = this.#context.clock.monotonic();
    const height = this.#frame.height - 1;
    const input = this.#input(Math.max(1, Math.floor(height / 2)));
    // While a person is asked, it is they who are waited for.
    const activity = this.#isQuestion ? [] : this.#transcript.activity.rows(this.#look());
    const candidates = this.#candidates();
    const space = Math.max(0, height - input.rows.length - 1);
    const gap = this.#isQuestion ? [] : [''];
    const below = [...activity, ...gap, ...candidates].slice(0, space);
    const { finished, rows } = this.#transcript.answer.open(Math.max(0, space - below.length));
    this.#print(finished);
    const above = [...rows, ...below];
    const printed = this.#printed;
    this.#printed = [];
    const { row, column } = input.cursor;
    this.#frame.draw(printed, [...above, ...input.rows], { row: above.length + row, column });
    this.#drawnInMs = this.#context.clock.monotonic() - begun;
  }

  #input(most: number, text?: string): ReturnType<typeof inputRows> {
    const { query } = this.#keyboard;
    const { shown } = this.#keyboard;
    const isSent = text !== undefined;
    const prompt = query === undefined ? this.#prompt : `history: ${query} › `;
    const input = inputRows(
      { prompt, text: isSent ? text : shown.text, cursor: isSent ? 0 : shown.cursor },
      { width: this.#frame.columns, most },
    );
    const look = this.#look();
    const painted = paint([{ text: prompt, tone: 'prompt', bold: true }], look);
    const rows = input.rows.map((row, at) =>
      at === 0 && row.startsWith(prompt) ? painted + row.slice(prompt.length) : row,
    );
    return { rows, cursor: input.cursor };
  }

  #candidates(): readonly string[] {
    const { candidates } = this.#keyboard;
    if (candidates.length === 0) return [];
    const look = this.#look();
    const text = look.clean(candidates.join('  '));
    const rows = wrapWords([{ text, dim: true }], look.width - 2).slice(0, MOST_CANDIDATE_ROWS);
    return rows.map((row) => paint([{ text: '  ' }, ...row], look));
  }

  #look(): TerminalLook {
    return lookOf(this.#context.env, { columns: this.#frame.columns, plain: false });
  }
}
