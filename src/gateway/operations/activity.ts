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
  why: answers<readonly OwnStep[]>()({
    description: 'Lists what the assistant did by itself, newest first, and why people were or were not told about it.',
    role: 'owner',
    changes: false,
    params: z.object({ count: z.int().min(1).max(1_000).describe('How many entries at most.') }),
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
