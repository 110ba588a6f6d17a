import * as z from 'zod';
import { answers } from './operation.ts';

/** One thing that it did without being asked. */
export interface OwnStep {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly what: string;
  /** In a word or two: told, silent, nothing to do, failed, missed, … */
  readonly outcome: string;
  readonly reason: string | null;
}

/** Why something happened, or did not. Times are milliseconds since 1970. */
export interface WhyTold {
  /** What it is about, in a few words. */
  readonly subject: string;
  /** The cause, in plain words. */
  readonly cause: string;
  /** Id of the turn; null: there was none. */
  readonly turn: string | null;
  readonly session: string;
  readonly at: number;
  /** Oldest first. */
  readonly steps: readonly { readonly at: number; readonly what: string }[];
  /** Tokens and US dollars of the turn, in words; null: no model was asked. */
  readonly cost: string | null;
}

export interface WhyAnswer {
  /** Of messages and turns, newest first. */
  readonly stories: readonly WhyTold[];
  /** What it did by itself, newest first. */
  readonly own: readonly OwnStep[];
}

export interface AuditedDecision {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly turn: string | null;
  readonly session: string | null;
  /** `channel:id`; null: no one but the assistant itself. */
  readonly who: string | null;
  readonly role: string;
  readonly origin: string;
  readonly what: string;
  /** `allowed`: without a question; `approved` and `declined`: a person was asked. */
  readonly decision: 'allowed' | 'approved' | 'declined' | 'refused';
  readonly reason: string | null;
  /** Who said yes or no, and how. */
  readonly approval: string | null;
}

export const activity = {
  why: answers<WhyAnswer>()({
    description:
      'Tells why a message was answered as it was, or not, and lists what the assistant did by itself and why people were or were not told; `why-unknown` if nothing has that id.',
    role: 'owner',
    changes: false,
    params: z.object({
      count: z.int().min(1).max(1_000).describe('How many entries at most.'),
      about: z
        .string()
        .min(1)
        .max(200)
        .exactOptional()
        .describe('Id of a message, turn, job or conversation, or `heartbeat`; without it, what it did by itself.'),
      since: z
        .int()
        .min(0)
        .exactOptional()
        .describe('Milliseconds since 1970: the messages and what it did by itself since then.'),
    }),
  }),
  audit: answers<readonly AuditedDecision[]>()({
    description: 'Lists what was allowed, approved and refused, newest first.',
    role: 'owner',
    changes: false,
    showsRuns: true,
    params: z.object({
      count: z.int().min(1).max(10_000).describe('How many entries at most.'),
      asked: z.boolean().describe('Only what was not simply allowed.'),
      about: z
        .string()
        .max(400)
        .describe('Only entries with this text in the action, the session, the person or the turn; empty: all.'),
    }),
  }),
};
