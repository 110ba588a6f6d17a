import { type CliContext, escapeInvisible, terminalText } from '../../core/api-cli.ts';
import {
  type ApprovalQuestion,
  type ApprovalReply,
  type AssistantPort,
  type AttachedMessage,
  isDumb,
  NotSentError,
  type ConnectionWatcher,
  type SendInput,
  type TurnSummary,
} from '../../core/api-terminal.ts';
import { AppError, errorMessage } from '../../core/api.ts';
import { shortHistory, type InputHistory } from './history.ts';
import { LiveView } from './live-view.ts';
import { PlainView } from './plain-view.ts';
import type { ChatActions, ChatView } from './view.ts';

const PROMPT = 'you › ';
const QUESTION_PROMPT = 'Allow it? [y/N] ';
const ALWAYS_PROMPT = 'Allow it? [y/N/always] ';
/** Ctrl-C twice within this time ends the conversation. */
const TWICE_MS = 2_000;

/** Commands that the terminal itself carries out. */
const OWN_COMMANDS = ['exit', 'quit', 'setup'];

/** Behind what /help says. */
const HELP = `In this terminal:
- /exit, Ctrl-D or Ctrl-C twice end the conversation; Ctrl-C once stops a turn
- Alt-Enter, Ctrl-J or a \\ at the end of a line begin a new line; several pasted lines are one message
- ↑ and ↓ show what you wrote before, Ctrl-R searches in it, Tab completes commands and names of files`;

export interface TalkOptions {
  readonly assistant: AssistantPort;
  readonly session: string;
  readonly model?: string;
  /** Go with the first message. */
  readonly images?: readonly string[];
  /** Tells what becomes of the connection to the assistant. @default it is in this process */
  readonly watch?: (watcher: ConnectionWatcher) => void;
  /** Called at /setup, which ends the conversation. */
  readonly onSetup: () => void;
  /** Aborting it ends the conversation. */
  readonly signal?: AbortSignal;
  /** Emits `interrupt` for a Ctrl-C that came as a signal. */
  readonly interrupts?: EventTarget;
  /** Absolute path of the folder whose files Tab completes. */
  readonly workspace: string;
  /** What was written earlier. @default it is forgotten at the end */
  readonly history?: InputHistory;
  /** Prints lines only: no colours, nothing is drawn twice. @default as `TERM` says */
  readonly plain?: boolean;
}

