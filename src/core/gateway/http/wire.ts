import type { LiveTurn } from '../../bus/live-turn.ts';
import type { OutboundEvent } from '../../bus/messages.ts';
import type { SessionItem } from '../../session/items.ts';

/** What HTTP and its WebSocket speak, apart from the operations. Times are milliseconds since 1970. */

/** The body of each answer that is an error, except below /v1. */
export interface WireError {
  readonly error: {
    readonly code: string;
    /** One sentence for a person. */
    readonly message: string;
    readonly facts?: Readonly<Record<string, unknown>>;
  };
}

/** `POST /api/messages`. A message that is sent again under the same id is taken once. */
export interface MessageInput {
  /** A ULID or UUID that the client made. */
  readonly id: string;
  /** The name of a conversation: `main`, or a ULID that the client made. */
  readonly chat: string;
  readonly text: string;
  readonly media?: readonly {
    /** From `UploadReply`. */
    readonly upload: string;
    readonly name?: string;
  }[];
  /** `provider/model` for this message only. */
  readonly model?: string;
}

export interface MessageReply {
  /** `refused`: too many messages wait in this conversation; a notice there says so. */
  readonly accepted: 'accepted' | 'duplicate' | 'refused';
  /** The key of the session, e.g. `web:main`. */
  readonly session: string;
}

/** `POST /api/stop`. */
export type StopInput = Pick<MessageInput, 'id' | 'chat'>;

/** `POST /api/answers`: answers a question of any session by its code. */
export interface AnswerInput {
  readonly id: string;
  readonly code: string;
  /** `answer` is for questions of the model; the others are for approvals. */
  readonly decision: 'approve' | 'deny' | 'always' | 'answer';
  /** The answer, or the reason of a no. */
  readonly text?: string;
}

export interface AnswerReply {
  readonly accepted: MessageReply['accepted'];
  /** One sentence about what was decided, or why nothing was. */
  readonly reply: string;
}

/** `POST /api/uploads?name=…`. */
export interface UploadReply {
  readonly upload: string;
  readonly name: string;
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
}

/** `GET /api/sessions/<key>/history`, oldest first. */
export interface HistoryPage {
  readonly items: readonly HistoryItem[];
  /**
   * Messages of the time of these items that the tape does not have, such as notices, files and commands, as far as they
   * are kept (30 days): at most 200 in and 200 out.
   */
  readonly rows: readonly Row[];
  /** There are more in the direction that was asked for. */
  readonly more: boolean;
}

/** One thing that happened in a session. `text` has at most 20,000 characters; images are at `/api/media/<hash>`. */
export interface HistoryItem extends SessionItem {
  /** Unique within its session; one entry of the tape may be several items. */
  readonly id: string;
  /** The entry of the tape, for `before`, `after` and `/entries/<entry>`. */
  readonly entry: string;
  readonly turn: string | null;
  readonly at: number;
  /** The text is longer; `/entries/<entry>` has all of it. */
  readonly cut?: true;
  /** `/undo` or `/retry` took its turn back: the model no longer reads it. */
  readonly isTakenBack?: true;
  /** Of the turn, on the last item of it. */
  readonly usage?: HistoryUsage;
}

export interface HistoryUsage {
  /** Tokens. */
  readonly input: number;
  readonly output: number;
  /** Null: the price is unknown. */
  readonly costUsd: number | null;
  readonly model: string | null;
  /** Null: its turn began before this page. */
  readonly durationMs: number | null;
}

/** `GET /api/sessions/<key>/entries/<entry>?item=<id>&offset=0`: one text in pages of 100,000 characters. */
export interface EntryPage {
  readonly text: string;
  /** The offset of the next page; null: this is the last. */
  readonly next: number | null;
}

/** A file of a message. */
export interface WireMedia {
  readonly name: string;
  readonly mediaType: string;
  /** Where its bytes are; null: they are not kept any more. */
  readonly url: string | null;
}

/** A durable message, to or from people, on any channel. */
export interface Row {
  readonly direction: 'in' | 'out';
  readonly id: string;
  /** The conversation in which people read it. */
  readonly session: string;
  readonly channel: string;
  readonly chat: string;
  /** `user`, `answer`, `part`, `notice`, `approval`. */
  readonly kind: string;
  /** Markdown; at most 20,000 characters. */
  readonly text: string;
  readonly cut?: true;
  readonly turn: string | null;
  readonly at: number;
  /** Of the journal, e.g. `accepted`, `done`, `pending`, `delivered`, `dead`. */
  readonly state: string;
  /** `in`: the id that the client gave the message. */
  readonly externalId?: string;
  readonly buttons?: readonly (readonly { readonly id: string; readonly label: string }[])[];
  readonly media?: readonly WireMedia[];
  /** The name of who wrote it. */
  readonly sender?: string;
  /** `out`: what sent it by itself, such as `the job tea`. */
  readonly from?: string;
}

/** A question that waits for a person. */
export interface WaitingQuestion {
  readonly code: string;
  readonly kind: 'approval' | 'ask';
  readonly session: string;
  readonly title: string;
  /** All that a yes allows. */
  readonly detail: string;
  readonly reason: string;
  readonly choices: readonly string[];
  /** What "always" allows from then on; null: it is not offered. */
  readonly always: string | null;
  readonly deadline: number;
}

/** What someone who connects is told first. */
export interface Hello {
  readonly type: 'hello';
  readonly version: string;
  /** Where the feed began when the client gave none. */
  readonly cursor: string;
  readonly startedAt: number;
  /** The key of the session that messages to the chat `main` belong to, e.g. `web:main`. */
  readonly main: string;
}

export type TurnEnd = Extract<OutboundEvent, { type: 'turn-end' }>;

/** An event of a running turn; its end has what the turn left in the history. */
export type LiveEvent =
  | Exclude<OutboundEvent, TurnEnd>
  /** `items`: as `GET …/history` has them. @default too large for a frame, or unreadable: fetch them */
  | (TurnEnd & { readonly items?: readonly HistoryItem[] });

/** The frames of `GET /ws?after=<cursor>`; the client sends none. */
export type ServerFrame =
  /** The first frame. */
  | Hello
  /** Durable messages after the client's cursor. `cursor` is for the next connection. */
  | { readonly type: 'rows'; readonly cursor: string; readonly rows: readonly Row[] }
  /** Too many messages were missed: fetch anew what is shown. */
  | { readonly type: 'gap'; readonly cursor: string }
  /** All turns that run, once after what was missed. */
  | { readonly type: 'turns'; readonly turns: readonly LiveTurn[] }
  /** `text` and `reasoning` are cumulative; events in between may be left out. */
  | { readonly type: 'live'; readonly event: LiveEvent }
  | { readonly type: 'questions'; readonly questions: readonly WaitingQuestion[] }
  /** `what` may be different now, such as `memory`, for those who show it. */
  | { readonly type: 'changed'; readonly what: string };
