import * as z from 'zod';
import { undoText } from '../../agent/undo/text.ts';
import type { UndoPlan } from '../../agent/undo/undo.ts';
import { unknownTurn } from '../../journal/turn-records.ts';
import { AppError } from '../../util/errors.ts';
import { listOf, operation } from './operation.ts';

/** What taking a turn back does, or did. */
const undoneTurn = z.object({
  turn: z.string(),
  session: z.string(),
  /** False: nothing was done yet. */
  done: z.boolean(),
  /** What comes back and what stays: each file, fact and job, with the reason why it stays. */
  items: listOf(
    z.object({
      kind: z.enum(['file', 'memory', 'job']),
      name: z.string(),
      outcome: z.enum(['restored', 'removed', 'as-before', 'partly', 'left']),
      reason: z.string(),
    }),
  ),
  /** Files of the workspace that changed while its commands ran. */
  byCommands: listOf(z.string()),
  /** Messages that it sent, and its other calls that cannot be taken back. */
  sent: listOf(z.string()),
  lasting: listOf(z.string()),
  /** The same in words, for a person. */
  text: z.string(),
});

export const undoTurn = operation({
  name: 'undoTurn',
  about:
    'Takes back what a turn changed and removes it from its conversation, or with `dry` only says what that would do; `turn-unknown` if there is no such turn, `undo-refused` if it runs or was taken back already.',
  changes: 'sessions',
  input: z.object({
    turn: z.string().min(1).max(64).describe('Id of the turn, as `turnsList` lists it.'),
    dry: z.boolean().default(false).describe('True: nothing is changed.'),
  }),
  output: undoneTurn,
  audit: ({ turn, dry }) => (dry ? null : `undo of turn ${turn}`),
  run: async ({ undo, journal }, { turn, dry }) => {
    const record = journal.turnRecords.find(turn);
    if (record === undefined) throw unknownTurn(turn);
    const { session, id } = record;
    if (journal.turns.isBusy([session])) {
      throw new AppError('undo-refused', `The conversation ${session} has a turn that runs: wait until it has ended.`);
    }
    const plan = await undo.planTurn({ session, turn: id });
    if (dry) return answerOf(id, plan, false);
    return answerOf(id, await undo.perform(`turn-${id}`, plan), true);
  },
});

function answerOf(turn: string, plan: UndoPlan, done: boolean): z.input<typeof undoneTurn> {
  const { session, items, byCommands, sent, lasting } = plan;
  const text = undoText(plan, done ? 'after' : 'before');
  return { turn, session, done, items, byCommands, sent, lasting, text };
}
