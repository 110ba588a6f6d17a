import * as z from 'zod';
import { answers } from './operation.ts';

/** A turn in the list of the newest ones. Times are milliseconds since 1970. */
export interface TurnFacts {
  readonly turn: string;
  readonly session: string;
  readonly startedAt: number;
  /** `answered`, `failed`, `stopped`, …; null: it is running. */
  readonly outcome: string | null;
}

/** Tokens; `input` counts the cached ones too. */
export interface TraceTokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** What a tool call did or tried to do. */
export interface TurnEffect {
  readonly callId: string;
  /** Milliseconds since 1970 of its result. */
  readonly at: number;
  readonly tool: string;
  /** `file`, `command`, `process`, `message`, `job`, `memory`, `task`, `conversation`, or `call` of a tool that says no more. */
  readonly kind: string;
  /** A path, a command line, a chat, a job, …; null: the tool does not say. */
  readonly target: string | null;
  /** `done`, `failed`, `refused`, or `unknown`: it was cut off. */
  readonly outcome: string;
  readonly exitCode: number | null;
  /** There was nothing of the name of its target. */
  readonly missing: boolean;
  /** Its failure gets no line: a command that only looks, or words to the chat that reads the answer. */
  readonly minor: boolean;
  /** A person was asked and said yes. */
  readonly approved: boolean;
  /** Which answer of the model asked for it, counted from 1. */
  readonly step: number;
}

/** What a turn changed in a file or a job. */
export interface TurnChange {
  readonly kind: 'file' | 'job';
  /** Path from the workspace on, or id of the job. */
  readonly name: string;
  /** The lines that are gone (`−`) and that came (`+`); null: its text is not kept any more, or it is none. */
  readonly lines: string | null;
}

/** One thing that happened in a turn. `at` is when it was over, `tookMs` how long after the one before. */
export type TraceStep = { readonly at: number; readonly tookMs: number } & (
  | { readonly kind: 'message'; readonly text: string }
  | {
      readonly kind: 'model';
      /** Each attempt of the call, the last one last. */
      readonly attempts: readonly {
        /** `provider/model` */
        readonly model: string;
        /** Size of the request. */
        readonly bytes: number;
        /** Why it failed; null: it did not. */
        readonly failed: string | null;
      }[];
      /** Null: it did not answer, or did not say. */
      readonly tokens: TraceTokens | null;
      readonly stopReason: string | null;
      readonly text: string;
      /** Tools that it called, by their ids. */
      readonly calls: readonly { readonly callId: string; readonly name: string; readonly arguments: string }[];
    }
  | {
      readonly kind: 'tool';
      readonly callId: string;
      readonly name: string;
      readonly isError: boolean;
      /** A person was asked and said yes. */
      readonly approved: boolean;
      /** Of the whole result. */
      readonly characters: number;
      readonly output: string;
    }
);

export interface TurnTrace extends TurnFacts {
  /** Who or what began it, e.g. `user`, `cron`, `heartbeat`. */
  readonly origin: string;
  readonly role: string;
  readonly endedAt: number | null;
  /** `provider/model` of its answer. */
  readonly model: string | null;
  /** Of all calls, once it ended. */
  readonly tokens: TraceTokens | null;
  /** US dollars; null: the price is unknown, or it is running. */
  readonly costUsd: number | null;
  /** What its tool calls did or tried to do, in their order. */
  readonly did: readonly TurnEffect[];
  /** What it changed in files and jobs, as far as it is kept for undo. */
  readonly changes: readonly TurnChange[];
  /** The line below its answer that names what was not done; null: there is none. */
  readonly unfinished: string | null;
  /** Oldest first. Texts have at most 2,000 characters. */
  readonly steps: readonly TraceStep[];
}

export const traces = {
  turnsList: answers<readonly TurnFacts[]>()({
    description: 'Lists the newest turns of all conversations, newest first.',
    role: 'owner',
    changes: false,
    params: z.object({
      count: z.int().min(1).max(1_000).describe('How many turns at most.'),
      before: z.string().max(64).exactOptional().describe('Only turns older than the one with this id.'),
    }),
  }),
  turnsTrace: answers<TurnTrace>()({
    description:
      'Returns what happened in a turn step by step: each model call with its attempts and tokens, each tool call with its time; `turn-unknown` if there is no such turn.',
    role: 'owner',
    changes: false,
    params: z.object({
      turn: z.string().min(1).max(64).exactOptional().describe('Id of the turn; without it, the newest one.'),
    }),
  }),
};
