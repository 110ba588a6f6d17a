import * as z from 'zod';
import { answers } from './operation.ts';

/** What taking a turn back does, or did. */
export interface UndoneTurn {
  readonly turn: string;
  readonly session: string;
  /** False: nothing was done yet. */
  readonly done: boolean;
  /** What comes back and what stays: each file, fact and job, with the reason why it stays. */
  readonly items: readonly {
    readonly kind: 'file' | 'memory' | 'job';
    readonly name: string;
    readonly outcome: 'restored' | 'removed' | 'partly' | 'left';
    readonly reason: string;
  }[];
  /** Files of the workspace that changed while its commands ran. */
  readonly byCommands: readonly string[];
  /** Messages that it sent, and its other calls that cannot be taken back. */
  readonly sent: readonly string[];
  readonly lasting: readonly string[];
  /** The same in words, for a person. */
  readonly text: string;
}

export const undo = {
  undoTurn: answers<UndoneTurn>()({
    description:
      'Takes back what a turn changed and removes it from its conversation, or with `dry` only says what that would do; `turn-unknown` if there is no such turn, `undo-refused` if it runs or was taken back already.',
    role: 'owner',
    changes: true,
    params: z.object({
      turn: z.string().min(1).max(64).describe('Id of the turn, as `turnsList` lists it.'),
      dry: z.boolean().default(false).describe('True: nothing is changed.'),
    }),
    audit: ({ turn, dry }) => (dry ? null : `undo of turn ${turn}`),
  }),
};
