import type { InboundMessage } from '../bus/messages.ts';
import type { OpenTurn } from '../journal/turns.ts';
import type { EntryDraft } from '../session/entry.ts';
import { asRole } from '../security/access.ts';
import { oneLine } from '../util/text.ts';
import { noUsage } from '../util/usage.ts';
import type { AgentLoop, LoopPorts } from './loop.ts';
import { giveUpTurn } from './give-up.ts';
import { adoptSources } from './sources.ts';
import { turnEndEntry } from './turn-end.ts';

/** A turn that took the process down so often is given up. */
const MOST_ATTEMPTS = 3;

/**
 * Start is recovery: every turn that was begun and not closed is closed, continued or given up with a notice, before
 * any channel opens. Each continues from the last step on its tape.
 */
export async function recoverTurns(loop: AgentLoop, ports: LoopPorts): Promise<number> {
  if (ports.journal.mayHaveLost) await adoptLostTurns(ports);
  const open = ports.journal.turns.open();
  for (const turn of open) await recover(turn, loop, ports);
  return open.length;
}

/**
 * After a power loss a turn may be on its tape and not in the journal, where its messages still wait: it is taken up as
 * it is, so that no message gets a second turn. The close of a turn is durable before the session's next one begins, so
 * only the newest of a session can be lost.
 */
async function adoptLostTurns({ journal, sessions, log }: LoopPorts): Promise<void> {
  for (const key of journal.inbox.waitingSessions()) {
    const session = await sessions.open(key);
    const start = session.newestStart();
    if (start === undefined || start.turn === null) continue;
    const { turn: id, role, sources } = start;
    const adopted = await journal.turns.adopt({ id, session: key, role: asRole(role), sources });
    if (adopted)
      log.warn('recovery: turn adopted from its session file after a power loss', { turn: id, session: key });
  }
  await journal.lossRecovered();
}

async function recover(turn: OpenTurn, loop: AgentLoop, ports: LoopPorts): Promise<void> {
  const session = await ports.sessions.open(turn.session, { turn: turn.id });
  const messages = await adoptSources(turn.id, turn.messages, { session, journal: ports.journal });
  const entries = session.turn(turn.id);
  const ended = entries.some((entry) => entry.kind === 'turn-end');
  const newest = messages.at(-1);
  if (turn.state === 'stopping') {
    if (entries.length > 0 && !ended) await session.append([lastEntry(turn, newest, 'stopped', '')]);
    await ports.journal.turns.closeStopped(turn.id);
  } else if (newest === undefined) {
    await ports.journal.turns.dead(turn.id, []);
  } else if (turn.isCommand) {
    const sentence = `I was restarted while running ${oneLine(newest.text, 60)}; I can not tell whether it took effect.`;
    await giveUpTurn(turn.id, newest, sentence, { ...ports, now: ports.clock.now() });
  } else if (!ended && turn.attempts >= MOST_ATTEMPTS) {
    const asked = messages.map(({ text }) => `“${oneLine(text, 80)}”`).join(' and ');
    const sentence = `I was stopped ${MOST_ATTEMPTS} times while working on ${asked} and gave up on it. /retry runs it again.`;
    if (entries.length > 0) await session.append([lastEntry(turn, newest, 'failed', sentence)]);
    await giveUpTurn(turn.id, newest, sentence, { ...ports, now: ports.clock.now() });
  } else {
    if (!ended) await ports.journal.turns.resume(turn.id);
    loop.continue({ id: turn.id, sessionKey: turn.session, role: asRole(turn.role), messages });
  }
}

function lastEntry(
  turn: OpenTurn,
  target: InboundMessage | undefined,
  outcome: 'stopped' | 'failed',
  answer: string,
): EntryDraft {
  return turnEndEntry({ turnId: turn.id, outcome, answer, target, usage: noUsage, model: null, iterations: 0 });
}
