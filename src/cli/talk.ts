import { clearLine, createInterface, cursorTo, type Interface } from 'node:readline';
import { wantsColor } from '../config/environment.ts';
import type { ApprovalQuestion, ApprovalReply, AssistantPort } from '../gateway/assistant-port.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import type { CliContext } from './context.ts';
import { indented, terminalText, escapeInvisible } from './format.ts';
import type { ConnectionWatcher } from './reconnect.ts';
import { Screen } from './screen.ts';

const PROMPT = 'you › ';
const QUESTION_PROMPT = 'Allow it? [y/N] ';
const ALWAYS_PROMPT = 'Allow it? [y/N/always] ';

export interface TalkOptions {
  readonly assistant: AssistantPort;
  readonly session: string;
  readonly model?: string | undefined;
  /** Go with the first message. */
  readonly images?: readonly string[];
  /** Tells what becomes of the connection to the assistant. @default it is in this process */
  readonly watch?: (watcher: ConnectionWatcher) => void;
  /** Called at /setup, which ends the conversation. */
  readonly onSetup: () => void;
  /** Aborting it ends the conversation. */
  readonly signal?: AbortSignal;
}

/** A conversation in this terminal until Ctrl-D, or Ctrl-C at an empty prompt. Returns the exit code. */
export async function talk(context: CliContext, options: TalkOptions): Promise<number> {
  const conversation = new Conversation(context, options);
  return conversation.run();
}

interface OpenQuestion {
  readonly question: ApprovalQuestion;
  readonly answer: (reply: ApprovalReply) => void;
}

class Conversation {
  readonly #context: CliContext;
  readonly #options: TalkOptions;
  readonly #screen: Screen;
  readonly #lines: Interface;
  readonly #running = new Map<Promise<void>, AbortController>();
  /** The first is on the screen. */
  #questions: OpenQuestion[] = [];
  #images: readonly string[];
  #code = 0;
  #isClosed = false;

  constructor(context: CliContext, options: TalkOptions) {
    this.#context = context;
    this.#options = options;
    this.#images = options.images ?? [];
    this.#screen = new Screen(context.stdout, { color: wantsColor(context.env) });
    this.#lines = createInterface({ input: context.stdin, output: context.stdout, terminal: true, prompt: PROMPT });
  }