/** A conversation in this terminal until Ctrl-D, or Ctrl-C twice. Returns the exit code. */
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
  readonly #view: ChatView;
  readonly #running = new Map<Promise<void>, AbortController>();
  readonly #closed = Promise.withResolvers<void>();
  /** The first is on the screen. */
  #questions: OpenQuestion[] = [];
  #images: readonly string[];
  #commands: Promise<readonly string[]> | undefined;
  /** While turns are being stopped: what is said then stands below what they still show. */
  #held: AttachedMessage[] | undefined;
  /** Something of what is being stopped has ended. */
  #isStopped = false;
  /** When Ctrl-C was pressed last. */
  #interruptedAt = -Infinity;
  #code = 0;
  #isEnding = false;

  constructor(context: CliContext, options: TalkOptions) {
    this.#context = context;
    this.#options = options;
    this.#images = options.images ?? [];
    const actions: ChatActions = {
      submit: (text) => this.#line(text),
      interrupt: () => this.#interrupt(),
      end: () => this.#closed.resolve(),
    };
    const { workspace: folder, history = shortHistory(), plain = isDumb(context.env) } = options;
    const completion = { folder, commands: () => (this.#commands ??= this.#commandNames()) };
    this.#view = plain ? new PlainView(context, actions) : new LiveView(context, { history, completion, actions });
  }

  async run(): Promise<number> {
    const { assistant, session, signal, interrupts } = this.#options;
    const onAbort = (): void => this.#closed.resolve();
    const onInterrupt = (): void => this.#interrupt();
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    interrupts?.addEventListener('interrupt', onInterrupt);
    {
      using view = this.#view;
      this.#options.watch?.({ news: (text, isThere) => view.connection(text, isThere) });
      using _heard = assistant.open(session, {
        onMessage: (message) => {
          if (this.#held === undefined) view.message(message);
          else this.#held.push(message);
        },
      });
      this.#prompt();
      await this.#closed.promise;
      this.#isEnding = true;
      this.#stopTurns(this.#running.values());
      await Promise.all(this.#running.keys());
    }
    signal?.removeEventListener('abort', onAbort);
    interrupts?.removeEventListener('interrupt', onInterrupt);
    return this.#code;
  }

  #line(line: string): void {
    const text = line.trim();
    const open = this.#questions[0];
    if (text === '/exit' || text === '/quit') this.#closed.resolve();
    else if (text === '/setup') this.#setUp();
    else if (open !== undefined && !isCommand(text)) this.#answer(open, text);
    else if (text === '') this.#prompt();
    else this.#send(text);
  }

  #setUp(): void {
    this.#options.onSetup();
    this.#closed.resolve();
  }

  /** Only yes, no and always are answers; anything else but a command is a no, and says why. */
  #answer(open: OpenQuestion, text: string): void {
    const reply = replyIn(text, open.question);
    if (typeof reply === 'object') this.#view.lines('Not allowed: I took your message as the answer.');
    open.answer(reply);
  }

  #send(text: string): void {
    const { model } = this.#options;
    const controller = new AbortController();
    this.#view.begin();
    const images = this.#images;
    this.#images = [];
    const turn = Promise.resolve()
      .then(() =>
        this.#said(
          { text, ...(model === undefined ? {} : { model }), ...(images.length === 0 ? {} : { images }) },
          controller.signal,
        ),
      )
      .then(
        (summary) => {
          // After Ctrl-C one sentence says what was stopped and dropped: the reply to the stop.
          const isStopped = this.#held !== undefined && summary.outcome === 'stopped';
          if (isStopped) this.#isStopped = true;
          this.#view.summary(isStopped ? { text: '' } : summary);
          if (!/^\/help\b/u.test(text)) return;
          this.#view.lines('');
          this.#view.message({ text: HELP });
        },
        (error: unknown) => this.#failed(error),
      )
      .finally(() => {
        this.#running.delete(turn);
        if (this.#running.size === 0) this.#allEnded();
        this.#recallQuestion();
      });
    this.#running.set(turn, controller);
  }

  /** Nobody is asked here, and nothing is shown live, while nothing that was said here is being answered. */
  async #said(input: SendInput, signal: AbortSignal): Promise<TurnSummary> {
    const { assistant, session } = this.#options;
    using conversation = assistant.open(session, {
      onEvent: (event) => this.#view.event(event),
      onApproval: (question, stop) => this.#ask(question, stop),
    });
    return await conversation.send(input, { signal });
  }

  #allEnded(): void {
    const held = this.#held ?? [];
    const isStopped = this.#isStopped;
    this.#held = undefined;
    this.#isStopped = false;
    if (isStopped && held.length === 0) this.#view.summary({ text: 'Stopped.' });
    for (const message of held) this.#view.message(message);
    this.#view.end();
  }

  #failed(error: unknown): void {
    if (error instanceof NotSentError && !this.#isEnding) return this.#view.restore(error.text);
    this.#view.lines(terminalText(errorMessage(error)));
    if (error instanceof AppError && error.code === 'connection-lost') this.#giveUp();
  }

  #giveUp(): void {
    this.#code = 1;
    this.#closed.resolve();
  }

  #ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalReply> {
    return new Promise((resolve) => {
      const settle = (reply: ApprovalReply): void => {
        signal.removeEventListener('abort', onAbort);
        this.#questions = this.#questions.filter((other) => other !== open);
        resolve(reply);
        if (this.#questions.length > 0) this.#showQuestion();
        else this.#prompt();
      };
      const onAbort = (): void => {
        // Who pressed Ctrl-C knows why.
        if (this.#held === undefined) this.#view.note('no answer is needed any more');
        settle(false);
      };
      const open: OpenQuestion = { question, answer: settle };
      this.#questions.push(open);
      signal.addEventListener('abort', onAbort, { once: true });
      if (this.#questions.length === 1) this.#showQuestion();
    });
  }

  /** A command that ran beside a question leaves it open; what it said may have moved it away. */
  #recallQuestion(): void {
    const open = this.#questions[0];
    if (open === undefined) return;
    this.#view.note(`Still open: ${escapeInvisible(open.question.title)}: ${escapeInvisible(open.question.detail)}`);
    this.#prompt();
  }

  #showQuestion(): void {
    const open = this.#questions[0];
    if (open === undefined) return;
    this.#view.question(open.question);
    this.#prompt();
  }

  /** Ctrl-C: stop to a turn and its questions, away with a half-written line; twice is the end. */
  #interrupt(): void {
    const now = this.#context.clock.monotonic();
    const isSecond = now - this.#interruptedAt < TWICE_MS;
    this.#interruptedAt = now;
    if (isSecond) {
      this.#closed.resolve();
    } else if (this.#running.size > 0) {
      this.#view.note('stopping; Ctrl-C again ends the conversation');
      this.#held ??= [];
      // One stop ends the turn and drops what waits behind it.
      this.#stopTurns([...this.#running.values()].slice(0, 1));
    } else if (this.#view.isEmpty) {
      this.#view.note('Ctrl-C again ends the conversation');
    } else {
      this.#interruptedAt = -Infinity;
      this.#view.clear();
    }
  }

  #stopTurns(running: Iterable<AbortController>): void {
    for (const controller of running) controller.abort(new DOMException('stopped', 'AbortError'));
  }

  #prompt(): void {
    const open = this.#questions[0];
    const asking = open?.question.always === undefined ? QUESTION_PROMPT : ALWAYS_PROMPT;
    this.#view.prompt(open === undefined ? PROMPT : asking, open !== undefined);
  }

  /** An assistant of another version may not tell them. */
  async #commandNames(): Promise<readonly string[]> {
    const names = await this.#options.assistant.call('commands', {}).catch(() => []);
    return [...new Set([...names.map(({ name }) => name), ...OWN_COMMANDS])];
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
