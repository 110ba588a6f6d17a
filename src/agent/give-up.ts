import type { InboundMessage } from '../bus/messages.ts';
import type { Journal } from '../journal/journal.ts';
import { deadNotice } from './outgoing.ts';
import { subagentOf } from './subagents/task.ts';
import { givesUp, type SubagentTurnPorts } from './subagents/turns.ts';

type GiveUpPorts = Parameters<typeof deadNotice>[3] & {
  readonly journal: Pick<Journal, 'turns'>;
  readonly subagents: SubagentTurnPorts;
};

/** Closes a turn that will not be finished: whoever wrote is told, or the session that gave the task to a subagent. */
export async function giveUpTurn(
  turnId: string,
  target: InboundMessage,
  text: string,
  ports: GiveUpPorts,
): Promise<void> {
  const { journal, subagents } = ports;
  if (subagentOf(target) === null) {
    await journal.turns.dead(turnId, [deadNotice(turnId, target, text, ports)]);
  } else {
    await journal.turns.dead(turnId, [], givesUp(target, { turnId, text }, subagents));
  }
}
