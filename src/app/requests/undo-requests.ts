import { undoText } from '../../core/agent/undo/text.ts';
import type { UndoPlan } from '../../core/agent/undo/undo.ts';
import type { App } from '../../core/app.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import type { UndoneTurn } from '../../core/gateway/operations/undo.ts';
import { unknownTurn } from '../../core/journal/turn-records.ts';
import { AppError } from '../../core/util/errors.ts';

/** What a person may ask about taking one turn back, whichever it is. */
export function undoRequests({ undo, journal }: App): Pick<RequestHandlers, 'undoTurn'> {
  const { turnRecords, turns } = journal;
  return {
    undoTurn: async ({ turn, dry }) => {
      const record = turnRecords.find(turn);
      if (record === undefined) throw unknownTurn(turn);
      const { session, id } = record;
      if (turns.isBusy([session])) {
        throw new AppError(
          'undo-refused',
          `The conversation ${session} has a turn that runs: wait until it has ended.`,
        );
      }
      const plan = await undo.planTurn({ session, turn: id });
      if (dry) return answerOf(id, plan, false);
      return answerOf(id, await undo.perform(`turn-${id}`, plan), true);
    },
  };
}

function answerOf(turn: string, plan: UndoPlan, done: boolean): UndoneTurn {
  const { session, items, byCommands, sent, lasting } = plan;
  const text = undoText(plan, done ? 'after' : 'before');
  return { turn, session, done, items, byCommands, sent, lasting, text };
}
