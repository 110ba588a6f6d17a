import type { ApprovalQuestion, AttachedMessage, OutboundEvent, TurnSummary } from '../../core/api-terminal.ts';

/** What a conversation shows and asks; one for a terminal that is drawn on, one that only prints. */
export interface ChatView extends Disposable {
  /** What stands before the input, and whether it is a question: what was being typed is then put aside. */
  prompt(text: string, isQuestion: boolean): void;
  /** A turn begins: the same answer again is news. */
  begin(): void;
  /** No turn runs any more. */
  end(): void;
  event(event: OutboundEvent): void;
  /** What became of the connection to the assistant, and whether it is there. */
  connection(text: string, isConnected: boolean): void;
  /** A message that arrived for this session. */
  message(message: Pick<AttachedMessage, 'text' | 'from' | 'turnId'>): void;
  /** What a person has to decide; the prompt asks for the answer. */
  question(question: ApprovalQuestion): void;
  /** How a turn ended: shows what was not shown on the way. */
  summary(summary: Pick<TurnSummary, 'text'>): void;
  /** One dim line. */
  note(text: string): void;
  /** A text as it is, wrapped; it must be safe for a terminal. */
  lines(text: string): void;
  /** Nothing is typed. */
  readonly isEmpty: boolean;
  /** Takes away what is typed. */
  clear(): void;
  /** Puts a text into the input that was not sent. */
  restore(text: string): void;
}

/** What a person does. */
export interface ChatActions {
  readonly submit: (text: string) => void;
  /** Ctrl-C. */
  readonly interrupt: () => void;
  /** Ctrl-D, or the terminal is gone. */
  readonly end: () => void;
}