  async run(): Promise<number> {
    const { assistant, session, signal } = this.#options;
    const closed = new Promise<void>((resolve) => {
      this.#lines.once('close', () => {
        this.#isClosed = true;
        resolve();
      });
    });
    const onAbort = (): void => this.#lines.close();
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#lines.on('line', (line) => this.#line(line));
    this.#lines.on('SIGINT', () => this.#interrupt());
    this.#options.watch?.({
      news: (text) => this.#aside(() => this.#screen.note(text)),
      over: (text) => {
        this.#aside(() => this.#screen.line(text));
        this.#giveUp();
      },
    });
    {
      using _attached = assistant.attach(session, (message) => this.#aside(() => this.#screen.message(message)));
      this.#prompt();
      await closed;
      this.#stopTurns();
      await Promise.all(this.#running.keys());
    }
    signal?.removeEventListener('abort', onAbort);
    this.#context.stdout.write('\n');
    return this.#code;
  }

  #line(line: string): void {
    const text = line.trim();
    const open = this.#questions[0];
    if (text === '/exit' || text === '/quit') this.#lines.close();
    else if (text === '/setup') this.#setUp();
    else if (open !== undefined && !isCommand(text)) this.#answer(open, text);
    else if (text === '') this.#prompt();
    else this.#send(text);
  }

  #setUp(): void {
    this.#options.onSetup();
    this.#lines.close();
  }

  /** Only yes, no and always are answers; anything else but a command is a no, and says why. */
  #answer(open: OpenQuestion, text: string): void {
    const reply = replyIn(text, open.question);
    if (typeof reply === 'object') this.#screen.line('Not allowed: I took your message as the answer.');
    open.answer(reply);
  }

  #send(text: string): void {
    const { assistant, session, model } = this.#options;
    const controller = new AbortController();
    if (this.#running.size === 0) this.#screen.forget();
    const images = this.#images;
    this.#images = [];
    const turn = Promise.resolve()
      .then(() =>
        assistant.send(
          { session, text, ...(model === undefined ? {} : { model }), ...(images.length === 0 ? {} : { images }) },
          {
            signal: controller.signal,
            onEvent: (event) => this.#screen.event(event),
            onApproval: (question, signal) => this.#ask(question, signal),
          },
        ),
      )
      .then(
        (summary) => this.#screen.summary(summary),
        (error: unknown) => this.#failed(error),
      )
      .finally(() => {
        this.#running.delete(turn);
        // A command that ran beside a question leaves it open.
        if (this.#running.size === 0 || this.#questions.length > 0) this.#prompt();
      });
    this.#running.set(turn, controller);
  }

  #failed(error: unknown): void {
    this.#screen.line(terminalText(errorMessage(error)));
    if (error instanceof AppError && error.code === 'connection-lost') this.#giveUp();
  }

  #giveUp(): void {
    this.#code = 1;
    this.#lines.close();
  }

  #ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalReply> {
    return new Promise((resolve) => {
      const settle = (reply: ApprovalReply): void => {
        signal.removeEventListener('abort', onAbort);
        this.#questions = this.#questions.filter((other) => other !== open);
        resolve(reply);
        if (this.#questions.length > 0) this.#showQuestion();
      };
      const onAbort = (): void => {
        this.#screen.note('no answer is needed any more');
        settle(false);
      };
      const open: OpenQuestion = { question, answer: settle };
      this.#questions.push(open);
      signal.addEventListener('abort', onAbort, { once: true });
      if (this.#questions.length === 1) this.#showQuestion();
    });
  }

  #showQuestion(): void {
    const open = this.#questions[0];
    if (open === undefined) return;
    const { title, reason, detail } = open.question;
    this.#screen.line(`${escapeInvisible(title)}: ${escapeInvisible(reason)}`);
    this.#screen.line(indented(escapeInvisible(detail), '  │ '));
    this.#prompt();
  }

  /** Ctrl-C: no to a question, stop to a turn, away with a half-written line, else the end. */
  #interrupt(): void {
    if (this.#running.size > 0) {
      this.#screen.note('stopping');
      for (const open of this.#questions) open.answer(false);
      this.#stopTurns();
    } else if (this.#lines.line === '') {
      this.#lines.close();
    } else {
      this.#lines.write(null, { ctrl: true, name: 'e' });
      this.#lines.write(null, { ctrl: true, name: 'u' });
    }
  }

  #stopTurns(): void {
    for (const controller of this.#running.values()) controller.abort(new DOMException('stopped', 'AbortError'));
  }

  /** Shows something while the prompt may be waiting. */
  #aside(show: () => void): void {
    const waiting = this.#running.size === 0;
    if (waiting) {
      cursorTo(this.#context.stdout, 0);
      clearLine(this.#context.stdout, 0);
    }
    show();
    if (waiting) this.#prompt();
  }

  #prompt(): void {
    if (this.#isClosed) return;
    const open = this.#questions[0];
    const asking = open?.question.always === undefined ? QUESTION_PROMPT : ALWAYS_PROMPT;
    this.#lines.setPrompt(open === undefined ? PROMPT : asking);
    this.#lines.prompt(true);
  }
}

/** What the chats call one: `/status`, `,read_file notes.md`. */
function isCommand(text: string): boolean {
  return /^[/,]/u.test(text);
}

/** Anything but a yes is a no; words that are no answer say why. */
function replyIn(text: string, { always }: ApprovalQuestion): ApprovalReply {
  if (/^y(?:es)?$/iu.test(text)) return true;
  if (always !== undefined && /^a(?:lways)?$/iu.test(text)) return 'always';
  return /^(?:no?)?$/iu.test(text) ? false : { reason: text };
}
