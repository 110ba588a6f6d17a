import type { App } from '../../app.ts';
import { plural } from '../../util/text.ts';
import { undoText } from '../undo/text.ts';
import type { UndoPlan } from '../undo/undo.ts';
import type { ChatCommand } from './command.ts';
import type { NoExchange } from './last-exchange.ts';

/** Most exchanges that one command takes back. */
const MOST = 50;
const USAGE = `Use \`/undo\` for your last message, or \`/undo 3\` for the last three (at most ${MOST}); \`/undo yes\` and \`/undo 3 yes\` do not ask.`;

/**
 * /undo: takes the last exchanges back, with what they changed. What they changed is shown first and waits for a yes; an
 * exchange that only talked leaves at once. After a crash it asks again, or finishes what was agreed to.
 */
export const undoCommand = ({ undo, questions }: App): ChatCommand => ({
  name: 'undo',
  description: 'take back your last message and all that I changed for it; `/undo 3` the last three',
  role: 'owner',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async (context) => {
    const { turnId, args, message } = context;
    const begun = await undo.finish(turnId);
    if (begun !== undefined) return undoText(begun, 'after');
    const asked = /^(?<count>[1-9]\d?)?\s*(?<yes>yes)?$/iu.exec(args.trim())?.groups;
    const count = Number(asked?.['count'] ?? 1);
    if (asked === undefined || count > MOST) return USAGE;
    const plan = await undo.planLast(message.sessionKey, count);
    if ('boundary' in plan) return nothingLeft(plan);
    if (asked['yes'] === undefined && isWorthAQuestion(plan)) {
      const title = plan.exchanges.length === 1 ? 'Undo this' : `Undo ${plural(plan.exchanges.length, 'exchange')}`;
      const answer = await questions.approve(
        { sessionKey: message.sessionKey, callId: `${turnId}.1`, turnId, signal: context.signal, target: message },
        { title, detail: undoText(plan, 'before'), reason: 'Nothing is done without your yes.' },
      );
      if (!answer.approved) return `Nothing was undone: ${answer.reason}.`;
    }
    return undoText(await undo.perform(turnId, plan), 'after');
  },
});

function isWorthAQuestion({ exchanges, items, byCommands, sent, lasting }: UndoPlan): boolean {
  return exchanges.length > 1 || [items, byCommands, sent, lasting].some((part) => part.length > 0);
}

function nothingLeft({ boundary }: NoExchange): string {
  switch (boundary) {
    case 'start':
      return 'There is nothing to undo here.';
    case 'reset':
      return 'There is nothing to undo since this conversation was started anew. What was before stays as it is.';
    case 'anchor':
      return 'There is nothing more to undo: earlier messages are only in the conversation as a summary.';
    case 'trim':
      return 'There is nothing more to undo: earlier messages have left the conversation, because it had become too long.';
  }
}
